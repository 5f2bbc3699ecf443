//! What a layer allocates, in a binary of its own, with one thread: the counter is process-wide.
//!
//! No runtime is running, so a success that armed a timer would panic.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

#[path = "alloc/answers.rs"]
mod answers;
#[path = "alloc/events.rs"]
mod events;
#[path = "alloc/requests.rs"]
mod requests;
#[path = "alloc/streams.rs"]
mod streams;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use seawall::{
    Bare, Call, Context, Ending, Error, Gate, Guard, Http, InCall, KeyBy, Kind, Shape, Sink, Stack,
    chat::{self, Chat, Item, Reply},
    circuit_breaker::{CircuitBreakerLayer, Policy as _, Window},
    classify::ClassifyLayer,
    concurrency_limit::ConcurrencyLimitLayer,
    failover::{Failover, Route},
    observe::{ObserveLayer, telemetry},
    provider::{Anthropic, Dialect, Fit, OpenAi},
    recovery::{Recovery, RecoveryLayer},
    retry::RetryLayer,
    timeout::{AttemptTimeoutLayer, DeadlineLayer},
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::{
    alloc::System,
    future::{Future, Ready, ready},
    hint::black_box,
    pin::{Pin, pin},
    task::{Context as Cx, Poll, Waker},
    time::Duration,
};
use tower::{Layer, Service, ServiceBuilder, service_fn};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const CALLS: usize = 1000;

/// A success allocates nothing, and a refusal its one error. A new layer adds its row, and itself to the stacks.
fn main() {
    #[cfg(feature = "metrics")]
    assert!(metrics::set_global_recorder(recorder::Atomics).is_ok());
    observed();
    whole_replies();
    refusals();
    closed_gates();
    names();
    windows();
    stacks();
    http_bodies();
    what_is_not_free();
    answers::are_bounded();
    requests::are_bounded();
    events::are_bounded();
    streams::all();
    long_histories();
}

/// A second attempt sends the very body of the first; a history that grows is joined from the turns that were encoded before.
fn long_histories() {
    const TURNS: usize = 999;
    const TEXT: usize = 2_000;
    fn holds(dialect: &impl Dialect) {
        let turn = |request: chat::Request, at: usize| {
            let called = chat::Message::assistant("x".repeat(TEXT));
            let called = called.tool_call(chat::ToolCall::new(format!("call_{at}"), "look", "{}"));
            request.user("x".repeat(TEXT)).message(called).tool_result(format!("call_{at}"), "x".repeat(TEXT))
        };
        let encoded = |request: &chat::Request| {
            let region = Region::new(ALLOCATOR);
            let encoded = black_box(dialect.encode(black_box(request), &mut Fit::default()).unwrap()).into_body();
            let change = region.change();
            (encoded, change.bytes_allocated + usize::try_from(change.bytes_reallocated).unwrap_or_default())
        };
        let request = (0..TURNS / 3).fold(chat::Request::new("m"), turn);
        let (first, _) = encoded(&request);
        let attempt = request.clone();
        let (again, bytes) = encoded(&attempt);
        assert_eq!((again.as_ptr(), again.len()), (first.as_ptr(), first.len()), "the same bytes in the same place");
        assert!(bytes < 2_048, "{bytes} bytes for a second attempt");
        let (longer, bytes) = encoded(&request.user("And?"));
        assert!(longer.len() > TURNS * TEXT);
        let beside = bytes.saturating_sub(longer.len());
        assert!(beside < TURNS * TEXT / 4, "{beside} bytes beside the body: {} a turn", beside / TURNS);
    }
    holds(&OpenAi::without_key());
    holds(&Anthropic::without_key());
    println!("a history of 1,000 turns: a second attempt copies no text, a longer one encodes what is new");
}

fn whole_replies() {
    let build = ServiceBuilder::new;
    let (deadline, attempt) = (DeadlineLayer::new(Duration::from_secs(60)).unwrap(), AttemptTimeoutLayer::new());
    let breaker = CircuitBreakerLayer::new();
    let (retry, classify) = (RetryLayer::new(), ClassifyLayer::with(|error: Error| error));

    let row = |name, allocations| Row { name, allocations };
    row("no layer", 0).holds(Model(None), || 1, succeeds);
    row("classify", 0).holds(build().layer(classify.clone()).service(Model(None)), || 1, succeeds);
    row("retry", 0).holds(build().layer(retry.clone()).service(Model(None)), || 1, succeeds);
    let (limit, unlimited) = (ConcurrencyLimitLayer::new(1).unwrap(), ConcurrencyLimitLayer::unlimited());
    row("concurrency limit", 0).holds(build().layer(limit.clone()).service(Model(None)), || 1, succeeds);
    row("concurrency limit, none", 0).holds(build().layer(unlimited).service(Model(None)), || 1, succeeds);
    let recovery = |recovery| RecoveryLayer::new(recovery);
    row("recovery, none", 0).holds(build().layer(recovery(Recovery::Fail)).service(Model(None)), || 1, succeeds);
    let buffered = recovery(Recovery::BufferThenRestart);
    row("recovery", 0).holds(build().layer(buffered.clone()).service(Model(None)), || 1, succeeds);
    row("timeout: deadline", 0).holds(build().layer(deadline.clone()).service(Model(None)), || 1, succeeds);
    row("timeout: attempt", 0).holds(build().layer(attempt.clone()).service(Model(None)), || 1, succeeds);

    row("circuit breaker", 0).holds(build().layer(breaker.clone()).service(Model(None)), || 1, succeeds);
    let keyed = breaker.clone().shape(KeyBy::new(Bare, |_: &u64| Some("model")));
    row("circuit breaker, keyed", 0).holds(build().layer(keyed).service(Model(None)), || 1, succeeds);

    let all =
        build().layer(deadline).layer(retry).layer(buffered).layer(breaker).layer(limit).layer(attempt).layer(classify);
    row("failover: two routes by `then`", 0).holds(Failover::new(Model(None)).then(Model(None)), || 1, succeeds);
    let list = Failover::list(vec![Route::new(Model(None)), Route::new(Model(None))]).unwrap();
    row("failover: a list of two routes", 0).holds(list, || 1, succeeds);

    row("all layers", 0).holds(all.service(Model(None)), || 1, succeeds);
    let refused = Model(Some(Kind::Credit));
    row("all layers, refused below", 1).holds(all.service(refused), || 1, |result| fails(result, Kind::Credit));
}

/// With a recorder installed, and no subscriber of `tracing`.
fn observed() {
    let shape = || KeyBy::new(Bare, |_: &u64| Some("gpt"));
    let heard = Sink::new(|event| {
        black_box(event);
    });
    let sink = telemetry().and(&heard);
    let operation = ObserveLayer::operation().sink(sink.clone()).shape(shape());
    let attempt = ObserveLayer::attempt().route("openai").sink(sink.clone()).shape(shape());
    let stack = ServiceBuilder::new().layer(operation).layer(RetryLayer::new().sink(sink.clone())).layer(attempt);

    let row = |name, allocations| Row { name, allocations };
    row("observe", 0).holds(stack.service(Model(None)), || 1, succeeds);
    let limited = Model(Some(Kind::LocalLimit));
    row("observe, refused below", 1).holds(stack.service(limited), || 1, |result| fails(result, Kind::LocalLimit));

    let operation = ObserveLayer::operation().sink(sink.clone()).shape(Http);
    let attempt = ObserveLayer::attempt().route("openai").sink(sink).shape(Http);
    let stack = ServiceBuilder::new().layer(operation).layer(RetryLayer::new().shape(Http)).layer(attempt);
    let stack = stack.layer(ClassifyLayer::http());
    row("observe, http", 0).holds(stack.service(Model(None)), || Request::new(()), |result| read(result.unwrap()));
}

fn refusals() {
    let build = ServiceBuilder::new;
    let over = Context::default().with_timeout(Duration::ZERO);
    let late = move || Call { context: over, request: 1 };
    let fresh = || Call { context: Context::default(), request: 1 };
    let spent = || Call { context: Context::default().with_sends_left(0), request: 1 };
    let deadline = DeadlineLayer::new(Duration::from_secs(60)).unwrap().shape(InCall(Bare));
    let attempt = AttemptTimeoutLayer::new().shape(InCall(Bare));
    let retry = RetryLayer::new().shape(InCall(Bare));

    let row = |name| Row { name, allocations: 1 };
    let is_late = |result| fails(result, Kind::Deadline);
    row("timeout: deadline, passed").holds(build().layer(deadline).service(Model(None)), late, is_late);
    row("timeout: attempt, too late").holds(build().layer(attempt).service(Model(None)), late, is_late);
    let retrying = build().layer(retry).service(Model(None));
    let full = ConcurrencyLimitLayer::new(1).unwrap().shape(InCall(Bare));
    let held = full.layer(Model(None)).call(spent());
    let beside = || Call { context: Context::default().with_others(true), request: 1 };
    let is_full = |result| fails(result, Kind::LocalLimit);
    row("concurrency limit, full").holds(build().layer(full.clone()).service(Model(None)), beside, is_full);
    row("concurrency limit, full and too late").holds(build().layer(full).service(Model(None)), late, is_late);
    drop(held);
    let failover = Failover::new(Model(None)).then(Model(None)).shape(InCall(Bare));
    row("failover, no sends left").holds(failover.clone(), spent, |result| fails(result, Kind::SendsExhausted));
    row("failover, too late").holds(failover, late, is_late);
    let refusing = Model(Some(Kind::Credit));
    row("failover, refused for good").holds(
        Failover::new(refusing.clone()).then(refusing).shape(InCall(Bare)),
        fresh,
        |result| fails(result, Kind::Credit),
    );
    row("retry, no sends left").holds(retrying, spent, |result| fails(result, Kind::SendsExhausted));
}

/// Whole, with a recorder installed and a listener of one's own.
fn stacks() {
    let listener = Sink::new(|event| {
        black_box(event);
    });
    let row = |name, allocations| Row { name, allocations };
    let day = Duration::from_secs(86_400);
    let lone = |model| Stack::bare(model).key_by(|_: &u64| Some("model")).sink(listener.clone());
    row("Stack::bare", 0).holds(Stack::bare(Model(None)).build().unwrap(), || 1, succeeds);
    row("Stack::bare, everything set", 0).holds(
        lone(Model(None)).deadline(day).concurrency(8).build().unwrap(),
        || 1,
        succeeds,
    );
    let two = || Stack::bare(Model(None)).then(Model(None)).on_429().on_failure();
    row("Stack::bare, two routes", 0).holds(two().build().unwrap(), || 1, succeeds);
    row("Stack::bare, two routes in rounds", 0).holds(two().rounds(2).build().unwrap(), || 1, succeeds);
    let list = vec![Route::new(Model(None)), Route::new(Model(None))];
    row("Stack::list, two routes", 0).holds(Stack::list(Bare, list).on_429().build().unwrap(), || 1, succeeds);

    let opens = Window::default().consecutive(1).unwrap();
    let broken = lone(Model(Some(Kind::Timeout))).max_retries(0).circuit(opens).open_for(day, day);
    let mut broken = broken.build().unwrap();
    fails(ask(&mut broken, 1), Kind::Timeout);
    row("Stack::bare, circuit open", 1).holds(broken, || 1, |result| fails(result, Kind::CircuitOpen));
    // With retries, a wait that is too long for the call ends it at once.
    let gate = Gate::new();
    let cooling = Stack::bare(Model(None)).gate(&gate).build().unwrap();
    gate.cool_down(day);
    row("Stack::bare, cooling down", 1).holds(cooling, || 1, |result| fails(result, Kind::CoolingDown));
}

/// What circuits, gates, labels and meters keep of the models that callers name, whatever they name.
fn names() {
    const NAMES: usize = 100_000;
    let broken = || service_fn(|_: String| ready(Err::<u64, _>(Error::provider(Kind::Server))));
    let window = Window::calls(10).unwrap().consecutive(1).unwrap();
    let stack = Stack::bare(broken()).then(broken()).on_failure().max_retries(0).circuit(window);
    let mut stack = stack.key_by(|name: &String| Some(name)).build().unwrap();
    let mut kept = |names: &mut dyn Iterator<Item = String>| {
        let region = Region::new(ALLOCATOR);
        names.for_each(|name| _ = black_box(ask(&mut stack, name)));
        let change = region.change();
        change.bytes_allocated.cast_signed() - change.bytes_deallocated.cast_signed()
    };
    let first = kept(&mut (0..1000).map(|name| format!("model {name}")));
    let more = kept(&mut (0..NAMES).map(|name| format!("another model {name}")));
    let long = kept(&mut (0..100).map(|name| format!("{name}{}", "x".repeat(1 << 20))));
    println!("two routes keep {first} bytes of 1,000 names, {more} of {NAMES} more, {long} of 100 that are a megabyte");
    assert!(first < 1 << 20 && more < 1 << 16 && long < 1 << 16);
}

/// The failure that opened a circuit was copied once, and is shared by its refusals.
fn closed_gates() {
    let row = |name| Row { name, allocations: 1 };
    let around = |model, gate: &Gate| {
        let policy = Window::default().consecutive(1).unwrap();
        let day = Duration::from_secs(86_400);
        let layer = CircuitBreakerLayer::new().gate(gate).policy(policy).open_for(day, day).unwrap();
        ServiceBuilder::new().layer(layer).service(model)
    };
    let is_open = |result: Result<u64, Error>| {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), Kind::CircuitOpen);
        assert_eq!(error.root().map(Error::kind), Some(Kind::Timeout));
    };
    let mut broken = around(Model(Some(Kind::Timeout)), &Gate::new());
    fails(ask(&mut broken, 1), Kind::Timeout);
    row("circuit breaker, open").holds(broken, || 1, is_open);

    let gate = Gate::new();
    let cooling = around(Model(None), &gate);
    gate.cool_down(Duration::from_secs(86_400));
    row("circuit breaker, cooling down").holds(cooling, || 1, |result| fails(result, Kind::CoolingDown));
    let forced = Gate::new();
    let service = around(Model(None), &forced);
    forced.force_circuit_open();
    row("circuit breaker, kept open").holds(service, || 1, |result| fails(result, Kind::CircuitOpen));
}

