//! What a recorder of `metrics` is told. It is one of the thread, as is each test's runtime.
use super::{Log, attempt, routes, talkative, usage, whole};
use crate::{ask, fake::*, guarded, seconds};
use http::{Request as HttpRequest, Response, header::ACCEPT};
use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, LocalRecorderGuard, Metadata, Recorder,
    SharedString, Unit, set_default_local_recorder,
};
use seawall::{
    Bare, Error, Gate, GaveUp, Http, KeyBy, Kind, Phase, Stack, Usage, What,
    chat::{Chat, Request},
    circuit_breaker::Window,
    observe::{ObserveLayer, telemetry, telemetry_of},
    retry::RetryLayer,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};

/// Every value that was told, by `name{label=value,…}`.
#[derive(Clone, Default)]
pub(super) struct Told(Arc<Mutex<BTreeMap<String, Vec<f64>>>>, Arc<Mutex<Vec<String>>>);

struct Series(Told, String);

impl Told {
    pub(super) fn listen() -> (Self, LocalRecorderGuard<'static>) {
        let told = Self::default();
        let guard = set_default_local_recorder(Box::leak(Box::new(told.clone())));
        (told, guard)
    }

    fn series(&self, key: &Key) -> Arc<Series> {
        let labels: Vec<_> = key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        Arc::new(Series(self.clone(), format!("{}{{{}}}", key.name(), labels.join(","))))
    }

    fn get(&self, series: &str) -> Vec<f64> {
        self.0.lock().unwrap().get(series).cloned().unwrap_or_default()
    }

    fn count(&self, series: &str) -> f64 {
        self.get(series).iter().sum()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.0.lock().unwrap().keys().cloned().collect()
    }

    /// Kind, name and unit of each metric that was described.
    pub(super) fn described(&self) -> Vec<String> {
        self.1.lock().unwrap().clone()
    }

    fn describe(&self, kind: &str, name: &KeyName, unit: Option<Unit>) {
        self.1.lock().unwrap().push(format!("{kind} {} {}", name.as_str(), unit.unwrap().as_str()));
    }
}

impl Series {
    fn tell(&self, value: f64) {
        self.0.0.lock().unwrap().entry(self.1.clone()).or_default().push(value);
    }
}

impl CounterFn for Series {
    fn increment(&self, value: u64) {
        self.tell(value as f64);
    }
    fn absolute(&self, _: u64) {
        unreachable!()
    }
}

impl GaugeFn for Series {
    fn increment(&self, value: f64) {
        self.tell(value);
    }
    fn decrement(&self, value: f64) {
        self.tell(-value);
    }
    fn set(&self, value: f64) {
        self.tell(value);
    }
}

impl HistogramFn for Series {
    fn record(&self, value: f64) {
        self.tell(value);
    }
}

impl Recorder for Told {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe("counter", &name, unit);
    }
    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe("gauge", &name, unit);
    }
    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe("histogram", &name, unit);
    }
    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.series(key))
    }
    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.series(key))
    }
    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.series(key))
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_on_one_route_and_passes_on_the_next_counts_once_and_each_route_for_itself() {
    let (told, _guard) = Told::listen();
    let (sink, log) = (telemetry(), Log::default());
    let sink = sink.and(&log.sink());
    let bad = fake(|_, _| failing::<u32>(Kind::Server));
    let good = fake(|_, n: u32| Now(Ok(n)));
    let service = ServiceBuilder::new()
        .layer(ObserveLayer::operation().sink(sink.clone()))
        .layer(RetryLayer::new().sink(sink.clone()))
        .service(routes(&sink, [("a", bad), ("b", good)]));
    guarded(async { assert_eq!(ask(&service, 7).await.unwrap(), 7) }).await;
    let counters: Vec<_> =
        told.names().into_iter().filter(|name| name.starts_with("seawall") && !name.contains("duration")).collect();
    let all = [
        "seawall.attempts{seawall.route=a,error.type=server}",
        "seawall.attempts{seawall.route=b}",
        "seawall.operations{}",
        "seawall.retries{error.type=server}",
    ];
    assert_eq!(counters, all);
    assert_eq!(all.map(|name| told.count(name)), [1.0; 4]);
    assert_eq!((log.count("attempt"), log.count("operation")), (2, 1), "a listener is told what the meters count");
}

