//! Code of others that panics, or breaks the contract: what is left of a layer works, and nobody is told a lie.
use crate::{ask, fake::*, guarded, seconds, timed};
use seawall::{
    Error, Event, Kind, Phase, Rng, Sink, Stack, What,
    retry::{Budget, RetryLayer, Schedule},
};
use std::{
    future::{Future, Ready, ready},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    task::{Context as Cx, Poll, Waker},
    time::Duration,
};
use tower::{Layer, Service, ServiceExt};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Where {
    Ready,
    Call,
    Poll,
}

/// Panics once at a place, and works from then on.
#[derive(Clone)]
struct Bomb {
    at: Where,
    armed: Arc<AtomicBool>,
    sent: Arc<AtomicU32>,
}

impl Bomb {
    fn new(at: Where) -> Self {
        Self { at, armed: Arc::new(AtomicBool::new(true)), sent: Arc::default() }
    }

    fn pass(&self, at: Where) {
        assert!(self.at != at || !self.armed.swap(false, Relaxed), "boom");
    }
}

impl Service<u32> for Bomb {
    type Response = u32;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<u32, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.pass(Where::Ready);
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, n: u32) -> Self::Future {
        self.sent.fetch_add(1, Relaxed);
        self.pass(Where::Call);
        let bomb = self.clone();
        Box::pin(async move {
            tokio::task::yield_now().await;
            bomb.pass(Where::Poll);
            Ok(n)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_goes_to_the_caller_and_the_stack_works_on() {
    guarded(async {
        for at in [Where::Ready, Where::Call, Where::Poll] {
            let bomb = Bomb::new(at);
            let told = Arc::new(AtomicU32::new(0));
            let count = Arc::clone(&told);
            let sink = Sink::new(move |event| {
                if let What::Retrying { .. } | What::GaveUp { .. } | What::TimedOut { .. } = event.what {
                    count.fetch_add(1, Relaxed);
                }
            });
            let stack = Stack::bare(bomb.clone()).deadline(seconds(9)).sink(sink).build().unwrap();
            let (result, took) = timed(tokio::spawn(stack.ask(1))).await;
            assert!(result.unwrap_err().is_panic() && took == Duration::ZERO, "{at:?}");
            assert_eq!(told.load(Relaxed), 0, "no timeout, no retry: {at:?}");
            assert_eq!(stack.ask(2).await.unwrap(), 2, "{at:?}");
        }
    })
    .await;
}

/// A task that caught the panic may poll on: it gets no answer that is not one.
#[test]
fn a_future_polled_after_a_panic_gives_no_false_answer() {
    let mut service = RetryLayer::new().layer(Bomb::new(Where::Poll));
    let mut cx = Cx::from_waker(Waker::noop());
    assert!(service.poll_ready(&mut cx).is_ready());
    let mut call = Box::pin(service.call(1));
    assert!(call.as_mut().poll(&mut cx).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(&mut cx))).is_err());
    let after = catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(&mut cx)));
    assert!(!matches!(after, Ok(Poll::Ready(_))), "an async block that panicked panics again");
}

#[derive(Clone)]
struct Explosive;

impl Schedule for Explosive {
    fn delay(&mut self, _: u32, _: &Rng) -> Option<Duration> {
        panic!("a bug in a schedule")
    }
}

#[tokio::test(start_paused = true)]
async fn a_schedule_or_a_listener_that_panics_breaks_its_call_and_no_other() {
    guarded(async {
        let budget = Budget::with_reserve(0.0, 1, 0).unwrap();
        let failing_once = || fake(|n, _: u32| if n == 0 { failing(Kind::Server) } else { Now(Ok(n)) });
        let explosive = RetryLayer::new().schedule(Explosive).budget(&budget).layer(failing_once());
        assert!(tokio::spawn(explosive.clone().oneshot(1)).await.unwrap_err().is_panic());
        assert_eq!(ask(&explosive, 1).await.unwrap(), 1, "the next is answered at once");
        let sound = RetryLayer::new().budget(&budget).layer(failing_once());
        assert_eq!(ask(&sound, 1).await.unwrap(), 1, "the budget was not touched");

        let listener = Sink::new(|_: &Event<'_>| panic!("a bug in a listener"));
        let model = failing_once();
        let loud = RetryLayer::new().sink(listener).layer(model.clone());
        assert!(tokio::spawn(loud.clone().oneshot(1)).await.unwrap_err().is_panic());
        assert_eq!((ask(&loud, 1).await.unwrap(), model.live()), (1, 0));
    })
    .await;
}

/// Ready the first time; then as it is told.
#[derive(Clone)]
struct Moody {
    readied: Arc<Mutex<u32>>,
    then: fn() -> Poll<Result<(), Error>>,
}

impl Service<u32> for Moody {
    type Response = u32;
    type Error = Error;
    type Future = Ready<Result<u32, Error>>;

    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        let mut readied = self.readied.lock().unwrap();
        *readied += 1;
        if *readied == 1 { Poll::Ready(Ok(())) } else { (self.then)() }
    }

    fn call(&mut self, _: u32) -> Self::Future {
        ready(Err(Error::provider(Kind::Server).with_provider("moody")))
    }
}

#[tokio::test(start_paused = true)]
async fn an_inner_service_that_breaks_or_hangs_before_the_second_attempt_ends_the_call() {
    guarded(async {
        let broken = || Poll::Ready(Err(Error::provider(Kind::Transport).with_phase(Phase::Connect).with_sends(0)));
        let moody = |then| Stack::bare(Moody { readied: Arc::default(), then }).deadline(seconds(9)).build().unwrap();
        let error = moody(broken).ask(1).await.unwrap_err();
        assert_eq!((error.kind(), error.sends(), error.trail().attempts().len()), (Kind::Transport, 1, 1));
        assert_eq!(error.trail().attempts()[0].provider_name(), Some("moody"));
        let (result, took) = timed(moody(|| Poll::Pending).ask(1)).await;
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.sends(), took), (Kind::Deadline, 1, seconds(9)), "nobody wakes it but time");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn without_a_deadline_a_call_waits_for_readiness_as_tower_does() {
    guarded(async {
        let moody = Moody { readied: Arc::default(), then: || Poll::Pending };
        let service = RetryLayer::new().layer(moody);
        let call = ask(&service, 1);
        assert!(tokio::time::timeout(seconds(1000), call).await.is_err());
    })
    .await;
}
