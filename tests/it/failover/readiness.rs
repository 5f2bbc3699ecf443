use super::*;
use crate::{
    ask,
    fake::{Never, Now, failing},
    guarded, seconds, timed,
};
use seawall::{
    GaveUp,
    failover::{Failover, Route},
};
use std::{
    future::poll_fn,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};
use tokio::time::{Instant, sleep_until};
use tower::{ServiceExt as _, limit::ConcurrencyLimit};

/// A service that is ready from an instant on, or never, or fails to be; and how many instances are waiting.
struct Slow<S> {
    inner: S,
    from: Result<Option<Instant>, Kind>,
    timer: Option<Pin<Box<tokio::time::Sleep>>>,
    waiting: Arc<AtomicU32>,
    waits: Option<Waits>,
}

struct Waits(Arc<AtomicU32>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

fn slow<S>(inner: S, from: Option<Instant>) -> Slow<S> {
    Slow { inner, from: Ok(from), timer: None, waiting: Arc::default(), waits: None }
}

fn broken<S>(inner: S, kind: Kind) -> Slow<S> {
    Slow { from: Err(kind), ..slow(inner, None) }
}

impl<S: Clone> Clone for Slow<S> {
    fn clone(&self) -> Self {
        Self { waiting: self.waiting.clone(), from: self.from, ..slow(self.inner.clone(), None) }
    }
}

impl<S: Service<Req, Error = Error>, Req> Service<Req> for Slow<S> {
    type Response = S::Response;
    type Error = Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.waits.get_or_insert_with(|| {
            self.waiting.fetch_add(1, Relaxed);
            Waits(self.waiting.clone())
        });
        match self.from {
            Err(kind) => {
                return Poll::Ready(Err(if kind.is_refusal() { Error::refusal(kind) } else { Error::provider(kind) }));
            }
            Ok(None) => return Poll::Pending,
            Ok(Some(from)) => {
                let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(from)));
                std::task::ready!(timer.as_mut().poll(cx));
            }
        }
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> S::Future {
        self.inner.call(request)
    }
}

