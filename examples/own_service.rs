//! A stack around a service of your own, with its own request, answer and error: `cargo run --example own_service`.
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use seawall::{
    Error, Kind, Stack,
    circuit_breaker::Window,
    classify::{Classifier, ClassifyLayer},
    sim::{Fault, MockProvider, Script, When},
};
use std::{
    future::Future,
    pin::Pin,
    task::{Context as Cx, Poll},
    time::Duration,
};
use tower::{Layer, Service};

/// What your program has already: a question in, an answer out.
#[derive(Clone)]
struct Model {
    http: reqwest::Client,
    url: String,
}

/// How it fails.
enum Failure {
    Answered(StatusCode, HeaderMap, Bytes),
    Broken(reqwest::Error),
}

impl Service<&'static str> for Model {
    type Response = Bytes;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Bytes, Failure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, question: &'static str) -> Self::Future {
        let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{question}"}}]}}"#);
        let sending = self.http.post(&self.url).header("content-type", "application/json").body(body).send();
        Box::pin(async {
            let response = sending.await.map_err(Failure::Broken)?;
            let (status, headers) = (response.status(), response.headers().clone());
            let body = response.bytes().await.map_err(Failure::Broken)?;
            if status.is_success() { Ok(body) } else { Err(Failure::Answered(status, headers, body)) }
        })
    }
}

/// The one place that looks at a status. A failure of another form is made by hand: `Error::provider(Kind::Overloaded)`.
fn judge(failure: Failure) -> Error {
    match failure {
        Failure::Answered(status, headers, body) => Classifier::new().answer(status, &headers, &body),
        Failure::Broken(error) => Classifier::new().transport(error.into()),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let broken = || Fault::status(500);
    let script = Script::seeded(1)
        .fault(When::nth(1), Fault::status(429).header("retry-after", "1"))
        .fault(When::nth(3), broken())
        .fault(When::nth(4), broken())
        .fault(When::nth(5), broken());
    let provider = MockProvider::start(script).await?;

    // reqwest's own second sends are off: the stack counts each. A client of yours that retries should do so no more either.
    let http = reqwest::Client::builder().retry(reqwest::retry::never()).build()?;
    let model = Model { http, url: format!("{}/chat/completions", provider.base_url()) };
    let stack = Stack::bare(ClassifyLayer::with(judge).layer(model))
        .circuit(Window::default().consecutive(3)?) // out of the box ten: three are enough to see it
        .open_for(Duration::from_secs(30), Duration::from_secs(60)) // out of the box from 5 s on
        .max_wait(Duration::from_secs(2)) // so that an open circuit is not waited out, but told
        .build()?;

    let answer = stack.ask("What is a seawall?").await?;
    println!("{} bytes, {} requests", answer.len(), provider.seen());
    assert_eq!(provider.seen(), 2);
    let log = provider.log();
    assert!(log.records[1].at - log.records[0].at >= Duration::from_secs(1), "the 429 named a second");

    let Err(error) = stack.ask("And a groyne?").await else { return Err("three attempts were to fail".into()) };
    println!("{error}; sends: {}", error.sends());
    assert_eq!((error.kind(), error.sends(), provider.seen()), (Kind::Server, 3, 5));

    let Err(error) = stack.ask("And a jetty?").await else { return Err("the circuit was to be open".into()) };
    println!("{error}; again in {:?}", error.retry_after());
    assert_eq!((error.kind(), error.sends(), provider.seen()), (Kind::CircuitOpen, 0, 5));
    Ok(())
}
