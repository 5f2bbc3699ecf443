//! The layers around a plain `reqwest::Client`, whose responses stay reqwest's own.
use super::{Then, client, listening, server};
use crate::seconds;
use reqwest::{Body, Request, Response};
use seawall::{
    Context, Ending, Error, GaveUp, Guard, Http, Kind, Outcome, Phase, Seen, Stack, Trail,
    classify::{Classifier, ClassifyLayer},
    retry::{Backoff, RetryLayer},
    timeout::{AttemptTimeoutLayer, DeadlineLayer},
};
use std::{
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tower::{Service, ServiceBuilder, ServiceExt};

const MILLISECOND: Duration = Duration::from_millis(1);

fn classified() -> impl Service<Request, Response = Response, Error = Error, Future: Send> + Clone {
    ServiceBuilder::new().layer(ClassifyLayer::reqwest()).service(client())
}

/// As a user would stack them.
fn stacked() -> impl Service<Request, Response = Response, Error = Error, Future: Send> + Clone {
    ServiceBuilder::new()
        .layer(DeadlineLayer::new(seconds(20)).unwrap().shape(Http))
        .layer(RetryLayer::new().schedule(Backoff::new(MILLISECOND, MILLISECOND).unwrap()).shape(Http))
        .layer(AttemptTimeoutLayer::new().idle(Duration::from_millis(200)).unwrap().shape(Http))
        .service(classified())
}

/// Closes the first `failures` connections after the request, and answers the others; counts what was asked.
async fn failing_at_first(failures: usize, answer: &'static str) -> (String, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let url = listening(move |mut socket| {
        let fails = count.fetch_add(1, Relaxed) < failures;
        async move {
            let _ = socket.read(&mut [0; 4096]).await;
            if !fails {
                let _ = socket.write_all(answer.as_bytes()).await;
                let _ = socket.read(&mut [0; 4096]).await;
            }
        }
    });
    (url.await, asked)
}

const GOOD: &str = "HTTP/1.1 200 OK\r\nx-id: 7\r\ncontent-length: 4\r\n\r\ngood";

fn post(url: &str) -> Request {
    client().post(url).body("{}").build().unwrap()
}

#[tokio::test]
async fn a_body_of_bytes_is_sent_again_and_the_success_tells_its_trail() {
    let (url, asked) = failing_at_first(2, GOOD).await;
    let response = stacked().oneshot(post(&url)).await.unwrap();
    let trail = response.extensions().get::<Trail>().unwrap();
    let kinds: Vec<_> = trail.attempts().iter().map(seawall::Attempt::kind).collect();
    assert_eq!((kinds, trail.sends(), asked.load(Relaxed)), (vec![Kind::Transport; 2], 2, 3));
    assert_eq!((response.url().as_str(), &response.headers()["x-id"]), (&*url, &http::HeaderValue::from_static("7")));
    assert_eq!((response.content_length(), response.remote_addr().is_some()), (Some(4), true));
    assert_eq!(response.text().await.unwrap(), "good");
}

#[tokio::test]
async fn a_body_that_streams_is_sent_once() {
    let (url, asked) = failing_at_first(9, GOOD).await;
    let body = Body::wrap(http_body_util::Full::new(bytes::Bytes::from_static(b"{}")));
    let request = client().post(&url).body(body).build().unwrap();
    let error = stacked().oneshot(request).await.unwrap_err();
    assert_eq!((error.kind(), error.gave_up()), (Kind::Transport, Some(GaveUp::NotReplayable)));
    assert_eq!((error.sends(), asked.load(Relaxed)), (1, 1));
}

#[tokio::test]
async fn an_answer_that_stalls_ends_at_the_idle_timeout() {
    let url = server(Then::Silence(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"half")).await;
    let outer = Scribe::default();
    let mut response = Http.hold(stacked().oneshot(post(&url)).await.unwrap(), outer.clone());
    assert_eq!(response.chunk().await.unwrap().unwrap(), "{\"half");
    let error = Classifier::new().transport(response.chunk().await.unwrap_err().into());
    assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Some(Phase::Idle)));
    assert!(error.is_delivered() && !error.is_retryable());
    assert_eq!(*outer.0.lock().unwrap(), ["Content", "timeout Some(Idle)"]);
}

#[tokio::test]
async fn a_stack_over_reqwest_keeps_the_deadline_and_the_sends_of_a_context() {
    let stack = Stack::http(classified()).build().unwrap();
    let silent = server(Then::Silence(b"")).await;
    let context = Context::default().with_timeout(Duration::from_millis(200));
    let error = stack.clone().with(context).ask(post(&silent)).await.unwrap_err();
    assert_eq!((error.kind(), error.phase(), error.sends()), (Kind::Timeout, Some(Phase::Total), 1));
    let (url, asked) = failing_at_first(9, GOOD).await;
    let error = stack.with(Context::default().with_sends_left(1)).ask(post(&url)).await.unwrap_err();
    assert_eq!((error.gave_up(), error.sends(), asked.load(Relaxed)), (Some(GaveUp::SendsSpent), 1, 1));
}

/// Writes down what it was told.
#[derive(Clone, Default)]
struct Scribe(Arc<Mutex<Vec<String>>>);

impl Guard for Scribe {
    fn progress(self: Pin<&mut Self>, seen: Seen) {
        self.0.lock().unwrap().push(format!("{seen:?}"));
    }

    fn end(self: Pin<&mut Self>, outcome: Outcome<'_>) {
        self.0.lock().unwrap().push(match outcome {
            Outcome::Failed(error) => format!("{} {:?}", error.kind().as_str(), error.phase()),
            _ => "whole".into(),
        });
    }
}

async fn told(answer: Then) -> Vec<Vec<String>> {
    let (inner, outer) = (Scribe::default(), Scribe::default());
    let response = classified().oneshot(post(&server(answer).await)).await.unwrap();
    let _ = Http.hold(Http.hold(response, inner.clone()), outer.clone()).bytes().await;
    [inner, outer].map(|scribe| scribe.0.lock().unwrap().clone()).to_vec()
}

#[tokio::test]
async fn guards_ride_to_the_end_of_the_body() {
    assert_eq!(told(Then::Close(GOOD.as_bytes())).await, [["End", "whole"]; 2]);
    let cut = Then::Close(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"half");
    assert_eq!(told(cut).await, [["Content", "transport Some(Body)"]; 2]);
}

#[tokio::test]
async fn a_guard_goes_with_a_body_that_nobody_reads_on() {
    let scribe = Scribe::default();
    let response = classified().oneshot(post(&server(Then::Close(GOOD.as_bytes())).await)).await.unwrap();
    drop(Http.hold(response, scribe.clone()));
    assert_eq!((Arc::strong_count(&scribe.0), scribe.0.lock().unwrap().len()), (1, 0));
}

#[tokio::test]
async fn a_guard_ends_with_the_head_where_no_body_follows() {
    let scribe = Scribe::default();
    let empty = Then::Close(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    let response = classified().oneshot(post(&server(empty).await)).await.unwrap();
    drop(Http.hold(response, scribe.clone()));
    assert_eq!(*scribe.0.lock().unwrap(), ["whole"]);
}
