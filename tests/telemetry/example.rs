//! The Axum example with both features: what it shows at `/metrics`, and what it sends before it ends.
use super::{
    collector::Collector,
    page::{documented, lines, metrics, sum},
};
use crate::process::{Example, Route};
use seawall::sim::{Fault, MockProvider, Script, When};
use std::process::Command;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_axum_example_has_a_page_of_its_calls_and_sends_their_spans_before_it_ends() {
    let script = Script::seeded(1).fault(When::first(1), Fault::status(503).header("retry-after-ms", "1"));
    let provider = MockProvider::start(script).await.unwrap();
    let collector = Collector::start(200);
    let route = Route { name: "only", dialect: "openai", provider: &provider };
    let mut example = Example::start(&[route], &["--otlp", &collector.url()]);

    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let body = r#"{"model":"gpt-4o-mini","messages":[{"role":"user","content":"?"}]}"#;
    let answer = client.post(format!("{}/v1/chat/completions", example.base)).body(body).send().await.unwrap();
    assert_eq!(answer.status(), 200);

    let page = client.get(format!("{}/metrics", example.base)).send().await.unwrap();
    assert_eq!(page.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let page = page.text().await.unwrap();
    let lines = lines(&page);
    assert_eq!(sum(&lines, "seawall_operations_total", &[]), 1.0);
    assert_eq!(sum(&lines, "seawall_attempts_total", &[("seawall_route", "only")]), 2.0);
    assert!(metrics(&page).is_subset(&documented()), "{page}");

    let id = example.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert!(example.child.wait().unwrap().success());
    let mut names: Vec<_> = collector.spans().into_iter().map(|span| span.name).collect();
    names.sort();
    assert_eq!(names, ["attempt", "attempt", "chat gpt-4o-mini"]);
}
