//! The circuit breaker and the cool-down, in virtual time.
mod cooling;
mod endings;
mod failsafe;
mod half_open;
mod hand;
mod keys;
mod model;
mod opening;

use crate::{ask, fake::*, guarded, seconds, timed};
use seawall::{
    Bare, Call, CircuitState, Context, Error, Gate, InCall, Kind, Sink, What,
    circuit_breaker::{CircuitBreaker, CircuitBreakerLayer, Policy, Window},
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    task::JoinHandle,
    time::{Instant, advance},
};
use tower::Layer;

/// What a request makes the model do.
#[derive(Clone, Copy, Debug)]
enum Say {
    Fine,
    FineAfter(u64),
    Fail(Kind),
    FailAfter(u64),
    Told(Kind, u64),
    ToldAfter(u64, Kind, u64),
    Silent,
}
use Say::*;

fn model() -> Fake<Say, ()> {
    fake(|_, say| {
        let told = |kind, wait| Err(Error::provider(kind).with_retry_after(seconds(wait)));
        match say {
            Fine => Now(Ok(())),
            FineAfter(wait) => After(seconds(wait), Ok(())),
            Fail(kind) => failing(kind),
            FailAfter(wait) => After(seconds(wait), Err(Error::provider(Kind::Server))),
            Told(kind, wait) => Now(told(kind, wait)),
            ToldAfter(after, kind, wait) => After(seconds(after), told(kind, wait)),
            Silent => Never,
        }
    })
}

/// A layer that opens at the first failure, for 5 s and more.
fn brittle(gate: &Gate) -> CircuitBreakerLayer {
    CircuitBreakerLayer::new().gate(gate).seed(1).policy(Window::default().consecutive(1).unwrap())
}

async fn tell<S>(service: &S, say: Say) -> Result<(), Error>
where
    S: tower::Service<Say, Response = (), Error = Error> + Clone,
{
    ask(service, say).await
}

fn start<S>(service: &S, say: Say) -> JoinHandle<Result<(), Error>>
where
    S: tower::Service<Say, Response = (), Error = Error, Future: Send> + Clone + Send + Sync + 'static,
{
    let service = service.clone();
    tokio::spawn(async move { tell(&service, say).await })
}

/// How an error looks to a caller: its kind, and its wait in whole milliseconds.
fn seen(result: &Result<(), Error>) -> Option<(Kind, Option<Duration>)> {
    result.as_ref().err().map(|error| (error.kind(), error.retry_after()))
}

fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> Kind {
    result.unwrap_err().kind()
}

/// What a sink was told, as text.
fn events() -> (Sink, Arc<Mutex<Vec<String>>>) {
    let told = Arc::<Mutex<Vec<String>>>::default();
    let here = Arc::clone(&told);
    let sink = Sink::new(move |event| {
        let of = |key: Option<&str>| key.map(|key| format!(" {key}")).unwrap_or_default();
        here.lock().unwrap().push(match event.what {
            What::CircuitOpened { key, error, .. } => format!("opened{} {}", of(key), error.kind().as_str()),
            What::CircuitHalfOpened { key } => format!("half-opened{}", of(key)),
            What::CircuitClosed { key } => format!("closed{}", of(key)),
            What::CoolingDown { error, wait } => format!("cooling {} {wait:?}", error.kind().as_str()),
            other => format!("{other:?}"),
        });
    });
    (sink, told)
}

fn take(told: &Mutex<Vec<String>>) -> Vec<String> {
    std::mem::take(&mut told.lock().unwrap())
}
