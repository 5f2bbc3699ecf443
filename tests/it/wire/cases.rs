//! Every failure of the corpus that loopback can produce, through every way to a verdict; and every text of the table.
use super::{
    Then, client,
    http2::{INTERNAL_ERROR, NO_ERROR, REFUSED_STREAM, go_away, half_an_answer, peer, reset_stream},
    server,
    tls::{self, Identity},
};
use crate::corpus::corpus;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use seawall::{
    Error, Kind, Phase, chat,
    classify::{Classifier, ClassifyLayer},
    provider::{OpenAi, Reqwest},
};
use std::{collections::BTreeSet, error::Error as StdError, time::Duration};
use tokio::{net::TcpListener, sync::OnceCell};
use tower::{Layer, ServiceExt};

/// A failure, as each way to a verdict tells it.
struct Case {
    /// The line of the corpus, or a name of our own.
    id: &'static str,
    expected: (Kind, Option<Phase>, bool),
    told: Vec<Error>,
}

/// Texts that loopback does not bring forth: lost packets, races within hyper, older versions, other clients.
const UNHEARD: [&str; 6] = [
    "Connection timed out (os error 110)",
    "channel closed",
    "operation was canceled",
    "operation was canceled by the caller",
    "stream idle timeout",
    "unsuccessful tunnel",
];

/// Lines that loopback cannot produce: lost packets, lost networks, and what other clients say. They hold on constructed
/// chains.
const CONSTRUCTED: [&str; 4] = ["tr-os-timeout", "tr-network-unreachable", "tr-idle-timeout", "tr-cancelled"];

async fn failing(id: &'static str, expected: (Kind, Phase, bool), client: reqwest::Client, url: &str) -> Case {
    let (kind, phase, retryable) = expected;
    let ways = async {
        vec![
            over_reqwest(client.clone(), url).await,
            over_http(client.clone(), url).await,
            over_the_provider(client.clone(), url).await,
        ]
    };
    let told = tokio::time::timeout(super::seconds(10), ways).await.expect(id);
    Case { id, expected: (kind, Some(phase), retryable), told }
}

async fn over_reqwest(client: reqwest::Client, url: &str) -> Error {
    match super::ask(client, url).await {
        Err(error) => error,
        Ok(response) => Classifier::new().transport(response.bytes().await.unwrap_err().into()),
    }
}

async fn over_http(client: reqwest::Client, url: &str) -> Error {
    let request = http::Request::post(url).body(Full::<Bytes>::default()).unwrap();
    match ClassifyLayer::http().layer(Reqwest::with_client(client)).oneshot(request).await {
        Err(error) => error,
        Ok(response) => response.into_body().collect().await.unwrap_err(),
    }
}

async fn over_the_provider(client: reqwest::Client, url: &str) -> Error {
    let provider = OpenAi::new("sk-secret").base_url(url).over(Reqwest::with_client(client));
    provider.oneshot(chat::Request::new("m").user("hello")).await.unwrap_err()
}

/// Produced once for all tests.
async fn cases() -> &'static [Case] {
    static CASES: OnceCell<Vec<Case>> = OnceCell::const_new();
    let produced = || async {
        let mut cases = connecting().await;
        cases.extend(handshakes().await);
        cases.extend(answers().await);
        cases.extend(streams().await);
        cases
    };
    CASES.get_or_init(produced).await
}

const CONNECTING: (Kind, Phase, bool) = (Kind::Transport, Phase::Connect, true);
const HOPELESS: (Kind, Phase, bool) = (Kind::Transport, Phase::Connect, false);
const BEFORE_THE_HEAD: (Kind, Phase, bool) = (Kind::Transport, Phase::FirstByte, true);
const IN_THE_BODY: (Kind, Phase, bool) = (Kind::Transport, Phase::Body, true);

