//! What a subscriber of `tracing` is told. It is one of the thread, as is each test's runtime.
use super::{KEY, PROMPT, attempt, millis, routes, streams, talkative, usage, whole};
use crate::{ask, fake::*, guarded, seconds};
use seawall::{
    Bare, Error, GaveUp, InCall, KeyBy, Kind, Phase, Stack, Usage, What,
    chat::{Chat, Item, Request},
    observe::{ObserveLayer, telemetry},
    retry::RetryLayer,
};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, OnceLock},
};
use tokio::task::JoinSet;
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};
use tracing::{
    Dispatch, Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::{DefaultGuard, set_default},
};

/// Every span that was, and every event.
#[derive(Clone)]
struct Told(Arc<Mutex<Inner>>);

struct Inner {
    most: Level,
    spans: Vec<Seen>,
    events: Vec<Seen>,
    entered: Vec<usize>,
}

#[derive(Clone)]
struct Seen {
    name: String,
    level: Level,
    parent: Option<usize>,
    /// The names of the fields that it may have.
    declared: Vec<&'static str>,
    fields: BTreeMap<&'static str, String>,
    refs: u32,
}

impl Seen {
    fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", |value| value)
    }
}

impl Told {
    fn new(most: Level) -> Self {
        Self(Arc::new(Mutex::new(Inner { most, spans: vec![], events: vec![], entered: vec![] })))
    }

    /// As long as there is but one subscriber, `tracing` takes what the thread of another test says of it for the last word.
    fn listen(most: Level) -> (Self, DefaultGuard) {
        static SECOND: OnceLock<Dispatch> = OnceLock::new();
        SECOND.get_or_init(|| Dispatch::new(Self::new(Level::TRACE)));
        let told = Self::new(most);
        (told.clone(), set_default(told))
    }

    fn spans(&self, name: &str) -> Vec<Seen> {
        let inner = self.0.lock().unwrap();
        assert_eq!(inner.entered, [0; 0], "a span is never left entered");
        inner.spans.iter().filter(|span| span.name == name).cloned().collect()
    }

    fn span(&self, name: &str) -> Seen {
        let mut spans = self.spans(name);
        assert_eq!(spans.len(), 1);
        spans.remove(0)
    }

    fn everything(&self) -> String {
        let inner = self.0.lock().unwrap();
        let all = inner.spans.iter().chain(&inner.events);
        all.flat_map(|seen| seen.fields.values().cloned().chain([seen.name.clone()])).collect()
    }
}

fn at(id: &Id) -> usize {
    usize::try_from(id.into_u64()).unwrap() - 1
}

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Subscriber for Told {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "seawall" && *metadata.level() <= self.0.lock().unwrap().most
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut inner = self.0.lock().unwrap();
        let parent = if span.is_contextual() { inner.entered.last().copied() } else { span.parent().map(at) };
        let mut fields = BTreeMap::new();
        span.record(&mut Fields(&mut fields));
        let (name, level) = (span.metadata().name().to_owned(), *span.metadata().level());
        let declared = span.metadata().fields().iter().map(|field| field.name()).collect();
        inner.spans.push(Seen { name, level, parent, declared, fields, refs: 1 });
        Id::from_u64(inner.spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let fields = &mut self.0.lock().unwrap().spans[at(span)].fields;
        values.record(&mut Fields(fields));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut inner = self.0.lock().unwrap();
        let mut fields = BTreeMap::new();
        event.record(&mut Fields(&mut fields));
        let name = fields.remove("message").unwrap_or_default();
        let (level, parent) = (*event.metadata().level(), inner.entered.last().copied());
        inner.events.push(Seen { name, level, parent, declared: vec![], fields, refs: 0 });
    }

    fn enter(&self, span: &Id) {
        self.0.lock().unwrap().entered.push(at(span));
    }

    fn exit(&self, span: &Id) {
        assert_eq!(self.0.lock().unwrap().entered.pop(), Some(at(span)));
    }

    fn clone_span(&self, span: &Id) -> Id {
        self.0.lock().unwrap().spans[at(span)].refs += 1;
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        let refs = &mut self.0.lock().unwrap().spans[at(&span)].refs;
        *refs -= 1;
        *refs == 0
    }
}