/// A window of time has the same few buckets whatever it holds, so no outcome can look at more; nor does one allocate.
fn windows() {
    let now = tokio::time::Instant::now();
    for mut window in [Window::default(), Window::calls(1000).unwrap()] {
        let memory = |window: &Window| {
            let region = Region::new(ALLOCATOR);
            drop(black_box(window.clone()));
            region.change().bytes_allocated
        };
        let empty = memory(&window);
        let region = Region::new(ALLOCATOR);
        for n in 0..100_000 {
            black_box(window.success(now + Duration::from_micros(100 * n), None));
        }
        assert_eq!((region.change().allocations, memory(&window)), (0, empty));
        println!("a window of 100000 calls: {empty} bytes");
    }
}

/// Guards ride in the body, which is read to its end. The deadline is left out: it writes into the extensions.
fn http_bodies() {
    let stack = ServiceBuilder::new()
        .layer(RetryLayer::new().shape(Http))
        .layer(CircuitBreakerLayer::new().shape(Http))
        .layer(ConcurrencyLimitLayer::new(1).unwrap().shape(Http))
        .layer(AttemptTimeoutLayer::new().shape(Http))
        .layer(ClassifyLayer::http())
        .service(Model(None));
    let row = Row { name: "all layers, http", allocations: 0 };
    row.holds(stack, || Request::new(()), |result| read(result.unwrap()));
}

