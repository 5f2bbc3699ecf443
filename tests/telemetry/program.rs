//! One program, with all that can be installed, on a bad day.
use super::{
    collector::{Collector, Span},
    page::{Line, documented, lines, metrics, sum},
};
use seawall::{
    Kind, Stack,
    adapters::{otlp, prometheus},
    chat::Request,
    circuit_breaker::Window,
    provider::{OpenAi, Reqwest},
    retry::Backoff,
    sim::{Fault, MockProvider, Phase, Script, When},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{LazyLock, Mutex, OnceLock},
    time::Duration,
};

const KEY: &str = "sk-proj-abcdefghijklmnopqrstuvwxyz";
const PROMPT: &str = "the patient is called Ada";
const MODEL: &str = "gpt-4o-mini";

pub struct Seen {
    pub page: String,
    calls: u32,
    sends: u64,
    spans: Vec<Span>,
    bytes: Vec<u8>,
    posts: Vec<(String, String)>,
}

/// What was seen of it, for every test of this process.
pub fn seen() -> &'static Seen {
    static SEEN: OnceLock<Seen> = OnceLock::new();
    static ONCE: Mutex<()> = Mutex::new(());
    let _one = ONCE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    SEEN.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(run())
    })
}

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn question() -> Request {
    Request::new(MODEL).user(PROMPT)
}

async fn start(script: Script) -> MockProvider {
    MockProvider::start(script).await.unwrap()
}

async fn run() -> Seen {
    static HTTP: LazyLock<Reqwest> = LazyLock::new(|| Reqwest::new().unwrap());
    let collector = Collector::start(200);
    let traces = otlp::install(&collector.url(), "a gateway").unwrap();
    let page = prometheus::install().unwrap();
    assert!(otlp::install(&collector.url(), "again").unwrap_err().to_string().contains("installed already"));
    assert!(prometheus::install().unwrap_err().to_string().contains("installed already"));

    let client = |provider: &MockProvider| OpenAi::new(KEY).base_url(provider.base_url()).over(HTTP.clone());
    let well = start(Script::seeded(1)).await;

    // A rate limit switches, and cools the route down.
    let limited = start(Script::seeded(1).fault(When::always(), Fault::status(429).header("retry-after", "60"))).await;
    let stack =
        Stack::chat(client(&limited)).name("limited").then(client(&well)).name("well").on_429().build().unwrap();
    stack.ask(question()).await.unwrap();

    // A failure opens the circuit, the refusal is waited out, and the probe closes it.
    let flaky = start(Script::seeded(1).fault(When::nth(1), Fault::status(500))).await;
    let stack = Stack::chat(client(&flaky))
        .name("flaky")
        .circuit(Window::default().consecutive(1).unwrap())
        .open_for(millis(20), millis(20))
        .backoff(Backoff::new(millis(1), millis(1)).unwrap())
        .build()
        .unwrap();
    stack.ask(question()).await.unwrap();

    // A silence, until its limit.
    let silent = start(Script::seeded(1).fault(When::always(), Fault::silence(Phase::BeforeHead))).await;
    let stack = Stack::chat(client(&silent)).name("silent").whole(millis(50)).max_retries(0).build().unwrap();
    assert_eq!(stack.ask(question()).await.unwrap_err().kind(), Kind::Timeout);

    // A stream; one that is cut, whose tokens nobody told; a setting that the model refuses; and one permit for two.
    let cut = start(Script::seeded(1).fault(When::nth(2), Fault::cut(Phase::AfterTokens(2)))).await;
    let stack = Stack::chat(client(&cut)).name("cut").concurrency(1).build().unwrap();
    stack.ask(question().stream()).await.unwrap().collect().await.unwrap();
    stack.ask(question().stream()).await.unwrap().collect().await.unwrap_err();
    stack.ask(Request::new("gpt-5").temperature(0.3).user(PROMPT)).await.unwrap();
    let held = stack.ask(question().stream()).await.unwrap();
    let (waits, read) = tokio::join!(stack.ask(question()), held.collect());
    drop((waits.unwrap(), read.unwrap()));

    let sends = [&well, &limited, &flaky, &silent, &cut].map(MockProvider::seen).iter().sum();
    traces.flush().unwrap();
    let posts = collector.posts();
    let posted = posts.iter().map(|post| (post.path.clone(), post.headers["content-type"].clone())).collect();
    let bytes = posts.into_iter().flat_map(|post| post.body).collect();
    drop(traces);
    Seen { page: page.render(), calls: 8, sends, spans: collector.spans(), bytes, posts: posted }
}

