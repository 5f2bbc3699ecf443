//! What a layer allocates, in a binary of its own, with one thread: the counter is process-wide.
//!
//! No runtime is running, so a success that armed a timer would panic.
#![allow(missing_docs, clippy::unwrap_used)]

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use seawall::{
    Bare, Call, Context, Error, Http, InCall, KeyBy, Kind, Sink, Stack, chat,
    classify::ClassifyLayer,
    observe::{ObserveLayer, telemetry},
    provider::OpenAi,
    retry::RetryLayer,
    timeout::{AttemptTimeoutLayer, DeadlineLayer},
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::{
    alloc::System,
    convert::Infallible,
    future::{Future, Ready, ready},
    hint::black_box,
    pin::pin,
    task::{Context as Cx, Poll, Waker},
    time::Duration,
};
use tower::{Service, ServiceBuilder, service_fn};

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
    http_bodies();
    answers_of_many_parts();
}

/// Answers made to take many times their size in memory: counted is all that was ever asked for, freed or not.
fn answers_of_many_parts() {
    const BYTES: usize = 1 << 20;
    for part in [r#"{"a":0},"#, "0,", "{},", r#"{"message":{}},"#] {
        for (open, close) in [(r#"{"choices":["#, r#"{}]}"#), (r#"{"choices":[{"message":{"content":["#, r#"{}]}}]}"#)]
        {
            let body = Bytes::from([open, &part.repeat(BYTES / part.len()), close].concat());
            let canned = service_fn(|_: Request<Full<Bytes>>| {
                ready(Ok::<_, Infallible>(Response::new(Full::new(body.clone()))))
            });
            let mut client = OpenAi::without_key().over(canned);
            let region = Region::new(ALLOCATOR);
            let _ = black_box(ask(&mut client, chat::Request::new("m").user("x")));
            let change = region.change();
            let asked = change.bytes_allocated + usize::try_from(change.bytes_reallocated).unwrap_or_default();
            assert!(asked < 4 * BYTES, "{part} in {open}: {asked} bytes for an answer of {BYTES}");
        }
    }
    println!("answers of many parts: below four times their size");
}

fn whole_replies() {
    let build = ServiceBuilder::new;
    let (deadline, attempt) = (DeadlineLayer::new(Duration::from_secs(60)).unwrap(), AttemptTimeoutLayer::new());
    let (retry, classify) = (RetryLayer::new(), ClassifyLayer::with(|error: Error| error));

    let row = |name, allocations| Row { name, allocations };
    row("no layer", 0).holds(Model(None), || 1, succeeds);
    row("classify", 0).holds(build().layer(classify.clone()).service(Model(None)), || 1, succeeds);
    row("retry", 0).holds(build().layer(retry.clone()).service(Model(None)), || 1, succeeds);
    row("timeout: deadline", 0).holds(build().layer(deadline.clone()).service(Model(None)), || 1, succeeds);
    row("timeout: attempt", 0).holds(build().layer(attempt.clone()).service(Model(None)), || 1, succeeds);

    let all = build().layer(deadline).layer(retry).layer(attempt).layer(classify);
    row("all layers", 0).holds(all.service(Model(None)), || 1, succeeds);
    row("Stack::bare", 0).holds(Stack::bare(Model(None)).build().unwrap(), || 1, succeeds);
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
    let spent = || Call { context: Context::default().with_sends_left(0), request: 1 };
    let deadline = DeadlineLayer::new(Duration::from_secs(60)).unwrap().shape(InCall(Bare));
    let attempt = AttemptTimeoutLayer::new().shape(InCall(Bare));
    let retry = RetryLayer::new().shape(InCall(Bare));

    let row = |name| Row { name, allocations: 1 };
    let is_late = |result| fails(result, Kind::Deadline);
    row("timeout: deadline, passed").holds(build().layer(deadline).service(Model(None)), late, is_late);
    row("timeout: attempt, too late").holds(build().layer(attempt).service(Model(None)), late, is_late);
    let retrying = build().layer(retry).service(Model(None));
    row("retry, no sends left").holds(retrying, spent, |result| fails(result, Kind::SendsExhausted));
}

/// Guards ride in the body, which is read to its end. The deadline is left out: it writes into the extensions.
fn http_bodies() {
    let stack = ServiceBuilder::new()
        .layer(RetryLayer::new().shape(Http))
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