/// The names of the fields of an operation's span, and of an attempt's.
pub(super) async fn declared() -> [Vec<&'static str>; 2] {
    let (told, _guard) = Told::listen(Level::TRACE);
    ask(&Stack::bare(fake(|_, n: u32| Now(Ok(n)))).build().unwrap(), 7).await.unwrap();
    ["operation", "attempt"].map(|name| told.span(name).declared)
}

/// The levels of the lines that are written meanwhile.
pub(super) fn levels(meanwhile: impl FnOnce()) -> Vec<Level> {
    let (told, _guard) = Told::listen(Level::TRACE);
    meanwhile();
    told.0.lock().unwrap().events.iter().map(|event| event.level).collect()
}

#[tokio::test(start_paused = true)]
async fn tokens_that_nobody_told_are_marked() {
    for estimated in [false, true] {
        let (told, _guard) = Told::listen(Level::TRACE);
        let model = fake(move |_, _: Request| Now(Ok(whole("hello", usage(11, 7, estimated)))));
        let stack = Stack::chat(model).build().unwrap();
        drop(stack.ask(Request::new("gpt").user(PROMPT)).await.unwrap());
        for name in ["operation", "attempt"] {
            let mark = told.span(name).field("seawall.usage.estimated").to_owned();
            assert_eq!(mark, if estimated { "true" } else { "" }, "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_has_its_attempts_within_it_and_tells_what_it_went_through() {
    let (told, _guard) = Told::listen(Level::TRACE);
    let sink = telemetry();
    let bad = fake(|_, _: Request| Now(Err(talkative(Kind::Server))));
    let good = fake(|_, _: Request| Now(Ok(whole("hello", Usage::new(11, 7)))));
    let attempts = routes(&sink, [("a", bad), ("b", good)]).0;
    let service = ServiceBuilder::new()
        .layer(ObserveLayer::operation().sink(sink.clone()).shape(Chat))
        .layer(RetryLayer::new().sink(sink).seed(1).shape(Chat))
        .service(super::Routes(attempts, 0));
    guarded(async { drop(ask(&service, Request::new("gpt").user(PROMPT)).await.unwrap()) }).await;

    let operation = told.span("operation");
    assert_eq!((operation.level, operation.parent, operation.refs), (Level::INFO, None, 0));
    let fields = ["otel.name", "otel.kind", "gen_ai.operation.name", "gen_ai.request.model", "seawall.sends"];
    assert_eq!(fields.map(|name| operation.field(name)), ["chat gpt", "client", "chat", "gpt", "2"]);
    let usage = ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "error.type", "otel.status_code"];
    assert_eq!(usage.map(|name| operation.field(name)), ["11", "7", "", ""]);
    assert!(operation.field("seawall.trail").starts_with("server (500) at a, waited "), "{:?}", operation.fields);

    let attempts = told.spans("attempt");
    let shown = ["seawall.route", "error.type", "http.response.status_code"];
    let told_of: Vec<_> = attempts.iter().map(|span| shown.map(|name| span.field(name))).collect();
    assert_eq!(told_of, [["a", "server", "500"], ["b", "", ""]]);
    assert!(attempts.iter().all(|span| span.parent == Some(0) && span.refs == 0));

    let events = told.0.lock().unwrap().events.clone();
    assert_eq!(
        (events.len(), events[0].name.as_str(), events[0].level, events[0].parent),
        (1, "retrying", Level::DEBUG, Some(0))
    );
    let everything = told.everything();
    assert!(!everything.contains(KEY) && !everything.contains(PROMPT), "{everything}");
}

/// What failed before the end stands in the reply, or in the error, and in the span alike.
#[tokio::test(start_paused = true)]
async fn a_stack_of_two_routes_tells_its_trail_in_the_answer_and_in_the_span() {
    for (last, sends) in [(None, "2"), (Some(Kind::Auth), "2")] {
        let (told, _guard) = Told::listen(Level::INFO);
        let limited = fake(|_, _: Request| Now(Err(talkative(Kind::RateLimited))));
        let second = fake(move |_, _: Request| match last {
            Some(kind) => Now(Err(talkative(kind))),
            None => Now(Ok(whole("hello", Usage::new(11, 7)))),
        });
        let stack = Stack::chat(limited).name("a").then(second).name("b").on_429().build().unwrap();
        let trail = match stack.ask(Request::new("gpt").user(PROMPT)).await {
            Ok(reply) => reply.trail().clone(),
            Err(error) => error.trail().clone(),
        };
        let [attempt] = trail.attempts() else { panic!("{trail:?}") };
        assert_eq!((attempt.kind(), attempt.route()), (Kind::RateLimited, Some("a")));
        let operation = told.span("operation");
        assert!(operation.field("seawall.trail").starts_with("rate_limited (500) at a"), "{:?}", operation.fields);
        assert_eq!((operation.field("seawall.sends"), operation.refs), (sends, 0));
        let routes: Vec<_> = told.spans("attempt").iter().map(|span| span.field("seawall.route").to_owned()).collect();
        assert_eq!(routes, ["a", "b"]);
        assert!(told.spans("attempt").iter().all(|span| span.parent == Some(0)));
        let everything = told.everything();
        assert!(!everything.contains(KEY) && !everything.contains(PROMPT), "{everything}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_operation_tells_its_trail_too() {
    let (told, _guard) = Told::listen(Level::INFO);
    let model = fake(|_, _: u32| Now(Err::<u32, _>(talkative(Kind::Overloaded))));
    let service = ServiceBuilder::new()
        .layer(ObserveLayer::operation())
        .layer(RetryLayer::new().max_retries(1))
        .layer(ObserveLayer::attempt().route("a"))
        .service(model);
    guarded(async { drop(ask(&service, 7).await.unwrap_err()) }).await;
    let operation = told.span("operation");
    let fields = ["otel.name", "error.type", "otel.status_code", "seawall.sends"];
    assert_eq!(fields.map(|name| operation.field(name)), ["chat", "overloaded", "ERROR", "2"]);
    assert!(operation.field("seawall.trail").starts_with("overloaded (500) at a, waited "));
    assert!(told.0.lock().unwrap().events.is_empty(), "nothing of DEBUG, and nobody told of giving up");
    let everything = told.everything();
    assert!(!everything.contains(KEY) && !everything.contains(PROMPT), "{everything}");
}

#[tokio::test(start_paused = true)]
async fn a_span_is_open_until_its_answer_is_over() {
    let (told, _guard) = Told::listen(Level::INFO);
    let items = || vec![Ok(Item::Text("hel".into())), Ok(Item::Usage(Usage::new(3, 2))), Ok(Item::End)];
    let one = attempt("a", &telemetry()).shape(Chat);
    let service = ObserveLayer::operation().shape(Chat).layer(one.layer(streams(items)));
    let reply = ask(&service, Request::new("m").user("x")).await.unwrap();
    assert_eq!([told.span("operation").refs, told.span("attempt").refs], [1, 1]);
    assert_eq!(told.span("operation").field("gen_ai.usage.output_tokens"), "");
    reply.collect().await.unwrap();
    for span in [told.span("operation"), told.span("attempt")] {
        assert_eq!((span.refs, span.field("gen_ai.usage.output_tokens")), (0, "2"));
    }

    drop(ask(&service, Request::new("m").user("x")).await.unwrap());
    for name in ["operation", "attempt"] {
        let last = told.spans(name).pop().unwrap();
        assert_eq!((last.refs, last.field("error.type")), (0, "left"));
    }
}

#[tokio::test(start_paused = true)]
async fn spans_of_operations_that_run_at_once_are_not_mixed_up() {
    let (told, _guard) = Told::listen(Level::INFO);
    let shape = || InCall(KeyBy::new(Bare, |model: &String| Some(model.as_str())));
    let model = fake(|nth, call: seawall::Call<String>| match nth % 3 {
        2 => After(millis(u64::from(nth) * 7 % 50), Ok(call.request)),
        _ => After(millis(u64::from(nth) * 13 % 50), Err(Error::provider(Kind::Server))),
    });
    let service = ServiceBuilder::new()
        .layer(ObserveLayer::operation().shape(shape()))
        .layer(RetryLayer::new().max_retries(3).seed(5).shape(InCall(Bare)))
        .layer(ObserveLayer::attempt().route("a").shape(shape()))
        .service(model.clone());
    guarded(async {
        let mut calls = JoinSet::new();
        for n in 0..50 {
            let call = seawall::Call { context: Default::default(), request: format!("m{n}") };
            calls.spawn(service.clone().oneshot(call));
        }
        while calls.join_next().await.is_some() {}
    })
    .await;
    let (operations, attempts) = (told.spans("operation"), told.spans("attempt"));
    assert_eq!((operations.len(), attempts.len()), (50, model.sends() as usize));
    assert!(attempts.len() > 60, "as far as the retry budget goes");
    let all = told.0.lock().unwrap().spans.clone();
    for span in attempts {
        let parent = &all[span.parent.unwrap()];
        let model = "gen_ai.request.model";
        assert_eq!((parent.name.as_str(), parent.field(model)), ("operation", span.field(model)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_left_says_so_and_one_that_was_refused_below_that_nothing_was_sent() {
    let (told, _guard) = Told::listen(Level::INFO);
    let layer = ObserveLayer::operation();
    let one = ObserveLayer::attempt().route("a");
    let silent = layer.layer(one.layer(fake(|_, _: u32| Never::<u32>)));
    tokio::time::timeout(seconds(1), ask(&silent, 7)).await.unwrap_err();
    assert_eq!(
        [told.span("operation"), told.span("attempt")].map(|span| span.field("error.type").to_owned()),
        ["left", "left"]
    );
    let refused = one.layer(service_fn(|_: u32| async { Err::<u32, _>(Error::refusal(Kind::LocalLimit)) }));
    refused.oneshot(7).await.unwrap_err();
    let span = told.spans("attempt").pop().unwrap();
    assert_eq!([span.field("error.type"), span.field("seawall.sends")], ["local_limit", "0"]);
}

#[test]
fn events_have_their_levels_and_no_words_of_the_providers() {
    let (told, _guard) = Told::listen(Level::TRACE);
    let sink = telemetry().route("a");
    let (error, wait, key) = (&talkative(Kind::Overloaded), seconds(1), Some("m"));
    sink.emit(What::CircuitOpened { key, error, wait });
    sink.emit(What::CircuitHalfOpened { key });
    sink.emit(What::CircuitClosed { key });
    sink.emit(What::CoolingDown { error, wait });
    sink.emit(What::Switched { error });
    sink.emit(What::GaveUp { error, reason: GaveUp::BudgetSpent });
    sink.emit(What::Retrying { error, retry: 1, wait });
    sink.emit(What::TimedOut { phase: Phase::Idle, limit: wait });
    let events = told.0.lock().unwrap().events.clone();
    let levels: Vec<_> = events.iter().map(|event| (event.level, event.name.as_str())).collect();
    let (warn, info, debug) = (Level::WARN, Level::INFO, Level::DEBUG);
    let all = [
        (warn, "circuit opened"),
        (info, "circuit lets a probe through"),
        (info, "circuit closed"),
        (warn, "cooling down"),
        (info, "left for another route"),
        (info, "gave up"),
        (debug, "retrying"),
        (debug, "timed out"),
    ];
    assert_eq!(levels, all);
    assert!(events.iter().all(|event| event.field("seawall.route") == "a"));
    let names = ["error.type", "http.response.status_code", "gen_ai.request.model", "wait"];
    assert_eq!(names.map(|name| events[0].field(name)), ["overloaded", "500", "m", "1s"]);
    assert_eq!([events[5].field("reason"), events[7].field("phase")], ["budget_spent", "idle"]);
    let everything = told.everything();
    assert!(!everything.contains(KEY) && !everything.contains(PROMPT), "{everything}");
}

/// A subscriber writes the fields of a span with each event in it.
#[tokio::test(start_paused = true)]
async fn a_name_that_is_too_long_for_one_is_not_written_out() {
    guarded(async {
        let (told, _guard) = Told::listen(Level::INFO);
        let model = fake(|_, _: Request| Now(Ok(whole("Blue.", Usage::default()))));
        let stack = Stack::chat(model).build().unwrap();
        for length in [256, 257, 1 << 20] {
            assert!(stack.ask(Request::new("n".repeat(length)).user("?")).await.is_ok());
        }
        for name in ["operation", "attempt"] {
            let shown: Vec<_> = told.spans(name).iter().map(|span| span.field("gen_ai.request.model").len()).collect();
            assert_eq!(shown, [256, 5, 5], "{name}");
        }
        assert!(told.everything().len() < 5000);
    })
    .await;
}
