//! Behaviour, through the public API. No test sleeps for real but where a real socket is the point.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, unreachable_pub)]

#[cfg(all(feature = "tonic", feature = "reqwest"))]
mod adapters;
mod attack;
#[cfg(feature = "reqwest")]
mod cases;
mod circuit_breaker;
mod classify;
mod client;
mod concurrency_limit;
mod contract;
mod corpus;
mod dialects;
mod explain;
mod failover;
mod fake;
mod floors;
#[cfg(feature = "reqwest")]
mod hostile;
mod observe;
mod paced;
mod provider;
mod recovery;
mod retry;
mod serve;
mod sim;
mod sse;
mod stack;
mod streams;
mod timeout;
mod wire;
mod words;

use seawall::Error;
use std::{future::Future, time::Duration};
use tokio::time::Instant;
use tower::{Service, ServiceExt};

/// Ends a test that hangs after an hour of virtual time, which is at once.
async fn guarded(test: impl Future<Output = ()>) {
    tokio::time::timeout(Duration::from_secs(3600), test).await.expect("the test hangs");
}

/// What a future gives, and how long it took by tokio's clock.
async fn timed<T>(future: impl Future<Output = T>) -> (T, Duration) {
    let start = Instant::now();
    let output = future.await;
    (output, start.elapsed())
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// A gate whose circuit never opens, for what is about other layers.
fn unbroken() -> seawall::Gate {
    let gate = seawall::Gate::new();
    gate.force_circuit_closed();
    gate
}

/// One call through a clone, made ready first.
async fn ask<S, Req>(service: &S, request: Req) -> Result<S::Response, Error>
where
    S: Service<Req, Error = Error> + Clone,
{
    service.clone().oneshot(request).await
}