fn read<B: Body<Data = Bytes, Error = Error>>(response: Response<B>) {
    let mut body = pin!(response.into_body());
    let cx = &mut Cx::from_waker(Waker::noop());
    while let Poll::Ready(Some(frame)) = body.as_mut().poll_frame(cx) {
        assert_eq!(frame.unwrap().into_data().unwrap(), "x");
    }
    assert!(body.is_end_stream());
}

/// A stream costs a box for each guard that there is; a contended permit costs tokio's one.
fn what_is_not_free() {
    let one = service_fn(|()| ready(Ok::<_, Error>(Reply::stream(Endless(0)))));
    let row = |name, allocations| Row { name, allocations };
    let streams = |result: Result<Reply, Error>| assert!(result.unwrap().is_stream());
    row("a chat stream", 2).holds(one, || (), streams);
    let unlimited = ConcurrencyLimitLayer::unlimited().shape(Chats);
    row("a chat stream, no concurrency limit", 2).holds(unlimited.layer(one), || (), streams);
    let limited = ConcurrencyLimitLayer::new(1).unwrap().shape(Chats);
    row("a chat stream, concurrency limit", 3).holds(limited.layer(one), || (), streams);

    let limit = ConcurrencyLimitLayer::new(1).unwrap();
    let (mut service, cx) = (limit.layer(Model(None)), &mut Cx::from_waker(Waker::noop()));
    let mut work = || {
        let (held, mut waiting) = (service.call(1), pin!(service.call(1)));
        assert!(waiting.as_mut().poll(cx).is_pending());
        drop(held);
        assert!(waiting.as_mut().poll(cx).is_ready());
    };
    work();
    let region = Region::new(ALLOCATOR);
    (0..CALLS).for_each(|_| work());
    let change = region.change();
    assert_eq!(
        (change.allocations, change.deallocations, change.reallocations),
        (CALLS, CALLS, 0),
        "a contended permit"
    );
    println!("a contended permit: 1 a call");
}

