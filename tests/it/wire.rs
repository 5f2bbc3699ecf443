//! Failures as real sockets produce them, through reqwest: holds the texts and types of the locked versions.
#![cfg(feature = "reqwest")]
mod cases;
mod http2;
mod once;
mod plain;
mod tls;

use crate::seconds;
use seawall::{
    Error, Kind, Phase,
    classify::{BODY_LIMIT, Classifier, ClassifyLayer},
};
use std::{
    error::Error as StdError,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tower::{Layer, ServiceExt};

/// What a server does once it has read a request.
#[derive(Clone)]
enum Then {
    Close(&'static [u8]),
    Reset(&'static [u8]),
    Silence(&'static [u8]),
    /// A head, and then a mebibyte at a time, up to a gibibyte.
    Flood(&'static [u8], Arc<AtomicUsize>),
    /// No request is read.
    ResetAtOnce,
}

async fn served(mut socket: TcpStream, then: Then) {
    let mut request = [0; 4096];
    if !matches!(then, Then::ResetAtOnce) {
        let _ = socket.read(&mut request).await;
    }
    match then {
        Then::Close(bytes) => drop(socket.write_all(bytes).await),
        Then::Reset(bytes) => {
            let _ = socket.write_all(bytes).await;
            // The client is to see the bytes before the reset discards what it has not read.
            tokio::time::sleep(Duration::from_millis(100)).await;
            let _ = socket.set_zero_linger();
        }
        Then::ResetAtOnce => drop(socket.set_zero_linger()),
        Then::Silence(bytes) => {
            let _ = socket.write_all(bytes).await;
            tokio::time::sleep(seconds(60)).await;
        }
        Then::Flood(head, written) => {
            let mebibyte = vec![b' '; 1 << 20];
            let _ = socket.write_all(head).await;
            for _ in 0..1024 {
                if socket.write_all(&mebibyte).await.is_err() {
                    break;
                }
                written.fetch_add(mebibyte.len(), Relaxed);
            }
        }
    }
}

async fn server(then: Then) -> String {
    listening(move |socket| served(socket, then.clone())).await
}

/// The URL of a server that does so with each connection.
async fn listening<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> String
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve(socket));
        }
    });
    format!("http://{address}/v1?key=sk-secret")
}

fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// A call through the layer.
async fn ask(client: reqwest::Client, url: &str) -> Result<reqwest::Response, Error> {
    let service = tower::service_fn(move |request| {
        let client = client.clone();
        async move { client.execute(request).await }
    });
    let request = reqwest::Request::new(http::Method::POST, url.parse().unwrap());
    ClassifyLayer::reqwest().layer(service).oneshot(request).await
}

async fn failed(then: Then) -> Error {
    ask(client(), &server(then).await).await.unwrap_err()
}

/// What reading the body of a success ends in.
async fn broken(then: Then) -> Error {
    let response = ask(client(), &server(then).await).await.unwrap();
    Classifier::new().transport(response.bytes().await.unwrap_err().into())
}

fn assert_transport(error: &Error, phase: Phase) {
    assert_eq!((error.kind(), error.phase()), (Kind::Transport, Some(phase)), "{error:?} {:?}", error.source());
    assert!(error.is_retryable() && error.is_against_provider());
}

#[tokio::test]
async fn a_refused_connection_is_a_transport_failure_that_sent_nothing() {
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = ask(client(), &format!("http://{address}/?key=sk-secret")).await.unwrap_err();
    assert_transport(&error, Phase::Connect);
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_a_transport_failure() {
    let error = ask(client(), "http://nowhere.invalid/").await.unwrap_err();
    assert_transport(&error, Phase::Connect);
}

#[tokio::test]
async fn connections_that_end_before_an_answer_are_transport_failures() {
    for then in [Then::Close(b""), Then::Reset(b""), Then::ResetAtOnce, Then::Reset(b"HTTP/1.1 200 OK\r\ncontent-")] {
        assert_transport(&failed(then).await, Phase::FirstByte);
    }
    assert_transport(&failed(Then::Close(b"SSH-2.0-OpenSSH\r\n\r\n")).await, Phase::FirstByte);
}

/// Case 14: a reset behind the head of a success is an error, never a short success.
#[tokio::test]
async fn bodies_that_are_cut_or_damaged_are_transport_failures() {
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"half";
    for then in [
        Then::Close(HEAD),
        Then::Reset(HEAD),
        Then::Close(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"hal"),
        Then::Close(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nnonsense\r\n{}"),
    ] {
        assert_transport(&broken(then).await, Phase::Body);
    }
}

#[tokio::test]
async fn silence_is_a_timeout_in_its_phase() {
    let impatient = reqwest::Client::builder().no_proxy().read_timeout(Duration::from_millis(200)).build().unwrap();
    let url = server(Then::Silence(b"")).await;
    let error = ask(impatient.clone(), &url).await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Some(Phase::FirstByte)));
    let url = server(Then::Silence(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")).await;
    let response = ask(impatient, &url).await.unwrap();
    let error = Classifier::new().transport(response.bytes().await.unwrap_err().into());
    assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Some(Phase::Body)));
    assert!(error.is_retryable());
}

