//! What a layer allocates, in a binary of its own: the counter is process-wide.
//!
//! No runtime is running, so a success that armed a timer would panic.
#![allow(missing_docs, clippy::unwrap_used)]

use seawall::{
    Error, Kind,
    retry::RetryLayer,
    timeout::{AttemptTimeoutLayer, DeadlineLayer},
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::{
    alloc::System,
    future::{Future, Ready, ready},
    hint::black_box,
    pin::pin,
    task::{Context as Cx, Poll, Waker},
    time::Duration,
};
use tower::{Service, ServiceBuilder};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const CALLS: usize = 1000;

#[test]
fn a_success_allocates_nothing_and_a_refusal_its_one_error() {
    let model = Model(None);
    let retry = RetryLayer::new();
    let timeout = DeadlineLayer::new(Duration::from_secs(60)).unwrap();
    let attempt = AttemptTimeoutLayer::new();

    per_call("no layer", 0, model.clone(), succeeds);
    per_call("retry", 0, ServiceBuilder::new().layer(retry.clone()).service(model.clone()), succeeds);
    per_call("timeout: deadline", 0, ServiceBuilder::new().layer(timeout.clone()).service(model.clone()), succeeds);
    per_call("timeout: attempt", 0, ServiceBuilder::new().layer(attempt.clone()).service(model.clone()), succeeds);
    let all = ServiceBuilder::new().layer(timeout).layer(retry).layer(attempt);
    per_call("all layers", 0, all.service(model), succeeds);

    per_call("no layer, refused", 1, Model(Some(Kind::Credit)), fails);
    per_call("all layers, refused", 1, all.service(Model(Some(Kind::Credit))), fails);
}

/// A name of its own, as the counted stack is deep.
#[derive(Clone)]
struct Model(Option<Kind>);

impl Service<u64> for Model {
    type Response = u64;
    type Error = Error;
    type Future = Ready<Result<u64, Error>>;

    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, n: u64) -> Self::Future {
        ready(match self.0 {
            Some(kind) => Err(Error::refusal(kind)),
            None => Ok(n + 1),
        })
    }
}

fn succeeds(result: Result<u64, Error>) {
    assert_eq!(result.unwrap(), 2);
}

fn fails(result: Result<u64, Error>) {
    assert_eq!(result.unwrap_err().kind(), Kind::Credit);
}

fn per_call<S>(name: &str, expected: usize, mut service: S, check: fn(Result<u64, Error>))
where
    S: Service<u64, Response = u64, Error = Error>,
{
    let mut work = || check(black_box(ask(&mut service, black_box(1))));
    work();
    let region = Region::new(ALLOCATOR);
    (0..CALLS).for_each(|_| work());
    let change = region.change();
    assert_eq!(change.allocations, expected * CALLS, "{name}: allocations");
    assert_eq!(change.deallocations, expected * CALLS, "{name}: deallocations");
    assert_eq!(change.reallocations, 0, "{name}: reallocations");
}

fn ask<S: Service<u64>>(service: &mut S, n: u64) -> Result<S::Response, S::Error> {
    let cx = &mut Cx::from_waker(Waker::noop());
    assert!(service.poll_ready(cx).is_ready());
    match pin!(service.call(n)).poll(cx) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("the model answers at once"),
    }
}