struct Row {
    name: &'static str,
    allocations: usize,
}

impl Row {
    fn holds<S, Req>(self, mut service: S, request: impl Fn() -> Req, check: impl Fn(Result<S::Response, Error>))
    where
        S: Service<Req, Error = Error>,
    {
        let work = |service: &mut S| check(black_box(ask(service, black_box(request()))));
        work(&mut service);
        let region = Region::new(ALLOCATOR);
        (0..CALLS).for_each(|_| work(&mut service));
        let change = region.change();
        assert_eq!(change.allocations, self.allocations * CALLS, "{}: allocations", self.name);
        assert_eq!(change.deallocations, self.allocations * CALLS, "{}: deallocations", self.name);
        assert_eq!(change.reallocations, 0, "{}: reallocations", self.name);
        println!("{}: {} a call", self.name, self.allocations);
    }
}

/// Not of size zero, whose box would cost nothing.
struct Endless(u64);

impl futures_core::Stream for Endless {
    type Item = Result<Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        self.0 += 1;
        Poll::Ready(Some(Ok(Item::Alive)))
    }
}

/// Chats whose requests cost nothing to make.
#[derive(Clone)]
struct Chats;

impl Shape<()> for Chats {}

impl<G: Guard + Send + 'static> Ending<Reply, G> for Chats {
    type Response = Reply;

    fn hold(&self, reply: Reply, guard: G) -> Reply {
        Chat.hold(reply, guard)
    }
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
            Some(kind) if kind.is_refusal() => Err(Error::refusal(kind)),
            Some(kind) => Err(Error::provider(kind)),
            None => Ok(n + 1),
        })
    }
}

