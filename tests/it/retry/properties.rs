//! What holds under any script of faults.
use super::*;
use proptest::prelude::*;
use seawall::{Bare, Call, Context, InCall};

/// One answer of a scripted model.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Of(Kind),
    Limited(u64),
    Refused(Kind, u64),
    Delivered,
    Fine,
}

impl Fault {
    fn error(self) -> Option<Error> {
        let millis = Duration::from_millis;
        match self {
            Self::Of(kind) => Some(Error::provider(kind)),
            Self::Limited(wait) => Some(Error::provider(Kind::RateLimited).with_retry_after(millis(wait))),
            Self::Refused(kind, wait) => Some(Error::refusal(kind).with_retry_after(millis(wait))),
            Self::Delivered => Some(Error::provider(Kind::Transport).delivered()),
            Self::Fine => None,
        }
    }
}

fn fault() -> impl Strategy<Value = Fault> {
    let refused = prop_oneof![Just(Kind::CircuitOpen), Just(Kind::CoolingDown), Just(Kind::LocalLimit)];
    prop_oneof![
        6 => prop_oneof![Just(Kind::Server), Just(Kind::Overloaded), Just(Kind::Timeout), Just(Kind::Transport), Just(Kind::Conflict)].prop_map(Fault::Of),
        1 => (0..Kind::ALL.len()).prop_map(|n| Fault::Of(Kind::ALL[n])),
        4 => (0u64..80_000).prop_map(Fault::Limited),
        4 => (refused, 0u64..30_000).prop_map(|(kind, wait)| Fault::Refused(kind, wait)),
        1 => Just(Fault::Delivered),
        1 => Just(Fault::Fine),
    ]
}

/// One thing that the model was asked, and what it answered.
type Seen = Arc<Mutex<Vec<(Instant, Fault)>>>;

fn scripted(script: Vec<Fault>, seen: Seen) -> Fake<Call<u32>, u32> {
    fake(move |n, _| {
        let fault = script.get(n as usize).copied().unwrap_or(Fault::Of(Kind::Server));
        seen.lock().unwrap().push((Instant::now(), fault));
        Now(fault.error().map_or(Ok(n), Err))
    })
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(guarded(test));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn three_nested_retries_hold_every_bound(
        script in proptest::collection::vec(fault(), 0..40),
        sends in 0u32..10,
        millis in proptest::option::of(0u64..120_000),
        (others, keep_last, seed) in (any::<bool>(), any::<bool>(), any::<u64>()),
        retries in 0u32..4,
    ) {
        run(async move {
            let start = Instant::now();
            let deadline = millis.map(|millis| start + Duration::from_millis(millis));
            let mut context = Context::default().with_sends_left(sends).with_others(others);
            context.deadline = deadline;
            let layer = || {
                let layer = RetryLayer::new().max_retries(retries).seed(seed).shape(InCall(Bare));
                if keep_last { layer.keep_last() } else { layer }
            };
            let seen = Seen::default();
            let model = scripted(script, seen.clone());
            let service = ServiceBuilder::new().layer(layer()).layer(layer()).layer(layer()).service(model.clone());
            let result = ask(&service, Call { context, request: 1 }).await;
            let over = Instant::now();

            let seen = seen.lock().unwrap();
            let sent: u32 = seen.iter().map(|(_, fault)| fault.error().map_or(1, |error| error.sends())).sum();
            assert!(sent <= sends, "{sent} sends of {sends}");
            assert!(deadline.is_none_or(|deadline| over <= deadline), "a sleep ended past the deadline");
            for pair in seen.windows(2) {
                let error = pair[0].1.error().expect("a success ends the call");
                assert!(error.is_retryable(), "{error} was asked again");
                assert!(pair[1].0 - pair[0].0 >= error.retry_after().unwrap_or_default(), "sooner than told");
            }
            if let Err(error) = result {
                assert_eq!(error.sends(), sent, "the error counts what was sent");
                assert!(error.gave_up().is_none_or(|_| error.is_retryable()), "{error}");
                assert!(!error.is_retryable() || error.gave_up().is_some(), "{error}");
                assert!(!keep_last || error.gave_up() != Some(GaveUp::NotKept), "{error}");
            }
            assert_eq!(model.live(), 0);
        });
    }

    #[test]
    fn a_call_dropped_anywhere_leaves_nothing(script in proptest::collection::vec(fault(), 0..20), millis in 0u64..60_000) {
        run(async move {
            let model = scripted(script, Seen::default());
            let service = RetryLayer::new().shape(InCall(Bare)).layer(ConcurrencyLimit::new(model.clone(), 1));
            let call = Call { context: Context::default(), request: 1 };
            let _ = tokio::time::timeout(Duration::from_millis(millis), ask(&service, call)).await;
            let sends = model.sends();
            tokio::time::sleep(seconds(200)).await;
            assert_eq!((model.live(), model.sends()), (0, sends));
            tower::ServiceExt::<Call<u32>>::ready(&mut service.clone()).await.unwrap();
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn extra_load_stays_within_the_budget_over_any_minute(rates in proptest::collection::vec(0u64..40, 20..40)) {
        run(async move {
            let (calls, retries) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
            let log = retries.clone();
            let sink = Sink::new(move |event| {
                if let What::Retrying { .. } = event.what {
                    log.lock().unwrap().push(Instant::now());
                }
            });
            let service = RetryLayer::new().sink(sink).layer(fails(u32::MAX, Kind::Server));
            for rate in rates {
                // Ten seconds at each rate.
                for _ in 0..rate * 10 {
                    calls.lock().unwrap().push(Instant::now());
                    tokio::spawn({
                        let service = service.clone();
                        async move { ask(&service, 1).await }
                    });
                    tokio::time::sleep(seconds(10) / (rate * 10) as u32).await;
                }
                if rate == 0 {
                    tokio::time::sleep(seconds(10)).await;
                }
            }
            let (calls, retries) = (calls.lock().unwrap(), retries.lock().unwrap());
            let within = |times: &[Instant], end: Instant| {
                times.iter().filter(|&&at| at <= end && end - at <= seconds(60)).count()
            };
            for &end in retries.iter() {
                let (load, extra) = (within(&calls, end), within(&retries, end));
                assert!(extra <= load / 10 + 10 + 60, "{extra} retries beside {load} calls in a minute");
            }
        });
    }
}
