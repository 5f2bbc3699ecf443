//! A copy for the last attempt, and what it is for.
use super::{
    replay::{Counted, Counts, Once},
    *,
};
use seawall::{Bare, Call, Context, InCall, retry::Budget};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

fn layer() -> RetryLayer {
    RetryLayer::new().keep_last()
}

fn refusal<R>(wait: u64) -> Answer<R> {
    Now(Err(Error::refusal(Kind::CoolingDown).with_retry_after(seconds(wait))))
}

/// Answers with the letters of a script: `r`efused for five seconds, `f`ailed, and in the end the answer.
fn scripted<Req: 'static>(script: &'static str) -> Fake<Req, u32> {
    fake(move |n, _| match script.as_bytes().get(n as usize) {
        Some(b'r') => refusal(5),
        Some(_) => failing(Kind::Server),
        None => Now(Ok(n)),
    })
}

fn call(context: Context) -> Call<u32> {
    Call { context, request: 1 }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_meets_the_last_attempt_is_waited_out() {
    guarded(async {
        for script in ["ffr", "ffrrr", "rfrfr"] {
            let model = scripted(script);
            let (answer, waited) = timed(ask(&layer().layer(model.clone()), 1)).await;
            assert_eq!(answer.unwrap() as usize, script.len());
            assert!(
                ask(&layer().schedule(every_second).layer(scripted(script)), 1).await.is_ok(),
                "set before or after"
            );
            assert!(waited >= seconds(5) * script.matches('r').count() as u32, "{script}: {waited:?}");
            let error = ask(&RetryLayer::new().layer(scripted(script)), 1).await.unwrap_err();
            assert_eq!((error.gave_up(), error.sends()), (Some(GaveUp::NotKept), 2), "and is not, without");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn without_retries_refusals_are_waited_out_and_failures_are_not() {
    guarded(async {
        let never = layer().max_retries(0);
        assert_eq!(ask(&never.clone().layer(scripted("rr")), 1).await.unwrap(), 2);
        for (script, asked) in [("f", 1), ("rrf", 3)] {
            let model = scripted(script);
            let error = ask(&never.clone().layer(model.clone()), 1).await.unwrap_err();
            assert_eq!((error.kind(), error.gave_up()), (Kind::Server, Some(GaveUp::AttemptsSpent)));
            assert_eq!((error.sends(), model.sends()), (1, asked));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_last_send_is_waited_for_and_sent_once() {
    guarded(async {
        let layer = layer().max_retries(9).shape(InCall(Bare));
        for left in 1..4_u32 {
            for script in ["rfrfrfrf", "ffff", "rrrffff"] {
                let handed = Arc::new(Mutex::new(Vec::new()));
                let (log, letters) = (handed.clone(), scripted::<Call<u32>>(script));
                let model = letters.map_request(move |call: Call<u32>| {
                    log.lock().unwrap().push(call.context.sends_left);
                    call
                });
                let context = Context::default().with_sends_left(left);
                let error = ask(&layer.clone().layer(model), call(context)).await.unwrap_err();
                assert_eq!((error.sends(), error.gave_up()), (left, Some(GaveUp::SendsSpent)), "{script}");
                let handed = handed.lock().unwrap();
                assert_eq!((handed.first(), handed.last()), (Some(&left), Some(&1)), "{script}");
            }
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn patience_bounds_what_is_waited_for_at_the_last_attempt_too() {
    guarded(async {
        for retries in [0, 2] {
            let (model, asked) = always(|| refusal(10));
            let (result, waited) = timed(ask(&layer().max_retries(retries).layer(model), 1)).await;
            let error = result.unwrap_err();
            assert_eq!((error.sends(), error.gave_up()), (0, Some(GaveUp::PatienceSpent(seconds(60)))));
            assert!(waited <= seconds(60) && asked.gaps().len() >= 4, "{waited:?}");
            let (model, _) = always(|| refusal(61));
            let error = ask(&layer().max_retries(retries).layer(model), 1).await.unwrap_err();
            assert_eq!(error.gave_up(), Some(GaveUp::WaitOverCap(seconds(60))));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_alternates_between_refusal_and_failure_ends() {
    guarded(async {
        let model = fake(|n, _: u32| if n % 2 == 0 { refusal::<u32>(1) } else { failing(Kind::Server) });
        let error = ask(&layer().layer(model.clone()), 1).await.unwrap_err();
        assert_eq!((error.sends(), error.gave_up(), model.sends()), (3, Some(GaveUp::AttemptsSpent), 6));

        let busy = Budget::with_reserve(1.0, 1_000_000, 0).unwrap();
        let endless = layer().max_retries(u32::MAX).budget(&busy).schedule(|_| Duration::ZERO);
        let error = ask(&endless.layer(model), 1).await.unwrap_err();
        let spent = matches!(error.gave_up(), Some(GaveUp::PatienceSpent(_)));
        assert!(spent && (30..=60).contains(&error.sends()), "{error}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn waiting_for_refusals_draws_nothing_from_the_budget() {
    guarded(async {
        let budget = Budget::with_reserve(0.0, 1, 0).unwrap();
        let layer = layer().max_retries(1).budget(&budget);
        assert_eq!(ask(&layer.clone().layer(scripted("rrr")), 1).await.unwrap(), 3);
        assert_eq!(ask(&layer.clone().layer(scripted("frrr")), 1).await.unwrap(), 4, "the one draw is there");
        let error = ask(&layer.layer(scripted("rf")), 1).await.unwrap_err();
        assert_eq!(error.gave_up(), Some(GaveUp::BudgetSpent));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_past_the_deadline_ends_the_call_at_the_last_attempt_too() {
    guarded(async {
        let layer = layer().max_retries(0).shape(InCall(Bare)).layer(scripted("r"));
        let (result, waited) = timed(ask(&layer, call(Context::default().with_timeout(seconds(3))))).await;
        assert_eq!((result.unwrap_err().gave_up(), waited), (Some(GaveUp::WaitPastDeadline), Duration::ZERO));
    })
    .await;
}

/// How often a request is copied by a layer whose model answers with this script.
async fn copies<S: seawall::retry::Schedule>(
    layer: RetryLayer<Bare, S>,
    context: Context,
    script: &'static str,
) -> (u32, Option<GaveUp>) {
    let copies = Arc::new(AtomicU32::new(0));
    let request = Counted::new(&copies, Some(context));
    let result = ask(&layer.shape(Counts).layer(scripted(script)), request).await;
    (copies.load(Relaxed), result.err().and_then(|error| error.gave_up()))
}

#[tokio::test(start_paused = true)]
async fn one_copy_more_is_made_and_only_where_it_could_be_waited_with() {
    guarded(async {
        let (alone, beside) = (Context::default(), Context::default().with_others(true));
        assert_eq!(copies(layer(), alone, "fff").await, (3, Some(GaveUp::AttemptsSpent)));
        assert_eq!(copies(layer(), alone, "").await, (1, None), "a success costs what it did");
        assert_eq!(copies(layer().max_retries(0), alone, "").await, (1, None));

        let never = || layer().max_retries(0);
        assert_eq!(copies(never(), beside, "r").await, (0, Some(GaveUp::OthersOpen)), "a switch is better");
        let hasty = never().patience(Duration::ZERO);
        assert_eq!(copies(hasty, alone, "r").await, (0, Some(GaveUp::PatienceSpent(Duration::ZERO))));
        assert_eq!(copies(never(), beside, "f").await, (0, Some(GaveUp::AttemptsSpent)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn without_it_a_refusal_at_the_last_attempt_misses_its_copy_only_where_it_had_been_of_use() {
    guarded(async {
        let never = || RetryLayer::new().max_retries(0);
        let (alone, beside) = (Context::default(), Context::default().with_others(true));
        assert_eq!(copies(never(), alone, "r").await, (0, Some(GaveUp::NotKept)));
        assert_eq!(copies(never(), beside, "r").await, (0, Some(GaveUp::OthersOpen)));
        let late = Context::default().with_timeout(seconds(1));
        assert_eq!(copies(never(), late, "r").await, (0, Some(GaveUp::WaitPastDeadline)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_copied_is_the_reason_only_where_a_copy_was_wanted() {
    guarded(async {
        let reason = async |layer: RetryLayer, script| {
            ask(&layer.shape(Once).layer(scripted(script)), 1).await.unwrap_err().gave_up().unwrap()
        };
        assert_eq!(reason(layer(), "f").await, GaveUp::NotReplayable);
        assert_eq!(reason(layer(), "r").await, GaveUp::NotReplayable);
        assert_eq!(reason(layer().max_retries(0), "f").await, GaveUp::AttemptsSpent);
        assert_eq!(reason(layer().max_retries(0), "r").await, GaveUp::NotReplayable);
    })
    .await;
}

/// Retries further in have used the sends up, and what refuses then is not asked again.
#[tokio::test(start_paused = true)]
async fn a_refusal_behind_the_last_send_says_that_the_sends_are_spent() {
    guarded(async {
        for layer in [layer(), RetryLayer::new()] {
            let refused = || Error::refusal(Kind::CoolingDown).with_retry_after(seconds(1)).with_sends(2);
            let model = fake(move |_, _: Call<u32>| Now::<u32>(Err(refused())));
            let service = layer.shape(InCall(Bare)).layer(model);
            let error = ask(&service, call(Context::default().with_sends_left(2))).await.unwrap_err();
            assert_eq!((error.sends(), error.gave_up()), (2, Some(GaveUp::SendsSpent)), "{error}");
        }
    })
    .await;
}