impl Service<Call<u64>> for Model {
    type Response = u64;
    type Error = Error;
    type Future = Ready<Result<u64, Error>>;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        Service::<u64>::poll_ready(self, cx)
    }

    fn call(&mut self, call: Call<u64>) -> Self::Future {
        Service::<u64>::call(self, call.request)
    }
}

impl Service<Request<()>> for Model {
    type Response = Response<Full<Bytes>>;
    type Error = Error;
    type Future = Ready<Result<Self::Response, Error>>;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        Service::<u64>::poll_ready(self, cx)
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        ready(Ok(Response::new(Full::new(Bytes::from_static(b"x")))))
    }
}

fn succeeds(result: Result<u64, Error>) {
    assert_eq!(result.unwrap(), 2);
}

fn fails(result: Result<u64, Error>, kind: Kind) {
    assert_eq!(result.unwrap_err().kind(), kind);
}

fn ask<S: Service<Req>, Req>(service: &mut S, request: Req) -> Result<S::Response, S::Error> {
    let cx = &mut Cx::from_waker(Waker::noop());
    assert!(service.poll_ready(cx).is_ready());
    match pin!(service.call(request)).poll(cx) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("the model answers at once"),
    }
}

/// Handles that count, as those of an exporter do.
#[cfg(feature = "metrics")]
mod recorder {
    use metrics::{Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit};
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    };

    pub(super) struct Atomics;

    struct Total(AtomicU64);

    impl HistogramFn for Total {
        fn record(&self, value: f64) {
            self.0.fetch_add(value.to_bits(), Relaxed);
        }
    }

    impl Recorder for Atomics {
        fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
            Counter::from_arc(Arc::new(AtomicU64::new(0)))
        }
        fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
            Gauge::from_arc(Arc::new(AtomicU64::new(0)))
        }
        fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
            Histogram::from_arc(Arc::new(Total(AtomicU64::new(0))))
        }
    }
}