/// Case calls 63, through a stack: A fails and B succeeds.
#[tokio::test(start_paused = true)]
async fn a_stack_that_switches_counts_one_operation_and_two_attempts_each_on_its_own_route() {
    let (told, _guard) = Told::listen();
    let bad = fake(|_, _: u32| failing::<u32>(Kind::RateLimited));
    let stack = Stack::bare(bad).name("a").then(fake(|_, n: u32| Now(Ok(n)))).name("b").on_429().build().unwrap();
    guarded(async { assert_eq!(stack.ask(7).await.unwrap(), 7) }).await;
    let counters: Vec<_> =
        told.names().into_iter().filter(|name| name.starts_with("seawall") && !name.contains("duration")).collect();
    let all = [
        "seawall.attempts{seawall.route=a,error.type=rate_limited}",
        "seawall.attempts{seawall.route=b}",
        "seawall.cool_downs{seawall.route=a,error.type=rate_limited}",
        "seawall.give_ups{seawall.route=a,seawall.reason=others_open}",
        "seawall.operations{}",
        "seawall.switches{seawall.route=a,error.type=rate_limited}",
    ];
    assert_eq!(counters, all);
    assert_eq!(all.map(|name| told.count(name)), [1.0; 6]);
}

/// The gauge says what the circuit does, also where a hand let go of it.
#[tokio::test(start_paused = true)]
async fn the_gauge_of_a_circuit_follows_it() {
    let (told, _guard) = Told::listen();
    let model = fake(|n, _: u32| if n < 2 { failing(Kind::Server) } else { Now(Ok(())) });
    let gate = Gate::new();
    let circuit = Window::default().consecutive(1).unwrap();
    let stack = Stack::bare(model).name("a").gate(&gate).circuit(circuit).max_retries(0).build().unwrap();
    let state = || told.get("seawall.circuit.state{seawall.route=a}");
    guarded(async {
        stack.ask(1).await.unwrap_err();
        tokio::time::advance(seconds(5)).await;
        stack.ask(1).await.unwrap_err();
        assert_eq!(state(), [2.0, 1.0, 2.0]);
        gate.release_circuit();
        stack.ask(1).await.unwrap();
        assert_eq!(state(), [2.0, 1.0, 2.0, 0.0]);
        gate.release_circuit();
        stack.ask(1).await.unwrap();
        assert_eq!(state().len(), 4, "it was closed already");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn durations_and_tokens_go_by_the_names_of_opentelemetry() {
    let (told, _guard) = Told::listen();
    let sink = telemetry();
    let model = fake(|_, _: Request| After(seconds(3), Ok(whole("hello", Usage::new(11, 7)))));
    let service = ServiceBuilder::new()
        .layer(ObserveLayer::operation().sink(sink.clone()).shape(Chat))
        .layer(ObserveLayer::attempt().sink(sink).route("openai").shape(Chat))
        .service(model);
    ask(&service, Request::new("gpt").user("x")).await.unwrap();
    let of = |rest: &str| format!("gen_ai.operation.name=chat{rest}}}");
    let provider = ",gen_ai.provider.name=openai,gen_ai.request.model=gpt";
    let duration = format!("gen_ai.client.operation.duration{{{}", of(",gen_ai.request.model=gpt"));
    let tokens = |kind| format!("gen_ai.client.token.usage{{{}", of(&format!("{provider},gen_ai.token.type={kind}")));
    let attempt = "seawall.attempt.duration{seawall.route=openai,gen_ai.request.model=gpt}";
    assert_eq!([told.get(&duration), told.get(attempt)], [[3.0], [3.0]]);
    assert_eq!([told.get(&tokens("input")), told.get(&tokens("output"))], [[11.0], [7.0]]);
    assert!(!told.names().iter().any(|name| name.contains("first_chunk")), "it was no stream");
    let mut described = told.described();
    assert!(described.contains(&"histogram gen_ai.client.operation.duration seconds".to_owned()), "{described:?}");
    let all = described.len();
    described.sort();
    described.dedup();
    assert_eq!((all, described.len()), (16, 16), "once each");
}

#[tokio::test(start_paused = true)]
async fn tokens_that_nobody_told_are_counted_apart() {
    let (told, _guard) = Told::listen();
    let model = fake(|nth, _: Request| Now(Ok(whole("hello", usage(11, 7, nth > 0)))));
    let service = ObserveLayer::attempt().sink(telemetry()).shape(Chat).layer(model);
    for _ in 0..2 {
        ask(&service, Request::new("gpt").user("x")).await.unwrap();
    }
    let of = |mark: &str| {
        let labels = "gen_ai.operation.name=chat,gen_ai.request.model=gpt,gen_ai.token.type=output";
        told.get(&format!("gen_ai.client.token.usage{{{labels}{mark}}}"))
    };
    assert_eq!([of(""), of(",seawall.usage.estimated=true")], [[7.0], [7.0]]);
}

#[tokio::test(start_paused = true)]
async fn permits_and_those_who_wait_for_them_are_counted_up_and_down() {
    let (told, _guard) = Told::listen();
    let model = fake(|_, n: u32| After(seconds(1), Ok(n)));
    let stack = Stack::bare(model).name("a").concurrency(2).build().unwrap();
    let most = |name: &str| {
        let steps = told.get(&format!("{name}{{seawall.route=a}}"));
        let sums = steps.iter().scan(0.0_f64, |sum, step| {
            *sum += step;
            Some(*sum)
        });
        (sums.fold(0.0, f64::max), told.count(&format!("{name}{{seawall.route=a}}")))
    };
    guarded(async {
        let calls: Vec<_> = (0..5).map(|n| tokio::spawn(stack.clone().oneshot(n))).collect();
        tokio::time::sleep(seconds(1) / 2).await;
        assert_eq!(most("seawall.concurrency.permits"), (2.0, 2.0));
        assert_eq!(most("seawall.concurrency.waiting"), (3.0, 3.0));
        calls.into_iter().for_each(|call| call.abort());
        tokio::time::sleep(seconds(1)).await;
    })
    .await;
    assert_eq!(most("seawall.concurrency.permits"), (2.0, 0.0), "given back by those who left");
    assert_eq!(most("seawall.concurrency.waiting"), (3.0, 0.0));
}

#[tokio::test(start_paused = true)]
async fn the_first_chunk_is_timed_where_a_stream_was_asked_for() {
    let (told, _guard) = Told::listen();
    let body = || super::Parts::<&'static str>(Default::default());
    let model = fake(move |_, _: HttpRequest<()>| After(seconds(2), Ok(Response::new(body()))));
    let service = attempt("a", &telemetry_of("embeddings")).shape(Http).layer(model);
    ask(&service, HttpRequest::new(())).await.unwrap();
    let first = "gen_ai.client.operation.time_to_first_chunk{gen_ai.operation.name=embeddings,gen_ai.provider.name=a}";
    assert_eq!(told.get(first), [0.0; 0]);
    ask(&service, HttpRequest::builder().header(ACCEPT, "text/event-stream").body(()).unwrap()).await.unwrap();
    assert_eq!(told.get(first), [2.0]);
}

#[tokio::test(start_paused = true)]
async fn failures_are_counted_by_kind_and_calls_that_were_left_apart() {
    let (told, _guard) = Told::listen();
    let sink = telemetry();
    let model = fake(|nth, _: u32| match nth {
        0 => Now(Err::<u32, _>(talkative(Kind::Auth))),
        _ => Never,
    });
    let service = ObserveLayer::operation().sink(sink.clone()).layer(attempt("a", &sink).layer(model));
    ask(&service, 7).await.unwrap_err();
    tokio::time::timeout(seconds(5), ask(&service, 7)).await.unwrap_err();
    for kind in ["auth", "left"] {
        assert_eq!(told.count(&format!("seawall.operations{{error.type={kind}}}")), 1.0);
        assert_eq!(told.count(&format!("seawall.attempts{{seawall.route=a,error.type={kind}}}")), 1.0);
    }
    let left = "gen_ai.client.operation.duration{gen_ai.operation.name=chat,error.type=left}";
    assert_eq!(told.get(left), [5.0]);
    let shown = told.names().concat();
    assert!(!shown.contains(super::KEY) && !shown.contains(super::PROMPT), "{shown}");
}

#[test]
fn what_layers_tell_is_counted_by_route() {
    let (told, _guard) = Told::listen();
    let sink = telemetry().route("a");
    let (error, wait) = (&talkative(Kind::Overloaded), seconds(1));
    sink.emit(What::Retrying { error, retry: 1, wait });
    sink.emit(What::GaveUp { error, reason: GaveUp::WaitOverCap(wait) });
    sink.emit(What::TimedOut { phase: Phase::FirstByte, limit: wait });
    sink.emit(What::Switched { error });
    sink.emit(What::CoolingDown { error, wait });
    let counted = [
        "seawall.cool_downs{seawall.route=a,error.type=overloaded}",
        "seawall.give_ups{seawall.route=a,seawall.reason=wait_over_cap}",
        "seawall.retries{seawall.route=a,error.type=overloaded}",
        "seawall.switches{seawall.route=a,error.type=overloaded}",
        "seawall.timeouts{seawall.route=a,seawall.phase=first_byte}",
    ];
    assert_eq!(told.names(), counted);
    assert_eq!(counted.map(|name| told.count(name)), [1.0; 5]);

    let key = Some("m");
    sink.emit(What::CircuitOpened { key, error, wait });
    sink.emit(What::CircuitHalfOpened { key });
    sink.emit(What::CircuitClosed { key });
    sink.emit(What::CircuitOpened { key: None, error, wait });
    let state = "seawall.circuit.state{seawall.route=a,gen_ai.request.model=m}";
    assert_eq!(told.get(state), [2.0, 1.0, 0.0]);
    assert_eq!(told.get("seawall.circuit.state{seawall.route=a}"), [2.0]);
    assert_eq!(told.count("seawall.circuit.openings{seawall.route=a,gen_ai.request.model=m}"), 1.0);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_models_and_routes_do_not_grow_the_meters_without_bound() {
    let (told, _guard) = Told::listen();
    let sink = telemetry();
    let shape = KeyBy::new(Bare, |model: &String| Some(model.as_str()));
    let layer = ObserveLayer::attempt().sink(sink.clone()).route("a").shape(shape);
    let service = layer.layer(service_fn(|_: String| async { Ok::<_, Error>(()) }));
    for n in 0..10_000 {
        ask(&service, format!("m{n}")).await.unwrap();
    }
    let series = |start: &str| told.names().iter().filter(|name| name.starts_with(start)).count();
    assert_eq!(series("seawall.attempts"), 65);
    assert_eq!(told.count("seawall.attempts{seawall.route=a,gen_ai.request.model=other}"), 10_000.0 - 64.0);

    for n in 0..10_000 {
        let (name, key) = (format!("r{n}"), format!("k{n}"));
        sink.route(name).emit(What::CircuitClosed { key: None });
        sink.route("a").emit(What::CircuitClosed { key: Some(&key) });
    }
    assert_eq!(series("seawall.circuit.state"), 64 + 1, "63 routes, the others, and the others' keys of the first");
}

#[tokio::test(start_paused = true)]
async fn sinks_without_a_recorder_count_nothing_and_change_nothing() {
    let service = ObserveLayer::operation().sink(telemetry()).layer(fake(|_, n: u32| Now(Ok(n))));
    assert_eq!(service.oneshot(7).await.unwrap(), 7);
}
