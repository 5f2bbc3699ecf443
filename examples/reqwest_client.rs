//! A stack around `reqwest::Client`, against a provider that misbehaves: `cargo run --example reqwest_client`.
use bytes::Bytes;
use http_body_util::Full;
use reqwest::{Body, Request, header::CONTENT_TYPE, redirect, retry};
use seawall::{
    GaveUp, Kind, Stack, Trail,
    classify::ClassifyLayer,
    sim::{Fault, MockProvider, Script, When},
};
use std::time::Duration;
use tower::Layer;

const QUESTION: &str = r#"{"model":"m","messages":[{"role":"user","content":"What is a seawall?"}]}"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = Script::seeded(1)
        .fault(When::nth(1), Fault::status(429).header("retry-after", "1"))
        .fault(When::nth(2), Fault::status(503))
        .fault(When::nth(4), Fault::status(503))
        .fault(When::always().path("/v1/chat/completions/down"), Fault::status(500));
    let provider = MockProvider::start(script).await?;

    // By itself reqwest sends again what a server refused over HTTP/2, of which the stack, which counts its sends, would not
    // know; and it follows redirects, with a key that stands in a header of your own.
    let client = reqwest::Client::builder().retry(retry::never()).redirect(redirect::Policy::none()).build()?;
    let judged = ClassifyLayer::reqwest().layer(client.clone());
    let stack = Stack::http(judged.clone()).deadline(Duration::from_secs(30)).build()?;

    let url = format!("{}/chat/completions", provider.base_url());
    let post = |url: &str, body: Body| client.post(url).header(CONTENT_TYPE, "application/json").body(body).build();

    // What comes out is a `reqwest::Response`, with what failed before it.
    let response = stack.ask(post(&url, QUESTION.into())?).await?;
    let trail = response.extensions().get::<Trail>().ok_or("two attempts were to fail")?.clone();
    let failed: Vec<_> = trail.attempts().iter().map(|attempt| (attempt.kind(), attempt.waited())).collect();
    println!("{}, {} bytes, after {failed:?}", response.status(), response.text().await?.len());
    assert!(matches!(failed[..], [(Kind::RateLimited, told), (Kind::Overloaded, _)] if told >= Duration::from_secs(1)));
    assert_eq!(provider.seen(), 3);

    // A body that is read while it is sent is gone with its first attempt, so there is no second.
    let read = Body::wrap(Full::<Bytes>::from(QUESTION));
    let Err(error) = stack.ask(post(&url, read)?).await else { return Err("the fourth request was to fail".into()) };
    println!("{error}");
    assert_eq!((error.kind(), error.gave_up()), (Kind::Overloaded, Some(GaveUp::NotReplayable)));
    assert_eq!(provider.seen(), 4);

    // Another route is another client, or the same with requests that go elsewhere.
    let elsewhere = |mut request: Request| {
        request.url_mut().set_path("/v1/chat/completions");
        request
    };
    let stack = Stack::http(judged.clone()).name("one").then(judged).name("two").map(elsewhere).on_failure().build()?;
    let response = stack.ask(post(&format!("{url}/down"), QUESTION.into())?).await?;
    let trail = response.extensions().get::<Trail>().ok_or("the first route was to fail")?;
    let failed: Vec<_> = trail.attempts().iter().map(|attempt| (attempt.route(), attempt.kind())).collect();
    println!("{} from the second route, after {failed:?}", response.status());
    assert_eq!(failed, [(Some("one"), Kind::Server); 2]); // one retry, as there is another route
    assert_eq!(provider.seen(), 7);
    Ok(())
}