#[test]
fn the_page_has_every_metric_that_is_documented_and_no_other() {
    assert_eq!(metrics(&seen().page), documented());
}

#[test]
fn what_the_page_counts_is_what_was_sent() {
    let seen = seen();
    let lines = lines(&seen.page);
    let total = |name, labels: &[(&str, &str)]| sum(&lines, name, labels);
    assert_eq!(total("seawall_operations_total", &[]), f64::from(seen.calls));
    assert_eq!(total("seawall_operations_total", &[("error_type", "")]), 6.0);
    assert_eq!(total("seawall_operations_total", &[("error_type", "timeout")]), 1.0);
    assert_eq!(total("seawall_operations_total", &[("error_type", "transport")]), 1.0, "the cut");
    assert_eq!(total("seawall_attempts_total", &[]), seen.sends as f64);
    assert_eq!(total("seawall_attempts_total", &[("seawall_route", "flaky"), ("error_type", "server")]), 1.0);
    assert_eq!(total("seawall_switches_total", &[("seawall_route", "limited")]), 1.0);
    assert_eq!(total("seawall_cool_downs_total", &[("error_type", "rate_limited")]), 1.0);
    assert_eq!(total("seawall_timeouts_total", &[("seawall_route", "silent")]), 1.0);
    assert_eq!(total("seawall_give_ups_total", &[("seawall_reason", "others_open")]), 1.0);
    assert_eq!(total("seawall_request_changes_total", &[("seawall_route", "cut")]), 1.0);
    assert_eq!(total("seawall_circuit_openings_total", &[("seawall_route", "flaky")]), 1.0);
    assert_eq!(total("seawall_circuit_state", &[("seawall_route", "flaky")]), 0.0, "closed again");
    assert_eq!(total("seawall_concurrency_permits", &[]), 0.0, "all given back");
    assert_eq!(total("seawall_concurrency_waiting", &[]), 0.0);
    assert!(total("seawall_retries_total", &[("seawall_route", "flaky")]) >= 1.0);
    let tokens = |mark| total("gen_ai_client_token_usage_sum", &[("seawall_usage_estimated", mark)]);
    assert!(tokens("") > tokens("true") && tokens("true") > 0.0);
}

#[test]
fn histograms_have_buckets_from_the_fastest_answer_to_the_longest_thought() {
    let lines = lines(&seen().page);
    assert!(!lines.iter().any(|line| line.labels.contains_key("quantile")), "quantiles cannot be added up");
    let mut series = BTreeMap::<String, Vec<(f64, f64)>>::new();
    for line in lines.iter().filter(|line| line.name.ends_with("_bucket")) {
        let mut labels = line.labels.clone();
        let bound = labels.remove("le").unwrap().parse().unwrap();
        series.entry(format!("{} {labels:?}", line.name)).or_default().push((bound, line.value));
    }
    assert!(series.len() > 10);
    for (name, buckets) in &series {
        assert!(buckets.is_sorted_by(|one, next| one.0 < next.0 && one.1 <= next.1), "{name}: {buckets:?}");
        let bounds: Vec<_> = buckets.iter().map(|bucket| bucket.0).collect();
        let (first, last, by) =
            if name.contains("token_usage") { (1.0, 67_108_864.0, 4.0) } else { (0.01, 655.36, 2.0) };
        assert_eq!((bounds[0], bounds[bounds.len() - 2], bounds.last()), (first, last, Some(&f64::INFINITY)), "{name}");
        assert!(bounds[..bounds.len() - 1].windows(2).all(|two| (two[1] / two[0] - by).abs() < 1e-9), "{name}");
    }
    let count = |name: &str| sum(&lines, name, &[]);
    let whole = |line: &&Line| line.name.ends_with("duration_seconds_bucket") && line.labels["le"] == "+Inf";
    let all: f64 = lines.iter().filter(whole).map(|line| line.value).sum();
    let (operations, attempts) =
        (count("gen_ai_client_operation_duration_seconds_count"), count("seawall_attempt_duration_seconds_count"));
    assert_eq!(all, operations + attempts);
    assert!(count("gen_ai_client_operation_duration_seconds_sum") >= 0.05, "the silence alone lasted as long");
}