/// Case layers 29.
#[tokio::test(start_paused = true)]
async fn a_route_that_is_never_ready_is_passed_by() {
    guarded(async {
        let stuck = slow(named("stuck"), None);
        let service =
            Failover::new(stuck.clone()).name("stuck").then(fake(|_, _: u64| failing::<&'static str>(Kind::Auth)));
        let (answer, took) = timed(ask(&service, 1)).await;
        let error = answer.unwrap_err();
        assert_eq!((error.kind(), error.sends(), took), (Kind::Auth, 1, seconds(1)));
        assert_eq!(labels(&error), [(Kind::LocalLimit, "stuck")]);
        let words = error.root().unwrap().to_string();
        assert_eq!(words, "local limit is full: the route was not ready within 1s, nothing sent");

        let service = Failover::new(stuck.clone()).then(named("well")).ready_within(Duration::from_millis(20)).unwrap();
        let (answer, took) = timed(ask(&service, 1)).await;
        assert_eq!((answer.unwrap(), took), ("well", Duration::from_millis(20)));
        assert_eq!(stuck.waiting.load(Relaxed), 0, "nobody waits there any more");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_route_that_is_ready_in_time_is_asked() {
    guarded(async {
        let first = slow(named("first"), Some(Instant::now() + Duration::from_millis(900)));
        let service = Failover::new(first).then(named("second"));
        let (answer, took) = timed(ask(&service, 1)).await;
        assert_eq!((answer.unwrap(), took), ("first", Duration::from_millis(900)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_last_route_is_waited_for_until_the_deadline() {
    guarded(async {
        let (model, _) = seeing(|_| Now(Ok(7)));
        let late = slow(model.clone(), Some(Instant::now() + seconds(100)));
        let stuck = slow(model.clone(), None);
        let service = Failover::new(stuck.clone()).then(late).shape(InCall(Bare));
        let (answer, took) = timed(ask(&service, call(Context::default()))).await;
        assert_eq!((answer.unwrap(), took), (7, seconds(100)));

        let service = Failover::new(stuck.clone()).then(stuck.clone()).shape(InCall(Bare));
        let deadline = Context::default().with_timeout(seconds(5));
        let (answer, took) = timed(ask(&service, call(deadline))).await;
        let error = answer.unwrap_err();
        assert_eq!((error.kind(), error.sends(), error.route(), took), (Kind::Deadline, 0, Some("2"), seconds(5)));
        assert_eq!(labels(&error), [(Kind::LocalLimit, "1")]);

        let deadline = Context::default().with_timeout(Duration::from_millis(300));
        let (answer, took) = timed(ask(&service, call(deadline))).await;
        assert_eq!((answer.unwrap_err().kind(), took), (Kind::Deadline, Duration::from_millis(300)));
        assert_eq!((model.sends(), stuck.waiting.load(Relaxed)), (1, 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_after_the_deadline_or_the_last_send() {
    guarded(async {
        let (model, _) = seeing(|_| Now(Ok(7)));
        let service = Failover::new(model.clone()).then(model.clone()).shape(InCall(Bare));
        let error = ask(&service, call(Context::default().with_timeout(seconds(0)))).await.unwrap_err();
        assert_eq!((error.kind(), error.sends(), model.sends()), (Kind::Deadline, 0, 0));
        let error = ask(&service, call(Context::default().with_sends_left(0))).await.unwrap_err();
        assert_eq!((error.kind(), error.sends(), model.sends()), (Kind::SendsExhausted, 0, 0));

        let (slow, _) = seeing(|_| crate::fake::After(seconds(9), Err(Error::provider(Kind::Timeout))));
        let service = Failover::new(slow).then(model.clone()).on_failure().shape(InCall(Bare));
        let error = ask(&service, call(Context::default().with_timeout(seconds(5)))).await.unwrap_err();
        assert_eq!((error.kind(), error.gave_up()), (Kind::Timeout, Some(GaveUp::WaitPastDeadline)));
        assert_eq!(model.sends(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_route_whose_readiness_fails_is_left_where_its_failure_switches() {
    guarded(async {
        let second = named("second");
        let service = |kind| Failover::new(broken(named("first"), kind)).then(second.clone()).on_failure();
        assert_eq!(ask(&service(Kind::Transport), 1).await.unwrap(), "second");
        assert_eq!(ask(&service(Kind::LocalLimit), 1).await.unwrap(), "second");
        let error = ask(&service(Kind::Cancelled), 1).await.unwrap_err();
        assert_eq!((error.kind(), error.route(), second.sends()), (Kind::Cancelled, Some("1"), 2));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_route_is_not_left_for_one_that_a_hand_keeps_closed() {
    guarded(async {
        let gate = Gate::new();
        gate.force_circuit_open();
        let first = slow(named("first"), Some(Instant::now() + Duration::from_millis(2500)));
        let service = Failover::new(first).then(named("second")).gate(&gate);
        let (answer, took) = timed(ask(&service, 1)).await;
        assert_eq!((answer.unwrap(), took), ("first", Duration::from_millis(2500)));

        let stuck = Failover::new(slow(named("first"), None)).then(named("second")).gate(&gate);
        let (answer, took) = timed(async {
            tokio::join!(ask(&stuck, 1), async {
                tokio::time::sleep(Duration::from_millis(2500)).await;
                gate.release_circuit();
            })
        })
        .await;
        assert_eq!((answer.0.unwrap(), took), ("second", seconds(3)), "looked for again each time the second is over");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_full_route_is_passed_by_and_its_permit_is_left_to_others() {
    guarded(async {
        let busy = fake(|_, _: u64| Never::<&'static str>);
        let first = ConcurrencyLimit::new(busy.clone(), 1);
        let service = Failover::new(first.clone()).then(named("second"));
        let held = tokio::spawn(service.clone().oneshot(1));
        tokio::task::yield_now().await;
        let (answer, took) = timed(ask(&service, 1)).await;
        assert_eq!((answer.unwrap(), took, busy.sends()), ("second", seconds(1), 1));
        held.abort();
        let _ = held.await;
        let again = tokio::spawn(service.oneshot(1));
        tokio::time::sleep(seconds(10)).await;
        assert_eq!((busy.sends(), again.is_finished()), (2, false), "the permit is free again, and was not passed by");
        again.abort();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_failover_in_a_failover_passes_by_its_last_route_while_the_outer_has_another() {
    guarded(async {
        let (model, _) = seeing(|_| Now(Ok(7)));
        let inner = Failover::list(vec![Route::new(slow(model.clone(), None))]).unwrap().shape(InCall(Bare));
        let service = Failover::new(inner).then(model.clone()).shape(InCall(Bare));
        let (answer, took) = timed(ask(&service, call(Context::default()))).await;
        assert_eq!((answer.unwrap(), took), (7, seconds(1)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn readiness_that_comes_with_the_deadline_comes_too_late() {
    guarded(async {
        let (model, _) = seeing(|_| Now(Ok(7)));
        let deadline = Instant::now() + seconds(5);
        let service = Failover::new(slow(model.clone(), Some(deadline))).shape(InCall(Bare));
        let error = ask(&service, call(Context::default().with_deadline(deadline))).await.unwrap_err();
        assert_eq!((error.kind(), error.sends(), model.sends()), (Kind::Deadline, 0, 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_deadline_is_over_by_the_clock_before_its_timer_has_fired() {
    let (model, _) = seeing(|_| Now(Ok(7)));
    let service = Failover::new(slow(model, None)).shape(InCall(Bare));
    let mut future = Box::pin(service.oneshot(call(Context::default().with_timeout(seconds(5)))));
    assert!(poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await.is_pending());
    tokio::time::advance(seconds(5)).await;
    poll_fn(|cx| {
        // A task that has run for long gets no more answers from tokio's timers: like one that has not fired.
        while tokio::task::coop::poll_proceed(cx).map(|progress| progress.made_progress()).is_ready() {}
        let Poll::Ready(Err(error)) = future.as_mut().poll(cx) else { panic!("it is over") };
        assert_eq!(error.kind(), Kind::Deadline);
        Poll::Ready(())
    })
    .await;
}
