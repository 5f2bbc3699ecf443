//! What each layer costs a call that succeeds at once: nanoseconds, instructions, allocations and the size of its future,
//! beside tower's own layers; and what they cost each event of a stream.
//!
//! `cargo bench --bench overhead`, or with `-- --test` a short run that only shows that it works. A new layer is one line of
//! [`SEAWALL`], and one of [`STREAMS`] where it leaves something in an answer.
//!
//! Instructions are counted where valgrind is installed: this program runs itself under callgrind, once for so many calls
//! and once for twice as many, and the difference belongs to the calls alone. They are the steadier number: a busy
//! machine takes longer, and does the same.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

use std::{
    alloc::System,
    env,
    future::{Future, Ready, ready},
    hint::black_box,
    pin::{Pin, pin},
    process::Command,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use seawall::{
    Bare, Error, KeyBy, Stack,
    chat::{Chat, Item, Reply, Request},
    circuit_breaker::CircuitBreakerLayer,
    classify::ClassifyLayer,
    concurrency_limit::ConcurrencyLimitLayer,
    failover::{Failover, Route},
    observe::{ObserveLayer, telemetry},
    recovery::{Recovery, RecoveryLayer},
    retry::RetryLayer,
    timeout::{AttemptTimeoutLayer, DeadlineLayer},
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tower::{Layer, Service, limit, retry, timeout};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// A name, and what so many calls through it cost.
type Row = (&'static str, fn(u32) -> Cost);

const TOWER: &[Row] = &[
    ("no layer", |calls| cost(calls, Model)),
    ("Retry", |calls| cost(calls, retry::RetryLayer::new(Once).layer(Model))),
    ("ConcurrencyLimit", |calls| cost(calls, limit::ConcurrencyLimitLayer::new(1).layer(Model))),
    ("Timeout", |calls| cost(calls, timeout::TimeoutLayer::new(MINUTE).layer(Model))),
];

const SEAWALL: &[Row] = &[
    ("classify", |calls| cost(calls, ClassifyLayer::with(|error: Error| error).layer(Model))),
    ("retry", |calls| cost(calls, RetryLayer::new().layer(Model))),
    ("circuit breaker", |calls| cost(calls, CircuitBreakerLayer::new().layer(Model))),
    ("circuit breaker, keyed", |calls| {
        let by_model = KeyBy::new(Bare, |_: &u64| Some("model"));
        cost(calls, CircuitBreakerLayer::new().shape(by_model).layer(Model))
    }),
    ("failover: two by `then`", |calls| cost(calls, Failover::new(Model).then(Model))),
    ("failover: a list of two", |calls| {
        cost(calls, Failover::list([(); 2].map(|()| Route::new(Model)).into()).unwrap())
    }),
    ("observe: operation", |calls| cost(calls, ObserveLayer::operation().sink(telemetry()).layer(Model))),
    ("observe: attempt", |calls| cost(calls, ObserveLayer::attempt().route("a").sink(telemetry()).layer(Model))),
    ("concurrency limit", |calls| cost(calls, ConcurrencyLimitLayer::new(1).unwrap().layer(Model))),
    ("concurrency limit, none", |calls| cost(calls, ConcurrencyLimitLayer::unlimited().layer(Model))),
    ("recovery, none", |calls| cost(calls, RecoveryLayer::new(Recovery::Fail).layer(Model))),
    ("recovery", |calls| cost(calls, RecoveryLayer::new(Recovery::BufferThenRestart).layer(Model))),
    ("timeout: attempt", |calls| cost(calls, AttemptTimeoutLayer::new().layer(Model))),
    ("timeout: deadline", |calls| cost(calls, DeadlineLayer::new(MINUTE).unwrap().layer(Model))),
    ("Stack::bare", |calls| cost(calls, Stack::bare(Model).build().unwrap())),
    ("Stack::bare, deadline", |calls| cost(calls, Stack::bare(Model).deadline(MINUTE).build().unwrap())),
    ("Stack::bare, two routes", |calls| cost(calls, Stack::bare(Model).then(Model).on_429().build().unwrap())),
    ("Stack::list, two routes", |calls| {
        cost(calls, Stack::list(Bare, [(); 2].map(|()| Route::new(Model)).into()).on_429().build().unwrap())
    }),
];

/// What so many events of one stream cost.
const STREAMS: &[Row] = &[
    ("stream, no layer", |events| events_cost(events, Speaker(events))),
    ("stream, circuit breaker", |events| {
        events_cost(events, CircuitBreakerLayer::new().shape(Chat).layer(Speaker(events)))
    }),
    ("stream, observe: attempt", |events| {
        let layer = ObserveLayer::attempt().route("a").sink(telemetry()).shape(Chat);
        events_cost(events, layer.layer(Speaker(events)))
    }),
    ("stream, concurrency limit", |events| {
        events_cost(events, ConcurrencyLimitLayer::new(1).unwrap().shape(Chat).layer(Speaker(events)))
    }),
    ("stream, timeout: attempt", |events| {
        events_cost(events, AttemptTimeoutLayer::new().shape(Chat).layer(Speaker(events)))
    }),
    ("stream, recovery", |events| {
        events_cost(events, RecoveryLayer::new(Recovery::BufferThenRestart).shape(Chat).layer(Speaker(events)))
    }),
    ("stream, Stack::chat", |events| events_cost(events, Stack::chat(Speaker(events)).build().unwrap())),
    ("stream, Stack::chat, all set", |events| {
        let two = Stack::chat(Speaker(events)).then(Speaker(events)).on_failure();
        events_cost(events, two.deadline(MINUTE).concurrency(8).build().unwrap())
    }),
];

const MINUTE: Duration = Duration::from_secs(60);
/// The best of so many rounds, as a busy machine only ever adds.
const ROUNDS: u32 = 20;
const CALLS: u32 = 100_000;
/// Every one takes the same instructions, so a few will do.
const COUNTED: u32 = 1000;
/// Tells this program to make calls and nothing else: `--calls 1000 retry`.
const CHILD: &str = "--calls";

fn main() {
    // Timers of tower's are made with each call, and want a runtime.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _entered = runtime.enter();
    let arguments: Vec<_> = env::args().skip(1).collect();
    if let [child, calls, name] = &*arguments
        && child == CHILD
    {
        let (_, run) = TOWER.iter().chain(SEAWALL).chain(STREAMS).find(|(row, _)| row == name).unwrap();
        run(calls.parse().unwrap());
        return;
    }

    let is_short = arguments.iter().any(|argument| argument == "--test");
    let (rounds, calls) = if is_short { (1, 100) } else { (ROUNDS, CALLS) };
    let mut counter = if is_short { Err("this is a short run".to_owned()) } else { valgrind() };
    for (group, rows) in [("tower", TOWER), ("seawall", SEAWALL), ("seawall, an event", STREAMS)] {
        println!("{group:<30}{:>10}{:>16}{:>14}{:>14}", "ns", "instructions", "allocations", "future bytes");
        for (name, run) in rows {
            let best = (0..rounds).map(|_| run(calls)).min_by_key(|cost| cost.time).unwrap();
            let instructions = counter.as_ref().ok().map(|()| instructions(name));
            let shown = match instructions {
                Some(Ok(instructions)) => instructions.to_string(),
                Some(Err(reason)) => {
                    counter = Err(reason);
                    "-".to_owned()
                }
                None => "-".to_owned(),
            };
            let (nanos, allocations) = (best.time.as_nanos() / u128::from(calls), best.allocations / calls as usize);
            println!("  {name:<28}{nanos:>10}{shown:>16}{allocations:>14}{:>14}", best.future);
        }
        println!();
    }
    println!(
        "Each is a call that succeeds at once, with the loop around it, or an event of a stream that is read to its end."
    );
    println!("Take `no layer` off for the layer's own.");
    println!("ns: the mean of {calls} calls, in the best of {rounds} rounds.");
    match counter {
        Ok(()) => println!("instructions: in user space, as valgrind counts them; the mean of {COUNTED} calls."),
        Err(reason) => println!("instructions: not counted, {reason}."),
    }
    println!("allocations: a call's own, in whole ones. future bytes: the size of the future that `call` gives.");
}

struct Cost {
    time: Duration,
    allocations: usize,
    future: usize,
}

fn cost<S: Service<u64, Response = u64, Error: std::fmt::Debug>>(calls: u32, mut service: S) -> Cost {
    let cx = &mut Context::from_waker(Waker::noop());
    let mut call = |n: u32| {
        assert!(service.poll_ready(cx).is_ready());
        let future = service.call(black_box(n.into()));
        let size = size_of_val(&future);
        match pin!(future).poll(cx) {
            Poll::Ready(result) => assert_eq!(result.unwrap(), u64::from(n) + 1),
            Poll::Pending => unreachable!("the model answers at once"),
        }
        size
    };
    // What is made once, at the first call, is no cost of a call.
    let future = call(0);
    let (region, start) = (Region::new(ALLOCATOR), Instant::now());
    for n in 0..calls {
        call(n);
    }
    Cost { time: start.elapsed(), allocations: region.change().allocations, future }
}

/// Of the events of one stream. The reader's own work is in it: it puts the text together.
fn events_cost<S: Service<Request, Response = Reply, Error = Error>>(events: u32, mut service: S) -> Cost {
    let cx = &mut Context::from_waker(Waker::noop());
    let asked = Request::new("m").user("Count.").stream();
    let (region, start) = (Region::new(ALLOCATOR), Instant::now());
    assert!(service.poll_ready(cx).is_ready());
    let mut future = pin!(service.call(asked));
    let size = size_of_val(&*future);
    let mut reply = loop {
        // One that is read first gives the runtime its turns.
        if let Poll::Ready(reply) = future.as_mut().poll(cx) {
            break reply.unwrap();
        }
    };
    assert!(matches!(pin!(reply.read()).poll(cx), Poll::Ready(Ok(()))));
    let cost = Cost { time: start.elapsed(), allocations: region.change().allocations, future: size };
    assert_eq!(black_box(reply).text().len(), events as usize);
    cost
}

/// Whether there is a valgrind, or why there are no numbers of it.
fn valgrind() -> Result<(), String> {
    let version = Command::new("valgrind").arg("--version").output();
    match version.map_err(|error| error.to_string()) {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("valgrind ended with {}", output.status)),
        Err(error) => Err(format!("valgrind was not found ({error})")),
    }
}

/// The instructions of one call.
fn instructions(name: &str) -> Result<u64, String> {
    let (once, twice) = (collected(name, COUNTED)?, collected(name, 2 * COUNTED)?);
    Ok(twice.saturating_sub(once) / u64::from(COUNTED))
}

/// The instructions of this program from its start to its end, for so many calls.
fn collected(name: &str, calls: u32) -> Result<u64, String> {
    let this = env::current_exe().map_err(|error| error.to_string())?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    let output = valgrind.arg(this).args([CHILD, &calls.to_string(), name]).output();
    let output = output.map_err(|error| error.to_string())?;
    let told = String::from_utf8_lossy(&output.stderr);
    let last = || told.lines().last().unwrap_or_default().to_owned();
    // `==123== Collected : 4567`
    let count = told.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    count
        .filter(|_| output.status.success())
        .ok_or_else(|| format!("callgrind on `{name}`: {} {}", output.status, last()))
}

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

/// Streams so many tokens.
#[derive(Clone)]
struct Speaker(u32);

impl Service<Request> for Speaker {
    type Response = Reply;
    type Error = Error;
    type Future = Ready<Result<Reply, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        ready(Ok(Reply::stream(Tokens(self.0, "x".into()))))
    }
}

struct Tokens(u32, Arc<str>);

impl futures_core::Stream for Tokens {
    type Item = Result<Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(left) = self.0.checked_sub(1) else { return Poll::Ready(Some(Ok(Item::End))) };
        self.0 = left;
        Poll::Ready(Some(Ok(Item::Text(Arc::clone(&self.1)))))
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
