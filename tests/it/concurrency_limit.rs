//! The concurrency limit, in virtual time.
mod answers;
mod line;
mod told;
mod waits;

use crate::{
    ask,
    fake::{After, Fake, Never, Now, failing, fake},
    guarded, seconds, timed,
};
use seawall::{Bare, Call, Context, Error, Http, InCall, Kind, Scope, concurrency_limit::ConcurrencyLimitLayer};
use std::{
    future::{Future, Ready, ready},
    pin::{Pin, pin},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    task::{Context as Cx, Poll, Wake, Waker},
    time::Duration,
};
use tokio::{task::yield_now, time::sleep};
use tower::{Layer, Service, ServiceExt, limit::ConcurrencyLimit as TowerLimit};

fn limit(most: usize) -> ConcurrencyLimitLayer {
    ConcurrencyLimitLayer::new(most).unwrap()
}

fn in_call(most: usize) -> ConcurrencyLimitLayer<InCall<Bare>> {
    limit(most).shape(InCall(Bare))
}

/// A model that takes so many seconds as it is asked for; zero answers at once.
fn model() -> Fake<u32, u32> {
    fake(|_, wait: u32| After(seconds(wait.into()), Ok(wait)))
}

fn calls() -> Fake<Call<u32>, u32> {
    fake(|_, call: Call<u32>| After(seconds(call.request.into()), Ok(call.request)))
}

fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Cx::from_waker(Waker::noop()))
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_are_under_way_than_the_limit_says() {
    guarded(async {
        let model = model();
        let service = limit(3).layer(model.clone());
        let asked: Vec<_> = (0..9).map(|_| tokio::spawn(timed(service.clone().oneshot(10)))).collect();
        for round in 1..=3 {
            sleep(seconds(5)).await;
            assert_eq!((model.live(), model.sends()), (3, 3 * round));
            sleep(seconds(5)).await;
        }
        for (n, call) in (0..).zip(asked) {
            let (answer, took) = call.await.unwrap();
            assert_eq!((answer.unwrap(), took), (10, seconds(10 * (n / 3 + 1))));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn every_service_of_a_layer_and_of_its_clones_shares_one_limit() {
    guarded(async {
        let layer = limit(1);
        let (one, other) = (layer.layer(model()), layer.clone().layer(model()));
        let reshaped = layer.shape(InCall(Bare)).layer(calls());
        let held = tokio::spawn(one.clone().oneshot(5));
        yield_now().await;
        let (answer, took) = timed(ask(&other, 0)).await;
        assert_eq!((answer.unwrap(), took), (0, seconds(5)));
        assert_eq!(held.await.unwrap().unwrap(), 5);
        let held = tokio::spawn(one.oneshot(5));
        yield_now().await;
        let (answer, took) = timed(ask(&reshaped, Call { context: Context::default(), request: 0 })).await;
        assert_eq!((answer.unwrap(), took), (0, seconds(5)));
        held.await.unwrap().unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_service_that_was_ready_and_is_dropped_or_kept_leaks_no_permit() {
    guarded(async {
        let layer = limit(2);
        let mut idle: Vec<_> = (0..9).map(|_| layer.layer(model())).collect();
        for service in &mut idle {
            service.ready().await.unwrap();
        }
        idle.truncate(5);
        let service = layer.layer(model());
        let both = (tokio::spawn(service.clone().oneshot(1)), tokio::spawn(service.oneshot(1)));
        let (_, took) = timed(async { (both.0.await.unwrap().unwrap(), both.1.await.unwrap().unwrap()) }).await;
        assert_eq!(took, seconds(1), "two at once, beside idle ones that are ready");

        let unpolled: Vec<_> = idle.iter_mut().take(2).map(|service| service.call(0)).collect();
        drop(unpolled);
        let (answer, took) = timed(ask(&idle.pop().unwrap(), 0)).await;
        assert_eq!((answer.unwrap(), took), (0, Duration::ZERO));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_fails_gives_its_permit_back() {
    guarded(async {
        let service = limit(1).layer(fake(|n, _: u32| if n < 9 { failing(Kind::Server) } else { Now(Ok(n)) }));
        for _ in 0..9 {
            let error = ask(&service, 0).await.unwrap_err();
            assert_eq!((error.kind(), error.sends(), error.scope()), (Kind::Server, 1, None), "as it came");
        }
        assert_eq!(ask(&service, 0).await.unwrap(), 9);
    })
    .await;
}

/// Panics in one place as long as it is armed.
#[derive(Clone)]
struct Bomb {
    at: &'static str,
    armed: Arc<AtomicBool>,
}

impl Bomb {
    fn pass(&self, at: &str) {
        assert!(self.at != at || !self.armed.load(Relaxed), "boom");
    }
}

impl Service<u32> for Bomb {
    type Response = u32;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<u32, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.pass("ready");
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, wait: u32) -> Self::Future {
        self.pass("call");
        let bomb = self.clone();
        Box::pin(async move {
            sleep(seconds(wait.into())).await;
            bomb.pass("poll");
            Ok(wait)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn what_panics_gives_its_permit_back_whether_it_waited_or_not() {
    guarded(async {
        for (at, waits) in [("ready", true), ("call", true), ("poll", true), ("call", false), ("poll", false)] {
            let bomb = Bomb { at, armed: Arc::default() };
            let service = limit(1).layer(bomb.clone());
            let held = waits.then(|| tokio::spawn(service.clone().oneshot(2)));
            yield_now().await;
            let mut bold = service.clone();
            bold.ready().await.unwrap();
            bomb.armed.store(!waits, Relaxed);
            let bold = tokio::spawn(async move { bold.call(0).await });
            sleep(seconds(1)).await;
            bomb.armed.store(true, Relaxed);
            if let Some(held) = held {
                assert_eq!(held.await.is_err(), at == "poll", "it had passed the other two");
            }
            assert!(bold.await.unwrap_err().is_panic(), "{at} {waits}");
            bomb.armed.store(false, Relaxed);
            assert_eq!(ask(&service, 0).await.unwrap(), 0, "{at} {waits}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_over_stays_quiet_and_holds_nothing() {
    guarded(async {
        let inner = TowerLimit::new(model(), 2);
        let mut service = in_call(1).layer(inner.clone().map_request(|call: Call<u32>| call.request));
        let call = |context| Call { context, request: 1 };
        let mut over = pin!(service.ready().await.unwrap().call(call(Context::default())));
        assert_eq!(over.as_mut().await.unwrap(), 1);
        let mut held = pin!(service.ready().await.unwrap().call(call(Context::default())));
        let late = call(Context::default().with_others(true));
        let mut refused = pin!(service.clone().ready().await.unwrap().call(late));
        assert_eq!(refused.as_mut().await.unwrap_err().kind(), Kind::LocalLimit);
        assert_eq!(held.as_mut().await.unwrap(), 1, "the first has given both permits back");
        let (mut one, mut other) = (inner.clone(), inner);
        one.ready().await.unwrap();
        other.ready().await.unwrap();
        assert!(poll(over).is_pending() && poll(held).is_pending() && poll(refused).is_pending());
    })
    .await;
}

/// A model on one thread: neither its requests nor its futures are `Send`.
#[derive(Clone)]
struct Local;

impl Service<Rc<str>> for Local {
    type Response = usize;
    type Error = Error;
    type Future = Ready<Result<usize, Error>>;

    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Rc<str>) -> Self::Future {
        ready(Ok(request.len()))
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_needs_to_be_send_and_what_can_be_is() {
    fn both<T: Send + Sync + Clone + 'static>(_: &T) {}
    fn send<T: Send>(_: &T) {}
    guarded(async {
        assert_eq!(ask(&limit(1).layer(Local), Rc::from("hello")).await.unwrap(), 5);
        let service = limit(1).layer(model());
        both(&limit(1));
        both(&service);
        send(&service.oneshot(1));
    })
    .await;
}

#[test]
fn zero_is_refused_and_says_what_to_change() {
    let invalid = ConcurrencyLimitLayer::new(0).unwrap_err();
    assert_eq!(invalid.setting(), "concurrency_limit");
    assert!(invalid.to_string().contains("at least 1"), "{invalid}");
    assert!(ConcurrencyLimitLayer::new(usize::MAX).is_ok());
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_everybody_passes_at_once() {
    guarded(async {
        let model = model();
        let service = ConcurrencyLimitLayer::unlimited().layer(model.clone());
        let asked: Vec<_> = (0..500).map(|_| tokio::spawn(service.clone().oneshot(10))).collect();
        sleep(seconds(5)).await;
        assert_eq!(model.live(), 500);
        for call in asked {
            assert_eq!(call.await.unwrap().unwrap(), 10);
        }
    })
    .await;
}
