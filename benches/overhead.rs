//! What each layer costs a success: nanoseconds and allocations a call, beside tower's own layers.
//!
//! `cargo bench`, or `cargo bench -- --test` for a short run that only shows that it works.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

use std::{
    alloc::System,
    future::{Future, Ready, ready},
    hint::black_box,
    pin::pin,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use seawall::{
    Error, Stack,
    classify::ClassifyLayer,
    observe::{ObserveLayer, telemetry},
    retry::RetryLayer,
    timeout::{AttemptTimeoutLayer, DeadlineLayer},
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tower::{Layer, Service, limit::ConcurrencyLimitLayer, retry, timeout::TimeoutLayer};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The best of so many rounds, as a busy machine only ever adds.
const ROUNDS: u32 = 20;

#[derive(Clone)]
struct Model;

impl Service<u64> for Model {
    type Response = u64;
    type Error = Error;
    type Future = Ready<Result<u64, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, n: u64) -> Self::Future {
        ready(Ok(n + 1))
    }
}

/// tower's retry with a policy that never repeats, to compare what being there costs.
#[derive(Clone)]
struct Once;

impl<E> retry::Policy<u64, u64, E> for Once {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut u64, _: &mut Result<u64, E>) -> Option<Ready<()>> {
        None
    }

    fn clone_request(&mut self, request: &u64) -> Option<u64> {
        Some(*request)
    }
}

fn main() {
    let calls = if std::env::args().any(|argument| argument == "--test") { 100 } else { 100_000 };
    // Timers of tower's are made with each call, and want a runtime.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _entered = runtime.enter();
    let minute = Duration::from_secs(60);

    println!("{:<28}{:>10}{:>14}{:>14}", "a success through", "ns", "allocations", "future bytes");
    row("no layer", calls, Model);
    row("classify", calls, ClassifyLayer::with(|error: Error| error).layer(Model));
    let sink = telemetry();
    row("observe: operation", calls, ObserveLayer::operation().sink(sink.clone()).layer(Model));
    row("observe: attempt", calls, ObserveLayer::attempt().route("a").sink(sink).layer(Model));
    row("retry", calls, RetryLayer::new().layer(Model));
    row("timeout: attempt", calls, AttemptTimeoutLayer::new().layer(Model));
    row("timeout: deadline", calls, DeadlineLayer::new(minute).unwrap().layer(Model));
    row("Stack::bare", calls, Stack::bare(Model).build().unwrap());
    row("Stack::bare, deadline", calls, Stack::bare(Model).deadline(minute).build().unwrap());
    row("tower: Retry", calls, retry::RetryLayer::new(Once).layer(Model));
    row("tower: Timeout", calls, TimeoutLayer::new(minute).layer(Model));
    row("tower: ConcurrencyLimit", calls, ConcurrencyLimitLayer::new(1).layer(Model));
}

fn row<S: Service<u64, Response = u64, Error: std::fmt::Debug>>(name: &str, calls: u32, mut service: S) {
    let cx = &mut Context::from_waker(Waker::noop());
    let mut size = 0;
    let mut round = || {
        let (region, start) = (Region::new(ALLOCATOR), Instant::now());
        for n in 0..calls {
            assert!(service.poll_ready(cx).is_ready());
            let future = service.call(black_box(n.into()));
            size = size_of_val(&future);
            match pin!(future).poll(cx) {
                Poll::Ready(result) => assert_eq!(result.unwrap(), u64::from(n) + 1),
                Poll::Pending => unreachable!("the model answers at once"),
            }
        }
        (start.elapsed() / calls, region.change().allocations / calls as usize)
    };
    let (nanos, allocations) = (0..ROUNDS).map(|_| round()).min().unwrap();
    println!("{name:<28}{:>10}{allocations:>14}{size:>14}", nanos.as_nanos());
}
