//! What must stay small whatever comes: the page, and the wait for a collector.
use super::{
    collector::Collector,
    page::{lines, sum},
    program,
};
use metrics::set_default_local_recorder;
use seawall::{
    Error, Stack, Usage,
    adapters::{otlp, prometheus},
    chat::{Answer, Message, Reply, Request},
};
use std::collections::BTreeSet;
use tokio::runtime::{self, Runtime};
use tower::{Service, service_fn};
use tracing::dispatcher::{Dispatch, with_default};
use tracing_subscriber::{layer::SubscriberExt, registry};

async fn model(_: Request) -> Result<Reply, Error> {
    Ok(Reply::whole(Answer::new(Message::assistant("hello")).with_usage(Usage::new(3, 5))))
}

fn models() -> impl Service<Request, Response = Reply, Error = Error, Future: Send> + Clone + Send + Sync + 'static {
    service_fn(model)
}

#[test]
fn the_page_is_bounded_however_many_models_are_asked_for() {
    let runtime = alone();
    let (recorder, page) = prometheus::recorder().unwrap();
    let _guard = set_default_local_recorder(&recorder);
    let stack = Stack::chat(models()).name("a").build().unwrap();
    let mut sizes = Vec::new();
    for round in 0..4 {
        for n in 0..1_000 {
            let request = Request::new(format!("model-{round}-{n}-{}", "x".repeat(200))).user("x");
            runtime.block_on(stack.ask(request)).unwrap();
        }
        sizes.push(page.render().len());
    }
    assert!(sizes[3] < 2_000_000, "{sizes:?}");
    assert!(sizes[3] - sizes[0] < 5_000, "more digits, and no more series: {sizes:?}");
    let lines = lines(&page.render());
    let models: BTreeSet<_> = lines.iter().filter_map(|line| line.labels.get("gen_ai_request_model")).collect();
    assert_eq!(models.len(), 65);
    assert_eq!(sum(&lines, "seawall_operations_total", &[]), 4_000.0);
    assert_eq!(sum(&lines, "seawall_operations_total", &[("gen_ai_request_model", "other")]), 4_000.0 - 64.0);
}

/// Names of models come from callers.
#[test]
fn no_name_of_a_model_makes_a_line_of_its_own_on_the_page() {
    let runtime = alone();
    let (recorder, page) = prometheus::recorder().unwrap();
    let _guard = set_default_local_recorder(&recorder);
    let stack = Stack::chat(models()).name("a").build().unwrap();
    let names = ["a\"} 1\nseawall_attempts_total 7", "b\\", "c\\\"", "d\\n", "e{f=\"g\"}", "h\r\u{2028}", "", "\u{0}"];
    for name in names {
        runtime.block_on(stack.ask(Request::new(name).user("x"))).unwrap();
    }
    let lines = lines(&page.render());
    assert_eq!(sum(&lines, "seawall_attempts_total", &[]), names.len() as f64);
}

/// A runtime, when the recorder and the subscriber of the whole program have been read.
fn alone() -> Runtime {
    program::seen();
    runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Leaves the spans of one call with a layer.
fn one_call(dispatch: &Dispatch) {
    // Made first, as the program must not run under this layer.
    let runtime = alone();
    let stack = Stack::chat(models()).name("a").build().unwrap();
    with_default(dispatch, || drop(runtime.block_on(stack.ask(Request::new("m").user("x"))).unwrap()));
}

#[test]
fn a_collector_that_refuses_or_points_elsewhere_fails_the_flush_and_no_call() {
    for status in [400, 307] {
        let collector = Collector::start(status);
        let (layer, traces) = otlp::layer(&collector.url(), "a").unwrap();
        one_call(&Dispatch::new(registry().with(layer)));
        assert!(traces.flush().is_err(), "{status}");
        let paths: Vec<_> = collector.posts().into_iter().map(|post| post.path).collect();
        assert_eq!(paths, ["/v1/traces"], "{status}: a redirect is not followed");
    }
}

#[test]
fn a_collector_that_is_gone_fails_the_flush_and_no_call() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (layer, traces) = otlp::layer(&format!("http://{gone}"), "a").unwrap();
    one_call(&Dispatch::new(registry().with(layer)));
    assert!(traces.flush().is_err());
}

#[test]
fn what_is_left_is_sent_at_the_end_also_from_within_a_runtime() {
    let collector = Collector::start(200);
    let (layer, traces) = otlp::layer(&format!("{}/v1/traces", collector.url()), "a").unwrap();
    let kept = Dispatch::new(registry().with(layer));
    one_call(&kept);
    alone().block_on(async { drop(traces) });
    let names: Vec<_> = collector.spans().into_iter().map(|span| span.name).collect();
    assert_eq!(names, ["attempt", "chat m"]);
    drop(kept);
}

#[test]
fn an_endpoint_that_is_no_url_is_refused() {
    for endpoint in ["", "127.0.0.1:4318", "localhost", "grpc://127.0.0.1:4317", "http://", "http://a b"] {
        let refused = otlp::layer::<tracing_subscriber::Registry>(endpoint, "a").err();
        assert!(refused.is_some_and(|error| error.setting() == "otlp"), "{endpoint}");
    }
}
