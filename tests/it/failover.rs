//! Failover, in virtual time.
mod bounds;
mod endings;
mod gates;
mod hostile;
mod readiness;
mod requests;
mod switching;

use crate::fake::{Fake, fake};
use seawall::{Bare, Call, Context, Error, Gate, InCall, Kind, retry::Retry, retry::RetryLayer};
use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context as Cx, Poll},
};
use tower::{Layer, Service};

/// A model that answers with its name.
fn named(name: &'static str) -> Fake<u64, &'static str> {
    fake(move |_, _| crate::fake::Now(Ok(name)))
}

/// The same for requests that travel with their context, and the contexts that it saw.
fn seeing(
    answer: impl Fn(u32) -> crate::fake::Answer<u64> + Send + Sync + 'static,
) -> (Fake<Call<u64>, u64>, Arc<Mutex<Vec<Context>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let model = fake(move |n, call: Call<u64>| {
        log.lock().unwrap().push(call.context);
        answer(n)
    });
    (model, seen)
}

fn call(context: Context) -> Call<u64> {
    Call { context, request: 7 }
}

/// A retry as it stands in a route, or around all of them.
fn retrying<S>(inner: S) -> Retry<S, InCall<Bare>> {
    RetryLayer::new().seed(1).shape(InCall(Bare)).layer(inner)
}

/// Stands in for circuit breaker and cool-down: refuses while its gate is closed, and closes it for the waits that are told.
#[derive(Clone)]
struct Gated<S> {
    inner: S,
    gate: Gate,
}

fn gated<S>(inner: S, gate: &Gate) -> Gated<S> {
    Gated { inner, gate: gate.clone() }
}

impl<S, Req> Service<Req> for Gated<S>
where
    S: Service<Req, Error = Error>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let gate = self.gate.clone();
        let refusal = gate.opens_in(None).map(|wait| {
            let kind = if gate.cools_for().is_some() { Kind::CoolingDown } else { Kind::CircuitOpen };
            Error::refusal(kind).with_retry_after(wait)
        });
        let calling = refusal.map_or_else(|| Ok(self.inner.call(request)), Err);
        Box::pin(async move {
            let result = calling?.await;
            if let Some(wait) = result.as_ref().err().and_then(Error::retry_after) {
                gate.cool_down(wait);
            }
            result
        })
    }
}

fn labels(error: &Error) -> Vec<(Kind, &str)> {
    error.trail().attempts().iter().map(|attempt| (attempt.kind(), attempt.route().unwrap_or("?"))).collect()
}
