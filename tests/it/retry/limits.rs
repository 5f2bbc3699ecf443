//! What ends a call before its attempts do.
use super::*;
use seawall::{Bare, Call, Context, InCall, retry::Backoff};
use std::{
    future::{Future, poll_fn},
    pin::pin,
};
use tower::ServiceExt;

fn call(context: Context) -> Call<u32> {
    Call { context, request: 1 }
}

/// A model behind one retry whose requests bring a context, and what it was still allowed at each send.
fn contexts(answer: impl Fn() -> Answer<u32> + Send + Sync + 'static) -> (Fake<Call<u32>, u32>, Arc<Mutex<Vec<u32>>>) {
    let left = Arc::new(Mutex::new(Vec::new()));
    let log = left.clone();
    let model = fake(move |_, call: Call<u32>| {
        log.lock().unwrap().push(call.context.sends_left);
        answer()
    });
    (model, left)
}

fn layer() -> RetryLayer<InCall<Bare>> {
    RetryLayer::new().shape(InCall(Bare))
}

#[tokio::test(start_paused = true)]
async fn a_wait_over_the_cap_ends_the_call_at_once_and_is_told() {
    guarded(async {
        let (model, _) = always(|| limited(seconds(3600)));
        let (result, waited) = timed(ask(&RetryLayer::new().layer(model.clone()), 1)).await;
        let error = result.unwrap_err();
        assert_eq!(
            (error.retry_after(), error.gave_up()),
            (Some(seconds(3600)), Some(GaveUp::WaitOverCap(seconds(60))))
        );
        assert_eq!((model.sends(), waited), (1, Duration::ZERO));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_past_the_deadline_ends_the_call_at_once_and_is_told() {
    guarded(async {
        let (model, _) = contexts(|| limited(seconds(30)));
        let context = Context::default().with_timeout(seconds(5));
        let (result, waited) = timed(ask(&layer().layer(model.clone()), call(context))).await;
        let error = result.unwrap_err();
        assert_eq!((error.retry_after(), error.gave_up()), (Some(seconds(30)), Some(GaveUp::WaitPastDeadline)));
        assert_eq!((model.sends(), waited), (1, Duration::ZERO));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_scheduled_delay_past_the_deadline_ends_the_call_too() {
    guarded(async {
        let (model, _) = contexts(|| failing(Kind::Server));
        let context = Context::default().with_timeout(Duration::from_millis(1500));
        let service = layer().schedule(every_second).layer(model.clone());
        let (result, waited) = timed(ask(&service, call(context))).await;
        assert_eq!(result.unwrap_err().gave_up(), Some(GaveUp::WaitPastDeadline));
        assert_eq!((model.sends(), waited), (2, seconds(1)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_failure_at_the_very_deadline_is_told_as_it_is_and_no_retry_is_begun() {
    guarded(async {
        let model = fake(|_, _: Call<u32>| Answer::<u32>::After(seconds(5), Err(Error::provider(Kind::Server))));
        let (sink, told) = told();
        let service = layer().schedule(|_| Duration::ZERO).sink(sink).layer(model.clone());
        let context = Context::default().with_timeout(seconds(5));
        let error = ask(&service, call(context)).await.unwrap_err();
        assert_eq!((error.kind(), error.gave_up()), (Kind::Server, Some(GaveUp::WaitPastDeadline)));
        assert_eq!((model.sends(), told.lock().unwrap().len()), (1, 1));
    })
    .await;
}

/// Those further in were overruled by whoever asked again; the last word is what the caller can act on.
#[tokio::test(start_paused = true)]
async fn of_nested_retries_the_outermost_says_why_no_attempt_followed() {
    guarded(async {
        let (model, _) = contexts(|| failing(Kind::Server));
        let (sink, told) = told();
        let empty = seawall::retry::Budget::with_reserve(0.0, 0, 0).unwrap();
        let service =
            ServiceBuilder::new().layer(layer().budget(&empty).sink(sink)).layer(layer()).service(model.clone());
        let error = ask(&service, call(Context::default())).await.unwrap_err();
        assert_eq!((error.gave_up(), model.sends()), (Some(GaveUp::BudgetSpent), 3));
        assert_eq!(*told.lock().unwrap(), ["gave up after 3 sends: the retry budget is spent"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_last_attempt_that_was_refused_has_spent_nothing_and_says_so() {
    guarded(async {
        let (model, _) = contexts(|| Now(Err(Error::refusal(Kind::CoolingDown).with_retry_after(seconds(1)))));
        let one = Context::default().with_sends_left(1);
        let error = ask(&layer().layer(model.clone()), call(one)).await.unwrap_err();
        assert_eq!((error.gave_up(), error.sends(), model.sends()), (Some(GaveUp::NotKept), 0, 1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn each_attempt_is_handed_the_sends_that_are_left() {
    guarded(async {
        let (model, left) = contexts(|| failing(Kind::Server));
        ask(&layer().layer(model), call(Context::default().with_sends_left(4))).await.unwrap_err();
        assert_eq!(*left.lock().unwrap(), [4, 3, 2]);
        let (model, left) = contexts(|| failing(Kind::Server));
        let error = ask(&layer().layer(model), call(Context::default().with_sends_left(2))).await.unwrap_err();
        assert_eq!((error.gave_up(), error.sends()), (Some(GaveUp::SendsSpent), 2));
        assert_eq!(*left.lock().unwrap(), [2, 1]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn nested_retries_share_one_count_of_sends() {
    guarded(async {
        let (model, _) = contexts(|| failing(Kind::Server));
        let service = ServiceBuilder::new().layer(layer()).layer(layer()).layer(layer()).service(model.clone());
        let error = ask(&service, call(Context::default())).await.unwrap_err();
        assert_eq!((error.sends(), model.sends()), (6, 6), "and not twenty-seven");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_without_sends_is_refused_and_gives_its_readiness_back() {
    guarded(async {
        let spent = Context::default().with_sends_left(0);
        let late = Context::default().with_timeout(Duration::ZERO);
        for (context, kind) in [(spent, Kind::SendsExhausted), (late, Kind::Deadline)] {
            let (model, _) = contexts(|| Now(Ok(1)));
            let mut idle = layer().layer(ConcurrencyLimit::new(model.clone(), 1));
            let other = idle.clone();
            let refused = idle.ready().await.unwrap().call(call(context));
            assert!(ask(&other, call(Context::default())).await.is_ok(), "the idle service keeps no permit");
            let error = refused.await.unwrap_err();
            assert_eq!((error.kind(), error.sends(), error.gave_up(), model.sends()), (kind, 0, None, 1));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn while_others_are_open_a_switch_beats_most_waits() {
    guarded(async {
        let beside = Context::default().with_others(true);
        let refusal = || Now(Err(Error::refusal(Kind::CoolingDown).with_retry_after(seconds(1))));
        for (answer, sends) in [
            (refusal as fn() -> Answer<u32>, 1),
            (|| limited(seconds(1)), 1),
            (|| failing(Kind::Timeout), 1),
            (|| failing(Kind::Server), 2),
        ] {
            let (model, _) = contexts(answer);
            let error = ask(&layer().layer(model.clone()), call(beside)).await.unwrap_err();
            assert_eq!((model.sends(), error.gave_up()), (sends, Some(GaveUp::OthersOpen)), "{error}");
        }
        let (model, _) = contexts(|| limited(seconds(1)));
        let error = ask(&layer().layer(model.clone()), call(beside.with_wait_at_most(seconds(1)))).await.unwrap_err();
        assert_eq!((model.sends(), error.gave_up()), (3, Some(GaveUp::AttemptsSpent)));
    })
    .await;
}

/// Fails once, and is then ready only after a minute.
#[derive(Clone, Default)]
struct Slow(Arc<Mutex<u32>>);

impl Service<Call<u32>> for Slow {
    type Response = u32;
    type Error = Error;
    type Future = Ready<Result<u32, Error>>;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        let polls = &mut *self.0.lock().unwrap();
        *polls += 1;
        if *polls == 2 {
            let waker = cx.waker().clone();
            tokio::spawn(async move {
                tokio::time::sleep(seconds(60)).await;
                waker.wake();
            });
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Call<u32>) -> Self::Future {
        assert!(*self.0.lock().unwrap() == 1, "sent after the deadline");
        ready(Err(Error::provider(Kind::Server)))
    }
}

#[tokio::test(start_paused = true)]
async fn readiness_that_comes_after_the_deadline_sends_nothing() {
    guarded(async {
        let context = Context::default().with_timeout(seconds(10));
        let error = ask(&layer().layer(Slow::default()), call(context)).await.unwrap_err();
        assert_eq!((error.kind(), error.sends()), (Kind::Deadline, 1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_short_backoff_does_not_shorten_what_is_waited_when_told() {
    guarded(async {
        let quick = Backoff::new(Duration::from_millis(200), seconds(10)).unwrap();
        let model = fake(|n, _: u32| if n == 0 { limited(seconds(20)) } else { Now(Ok(7)) });
        let (result, waited) = timed(ask(&RetryLayer::new().schedule(quick).layer(model), 1)).await;
        assert_eq!(result.unwrap(), 7);
        assert!(waited >= seconds(20), "{waited:?}");
    })
    .await;
}

/// Fails once, and is never ready again.
#[derive(Clone, Default)]
struct Gone(Arc<Mutex<u32>>);

impl Service<Call<u32>> for Gone {
    type Response = u32;
    type Error = Error;
    type Future = Ready<Result<u32, Error>>;

    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        let polls = &mut *self.0.lock().unwrap();
        *polls += 1;
        if *polls == 1 { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn call(&mut self, _: Call<u32>) -> Self::Future {
        ready(Err(Error::provider(Kind::Server)))
    }
}

/// A task that has run for long gets no more answers from tokio's timers, and a deadline further out has ended.
#[tokio::test(start_paused = true)]
async fn a_wait_for_readiness_is_over_by_the_clock_before_its_timer_has_fired() {
    guarded(async {
        let context = Context::default().with_timeout(seconds(10));
        let service = layer().schedule(every_second).layer(Gone::default());
        let mut asked = pin!(ask(&service, call(context)));
        assert!(tokio::time::timeout(seconds(9), asked.as_mut()).await.is_err());
        tokio::time::advance(seconds(1)).await;
        poll_fn(|cx| {
            while tokio::task::coop::poll_proceed(cx).map(|progress| progress.made_progress()).is_ready() {}
            let Poll::Ready(Err(error)) = asked.as_mut().poll(cx) else { panic!("it is over") };
            assert_eq!((error.kind(), error.sends()), (Kind::Deadline, 1));
            Poll::Ready(())
        })
        .await;
    })
    .await;
}