async fn connecting() -> Vec<Case> {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let long_label = format!("http://{}.invalid/", "x".repeat(64));
    let asks = server(Then::Close(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")).await;
    let fails = server(Then::Close(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n")).await;
    let behind = |proxy| reqwest::Client::builder().proxy(reqwest::Proxy::all(proxy).unwrap()).build().unwrap();
    vec![
        failing("tr-connect-refused", CONNECTING, client(), &format!("http://{free}/")).await,
        // Nobody is asked: no name has a label this long.
        failing("tr-dns-temp", CONNECTING, client(), &long_label).await,
        failing("tr-proxy-auth", HOPELESS, behind(&asks), "https://127.0.0.1:9/").await,
        failing("tr-proxy-tunnel", CONNECTING, behind(&fails), "https://127.0.0.1:9/").await,
    ]
}

async fn handshakes() -> Vec<Case> {
    let here = Identity::of("127.0.0.1");
    let elsewhere = Identity::of("api.example.com");
    let expired = Identity::expired("127.0.0.1");
    vec![
        failing("tr-tls-bad-record-mac", CONNECTING, client(), &tls::alerting(tls::BAD_RECORD_MAC).await).await,
        failing("handshake failure", CONNECTING, client(), &tls::alerting(tls::HANDSHAKE_FAILURE).await).await,
        failing("tr-tls-cert-unknown-issuer", HOPELESS, client(), &here.server().await).await,
        failing("tr-tls-cert-name", HOPELESS, elsewhere.trusted(), &elsewhere.server().await).await,
        failing("expired", HOPELESS, expired.trusted(), &expired.server().await).await,
    ]
}

async fn answers() -> Vec<Case> {
    const HALF: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"half";
    const NO_DEFLATE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 18\r\n\r\n\
        \x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff\xff\xff\xff\xff\xff";
    let impatient = reqwest::Client::builder().no_proxy().timeout(Duration::from_millis(200)).build().unwrap();
    let silent = (Kind::Timeout, Phase::FirstByte, true);
    let again = Then::Close(b"HTTP/1.1 302 Found\r\nlocation: /v1\r\ncontent-length: 0\r\n\r\n");
    let mut cases = vec![
        failing("tr-reset-before-response", BEFORE_THE_HEAD, client(), &server(Then::Reset(b"")).await).await,
        failing("tr-closed-before-message", BEFORE_THE_HEAD, client(), &server(Then::Close(b"")).await).await,
        failing("tr-total-timeout", silent, impatient, &server(Then::Silence(b"")).await).await,
        failing("tr-body-reset", IN_THE_BODY, client(), &server(Then::Reset(HALF)).await).await,
        failing("tr-content-length-short", IN_THE_BODY, client(), &server(Then::Close(HALF)).await).await,
        failing("tr-gzip-corrupt", IN_THE_BODY, client(), &server(Then::Close(NO_DEFLATE)).await).await,
    ];
    let url = server(again).await;
    let told = vec![over_reqwest(client(), &url).await, over_http(client(), &url).await];
    cases.push(Case { id: "too many redirects", expected: (Kind::Transport, None, false), told });
    let relative = client().get("/no-base").send().await.unwrap_err();
    let told = vec![Classifier::new().transport(relative.into()), over_http(client(), "/no-base").await];
    cases.push(Case { id: "tr-builder", expected: (Kind::InvalidRequest, None, false), told });
    cases
}

async fn streams() -> Vec<Case> {
    let http2 = || reqwest::Client::builder().no_proxy().http2_prior_knowledge();
    let client = || http2().retry(reqwest::retry::never()).build().unwrap();
    let pinging = http2()
        .http2_keep_alive_interval(Duration::from_millis(100))
        .http2_keep_alive_timeout(Duration::from_millis(100))
        .build()
        .unwrap();
    let gone = peer(|_| go_away(NO_ERROR)).await;
    let refused = peer(|stream| reset_stream(stream, REFUSED_STREAM)).await;
    let cut = peer(|stream| [half_an_answer(stream), reset_stream(stream, INTERNAL_ERROR)].concat()).await;
    let stalled = peer(half_an_answer).await;
    let silent = peer(|_| Vec::new()).await;
    let silence = (Kind::Timeout, Phase::FirstByte, true);
    vec![
        failing("tr-h2-goaway", BEFORE_THE_HEAD, client(), &gone).await,
        failing("tr-h2-refused-stream", BEFORE_THE_HEAD, client(), &refused).await,
        failing("tr-h2-internal", IN_THE_BODY, client(), &cut).await,
        failing("tr-h2-keepalive", silence, pinging.clone(), &silent).await,
        // h2 tells a body only that its connection is gone.
        failing("keep-alive in a body", IN_THE_BODY, pinging, &stalled).await,
    ]
}

/// What the sources of an error say, part by part.
fn said(error: &Error) -> Vec<String> {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.flat_map(|cause| cause.to_string().split(": ").map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The texts of the table, out of the source, since no API shows them.
fn texts() -> Vec<&'static str> {
    let source = include_str!("../../../src/layers/classify/transport.rs");
    let table = source.split_once("const TEXTS").unwrap().1.split_once("];").unwrap().0;
    let rows = table.lines().filter_map(|line| line.trim().strip_prefix("(\""));
    let mut texts: Vec<_> = rows.map(|row| row.split_once('"').unwrap().0).collect();
    texts.push("client error (Connect)"); // the row that is a constant
    texts
}

#[tokio::test]
async fn what_loopback_can_produce_is_judged_as_the_corpus_says() {
    for Case { id, expected, told } in cases().await {
        let (kind, phase, retryable) = *expected;
        for error in told {
            assert_eq!((error.kind(), error.phase()), (kind, phase), "{id}");
            // What breaks a body that somebody reads is delivered, and then nothing is sent again.
            assert_eq!(error.is_retryable(), retryable && !error.is_delivered(), "{id}");
            assert_eq!(error.is_against_provider(), kind != Kind::InvalidRequest, "{id}");
        }
    }
}

#[tokio::test]
async fn the_locked_versions_say_every_text_of_the_table() {
    let heard: BTreeSet<String> = cases().await.iter().flat_map(|case| &case.told).flat_map(said).collect();
    let texts = texts();
    assert!(texts.len() > 15, "{texts:?}");
    for text in &texts {
        assert_eq!(heard.contains(*text), !UNHEARD.contains(text), "{text}: of {heard:?}");
    }
    assert!(UNHEARD.iter().all(|text| texts.contains(text)));
}

#[tokio::test]
async fn every_transport_line_of_the_corpus_is_produced_or_constructed() {
    let cases = cases().await;
    for line in corpus().into_iter().filter(|line| line.0["surface"] == "transport") {
        let id = line.0["id"].as_str().unwrap();
        let Some(case) = cases.iter().find(|case| case.id == id) else {
            assert!(CONSTRUCTED.contains(&id), "{id}");
            continue;
        };
        let (kind, _, retryable) = case.expected;
        assert_eq!(kind.as_str(), line.0["expect"]["kind"], "{id}");
        assert_eq!(retryable, line.0["expect"]["retryable"], "{id}");
    }
}
