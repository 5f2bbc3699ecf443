//! A task that sleeps is woken when there is something to do, and is not woken for nothing.
use crate::{fake::*, guarded, seconds};
use seawall::{
    Error, Kind, Stack,
    retry::RetryLayer,
    timeout::{AttemptTimeoutLayer, DeadlineLayer},
};
use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    task::{Context as Cx, Poll, Wake, Waker},
    time::Duration,
};
use tokio::time::advance;
use tower::{Layer, Service, ServiceExt, limit::ConcurrencyLimit};

#[derive(Default)]
struct Count(AtomicU32);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Polls a future only when it was woken, as an executor does that does not forgive.
struct Strict {
    count: Arc<Count>,
    seen: u32,
    polls: u32,
}

impl Strict {
    fn new() -> Self {
        Self { count: Arc::default(), seen: u32::MAX, polls: 0 }
    }

    fn woken(&self) -> bool {
        self.seen != self.count.0.load(Relaxed)
    }

    fn poll<F: Future>(&mut self, future: Pin<&mut F>) -> Poll<F::Output> {
        if !self.woken() {
            return Poll::Pending;
        }
        self.seen = self.count.0.load(Relaxed);
        self.polls += 1;
        future.poll(&mut Cx::from_waker(&Waker::from(Arc::clone(&self.count))))
    }

    /// Time passes by hand until the future is done.
    async fn run<F: Future>(&mut self, future: F, most: Duration) -> Option<F::Output> {
        let mut future = pin!(future);
        for _ in 0..most.as_millis() / 50 {
            if let Poll::Ready(output) = self.poll(future.as_mut()) {
                return Some(output);
            }
            advance(Duration::from_millis(50)).await;
            tokio::task::yield_now().await;
        }
        None
    }
}

#[tokio::test(start_paused = true)]
async fn a_timer_alone_is_enough_to_go_on() {
    guarded(async {
        let model = fake(|n, _: u32| if n < 2 { failing(Kind::Server) } else { Now(Ok(n)) });
        let stack = Stack::bare(model).build().unwrap();
        let mut strict = Strict::new();
        assert_eq!(strict.run(stack.ask(1), seconds(10)).await.unwrap().unwrap(), 2);
        assert!(strict.polls <= 3, "once, and once after each of two waits: {}", strict.polls);

        let silent = fake(|_, _: u32| Never::<u32>);
        let stack = Stack::bare(silent).whole(seconds(2)).max_retries(0).deadline(seconds(5)).build().unwrap();
        let mut strict = Strict::new();
        let error = strict.run(stack.ask(1), seconds(10)).await.unwrap().unwrap_err();
        assert_eq!((error.kind(), strict.polls), (Kind::Timeout, 2));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn readiness_alone_is_enough_to_go_on() {
    guarded(async {
        // The second attempt waits for a permit that another call holds for three seconds.
        let model = fake(|_, wait: u32| match wait {
            0 => failing::<u32>(Kind::Server),
            wait => After(seconds(wait.into()), Ok(wait)),
        });
        let limit = ConcurrencyLimit::new(model.clone(), 1);
        let retry = RetryLayer::new().max_retries(1).schedule(|_| Duration::from_millis(50)).layer(limit);
        let service = DeadlineLayer::new(seconds(60)).unwrap().layer(retry);
        let mut call = pin!(service.clone().oneshot(0));
        let mut strict = Strict::new();
        assert!(strict.poll(call.as_mut()).is_pending());
        let other = tokio::spawn(service.oneshot(3));
        tokio::task::yield_now().await;
        let error = strict.run(call, seconds(30)).await.unwrap().unwrap_err();
        assert_eq!((error.sends(), other.await.unwrap().unwrap()), (2, 3));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn wakes_for_nothing_change_nothing() {
    guarded(async {
        let model = fake(|_, _: u32| After::<u32>(seconds(1), Err(Error::provider(Kind::Server))));
        let run = async |spurious: bool| {
            let before = model.sends();
            let stack = Stack::bare(model.clone()).seed(3).deadline(seconds(60)).build().unwrap();
            let start = tokio::time::Instant::now();
            let mut call = pin!(stack.ask(1));
            let error = poll_fn(|cx| {
                if spurious {
                    for _ in 0..5 {
                        if let Poll::Ready(output) = call.as_mut().poll(cx) {
                            return Poll::Ready(output);
                        }
                    }
                }
                call.as_mut().poll(cx)
            });
            (error.await.unwrap_err().sends(), model.sends() - before, start.elapsed())
        };
        assert_eq!(run(true).await, run(false).await);
    })
    .await;
}

/// Futures move from task to task: the last waker counts.
#[tokio::test(start_paused = true)]
async fn a_call_that_moved_wakes_its_new_task() {
    guarded(async {
        let model = fake(|n, _: u32| if n == 0 { failing(Kind::Server) } else { After(seconds(1), Ok(n)) });
        let stack = Stack::bare(model).build().unwrap();
        let mut call = Box::pin(stack.ask(1));
        let mut old = Strict::new();
        assert!(old.poll(call.as_mut()).is_pending());
        assert_eq!(tokio::spawn(call).await.unwrap().unwrap(), 1);
    })
    .await;
}

/// A service whose futures must not be polled once they are done, under futures that may be.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_over_stays_quiet_and_holds_nothing() {
    guarded(async {
        let model = fake(|n, _: u32| if n < 3 { failing(Kind::Server) } else { Now(Ok(n)) });
        let limit = ConcurrencyLimit::new(model, 1);
        let mut service = RetryLayer::new().layer(limit.clone());
        let mut call = pin!(service.ready().await.unwrap().call(1));
        call.as_mut().await.unwrap_err();
        let mut deadline = DeadlineLayer::new(seconds(5)).unwrap().layer(limit.clone());
        let mut second = pin!(deadline.ready().await.unwrap().call(1));
        assert_eq!(second.as_mut().await.unwrap(), 3, "the permit is back");
        let mut attempt = AttemptTimeoutLayer::new().layer(limit.clone());
        let mut third = pin!(attempt.ready().await.unwrap().call(1));
        assert_eq!(third.as_mut().await.unwrap(), 4);
        assert_eq!(limit.oneshot(1).await.unwrap(), 5);
        let mut cx = Cx::from_waker(Waker::noop());
        assert!(
            call.poll(&mut cx).is_pending() && second.poll(&mut cx).is_pending() && third.poll(&mut cx).is_pending()
        );
    })
    .await;
}