#[test]
fn the_collector_gets_an_operation_for_each_call_and_an_attempt_within_it_for_each_send() {
    let seen = seen();
    let named = |start: &str| seen.spans.iter().filter(|span| span.name.starts_with(start)).collect::<Vec<_>>();
    let (operations, attempts) = (named("chat "), named("attempt"));
    assert_eq!(operations.len() + attempts.len(), seen.spans.len(), "and nothing else: {:?}", seen.spans);
    assert_eq!(operations.len(), seen.calls as usize);
    let sent = attempts.iter().filter(|span| span.fields.get("seawall.sends").is_none_or(|sends| sends != "0"));
    assert_eq!(sent.count() as u64, seen.sends);
    for attempt in &attempts {
        let parent =
            operations.iter().find(|operation| operation.id == attempt.parent).expect("an operation around it");
        assert_eq!((parent.trace == attempt.trace, attempt.kind, parent.kind), (true, 3, 3));
    }
    let names: BTreeSet<_> = operations.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["chat gpt-4o-mini", "chat gpt-5"]));
    assert!(seen.spans.iter().all(|span| span.service == "a gateway"));
}

#[test]
fn spans_tell_how_a_call_went_by_the_conventions_of_opentelemetry() {
    let spans = &seen().spans;
    let of = |route: &str, name: &str| {
        let is = |span: &&Span| span.fields.get("gen_ai.provider.name").is_some_and(|r| r == route);
        spans.iter().find(|span| is(span) && span.name == name).unwrap()
    };
    let silent = of("silent", "attempt");
    assert_eq!((silent.status, silent.fields["error.type"].as_str()), (2, "timeout"));
    let well = of("well", "attempt");
    assert_eq!((well.status, well.fields["gen_ai.request.model"].as_str()), (0, MODEL));
    assert!(well.fields["gen_ai.usage.input_tokens"].parse::<u64>().unwrap() > 0);
    assert!(!well.fields.contains_key("seawall.usage.estimated"));
    let guessed: Vec<_> = spans.iter().filter(|span| span.fields.contains_key("seawall.usage.estimated")).collect();
    assert_eq!(guessed.iter().map(|span| span.fields["error.type"].as_str()).collect::<Vec<_>>(), ["transport"; 2]);
    let told: BTreeSet<_> = spans.iter().flat_map(|span| &span.events).map(String::as_str).collect();
    for event in ["retrying", "circuit opened", "cooling down", "left for another route"] {
        assert!(told.contains(event), "{event}: {told:?}");
    }
}

#[test]
fn what_goes_out_has_no_prompt_no_key_and_no_path_of_a_source_file() {
    let seen = seen();
    assert!(seen.posts.iter().all(|post| *post == ("/v1/traces".to_owned(), "application/x-protobuf".to_owned())));
    let sent = String::from_utf8_lossy(&seen.bytes);
    assert!(sent.contains("gen_ai.operation.name"), "it is what it is taken for");
    for text in [&sent[..], &seen.page] {
        for secret in [PROMPT, KEY, "sk-proj", ".rs", env!("CARGO_MANIFEST_DIR")] {
            assert!(!text.contains(secret), "{secret}");
        }
    }
}