#[tokio::test]
async fn a_handshake_that_takes_too_long_is_a_timeout_while_connecting() {
    let impatient = reqwest::Client::builder().no_proxy().connect_timeout(Duration::from_millis(200)).build().unwrap();
    let url = server(Then::Silence(b"")).await.replace("http:", "https:");
    let error = ask(impatient, &url).await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Some(Phase::Connect)));
}

#[tokio::test]
async fn what_no_retry_mends_is_not_retryable() {
    let redirected = failed(Then::Close(b"HTTP/1.1 302 Found\r\nlocation: /v1\r\ncontent-length: 0\r\n\r\n")).await;
    assert_eq!((redirected.kind(), redirected.is_retryable()), (Kind::Transport, false));
    let relative = client().get("/no-base").send().await.unwrap_err();
    let relative = Classifier::new().transport(relative.into());
    assert_eq!((relative.kind(), relative.sends(), relative.is_retryable()), (Kind::InvalidRequest, 0, false));
    let proxy = server(Then::Close(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")).await;
    let proxied = reqwest::Client::builder().proxy(reqwest::Proxy::all(&proxy).unwrap()).build().unwrap();
    let proxied = ask(proxied, "https://127.0.0.1:9/").await.unwrap_err();
    assert_eq!(
        (proxied.kind(), proxied.phase(), proxied.is_retryable()),
        (Kind::Transport, Some(Phase::Connect), false)
    );
}

#[tokio::test]
async fn a_tunnel_that_fails_and_tls_to_a_plain_port_may_pass_later() {
    let proxy = server(Then::Close(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n")).await;
    let proxied = reqwest::Client::builder().proxy(reqwest::Proxy::all(&proxy).unwrap()).build().unwrap();
    assert_transport(&ask(proxied, "https://127.0.0.1:9/").await.unwrap_err(), Phase::Connect);
    let plain = server(Then::Close(b"HTTP/1.1 400 Bad Request\r\n\r\n")).await.replace("http:", "https:");
    assert_transport(&ask(client(), &plain).await.unwrap_err(), Phase::Connect);
}

#[tokio::test]
async fn of_a_gibibyte_of_error_only_the_limit_is_kept() {
    let written = Arc::new(AtomicUsize::new(0));
    let head = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\ncontent-length: 1073741824\r\n\r\n";
    let error = failed(Then::Flood(head, Arc::clone(&written))).await;
    assert_eq!((error.kind(), error.retry_after()), (Kind::RateLimited, Some(seconds(7))));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(written.load(Relaxed) < 64 << 20, "{} bytes were taken off the wire", written.load(Relaxed));
    assert!(error.message().is_none_or(|message| message.len() <= BODY_LIMIT));
}

#[tokio::test]
async fn a_head_of_a_mebibyte_is_an_error_and_not_a_hang() {
    let head =
        format!("HTTP/1.1 429 Too Many Requests\r\nx-long: {}\r\ncontent-length: 0\r\n\r\n", "x".repeat(1 << 20));
    let error = failed(Then::Close(head.leak().as_bytes())).await;
    assert!(matches!(error.kind(), Kind::Transport | Kind::RateLimited), "{error:?}");
}

#[tokio::test]
async fn no_form_of_an_error_shows_the_url() {
    let error = failed(Then::Close(b"")).await;
    let mut shown = format!("{error} {error:?} {error:#?}");
    let mut source = error.source();
    while let Some(cause) = source {
        shown += &format!("{cause} {cause:?}");
        source = cause.source();
    }
    assert!(!shown.contains("sk-secret") && !shown.contains("/v1"), "{shown}");
}

#[tokio::test]
async fn refusals_are_read_and_successes_stay_reqwests_own() {
    let refusal = b"HTTP/1.1 429 x\r\ncontent-length: 41\r\n\r\n{\"error\":{\"code\":\"insufficient_quota\"   }}";
    assert_eq!(failed(Then::Close(refusal)).await.kind(), Kind::QuotaExhausted);
    let url = server(Then::Close(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood")).await;
    assert_eq!(ask(client(), &url).await.unwrap().text().await.unwrap(), "good");
}
