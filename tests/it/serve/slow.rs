//! Clients that are slow, or write more than anybody reads. Over real sockets.
use super::wire::{ANTHROPIC, OPENAI, Served, read_to, rest, served, served_within, within};
use seawall::sim::Script;
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const LARGE: usize = 50 << 20;

async fn large() -> Served {
    served(Script::seeded(1), Duration::from_secs(5)).await
}

/// Writes all of it before it reads a byte, as many clients do.
async fn written(mut connection: TcpStream, head: &str, end: &str) -> String {
    connection.write_all(head.as_bytes()).await.unwrap();
    let piece = vec![b' '; 1 << 16];
    for _ in 0..LARGE / piece.len() {
        within(connection.write_all(&piece)).await.expect("no reset before the end of the request");
    }
    connection.write_all(end.as_bytes()).await.unwrap();
    rest(connection).await
}

#[tokio::test]
async fn a_client_that_writes_fifty_megabytes_reads_the_answer_behind_them() {
    let served = large().await;
    let told = [
        written(
            served.connect().await,
            &format!("POST {OPENAI} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {LARGE}\r\n\r\n"),
            "",
        )
        .await,
        // Without its length.
        written(
            served.connect().await,
            &format!("POST {ANTHROPIC} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n{LARGE:x}\r\n"),
            "\r\n0\r\n\r\n",
        )
        .await,
        written(
            served.connect().await,
            &format!("POST /own HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {LARGE}\r\n\r\n"),
            "",
        )
        .await,
    ];
    // Of a path that nobody serves nothing is read.
    let head = format!("POST /none HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {LARGE}\r\n\r\n");
    let unknown = written(served.connect().await, &head, "").await;
    assert!(unknown.starts_with("HTTP/1.1 404 "), "{unknown}");
    for told in told {
        assert!(told.starts_with("HTTP/1.1 413 ") && told.contains("request_too_large"), "{told}");
    }
    served.is_clean().await;
    assert_eq!(served.provider.seen(), 0);
}

#[tokio::test]
async fn reqwest_reads_it_over_either_version_of_http() {
    let served = large().await;
    let client = || reqwest::Client::builder().no_proxy();
    for client in [client().build().unwrap(), client().http2_prior_knowledge().build().unwrap()] {
        let call = client.post(format!("http://{}{OPENAI}", served.address)).body(vec![b' '; LARGE]);
        let response = within(call.send()).await.unwrap();
        assert_eq!(response.status(), 413);
        assert!(within(response.text()).await.unwrap().contains("request_too_large"));
    }
    assert_eq!(served.provider.seen(), 0);
}

#[tokio::test]
async fn a_client_that_never_ends_its_request_is_answered_too() {
    let served = large().await;
    let mut connection = served.connect().await;
    connection.write_all(b"POST /none HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n").await.unwrap();
    let (mut read, mut write) = connection.into_split();
    let endless = tokio::spawn(async move {
        let chunk = format!("10000\r\n{}\r\n", " ".repeat(1 << 16));
        while write.write_all(chunk.as_bytes()).await.is_ok() {}
    });
    let mut told = Vec::new();
    within(read.read_to_end(&mut told)).await.unwrap();
    assert!(told.starts_with(b"HTTP/1.1 404 "), "{}", String::from_utf8_lossy(&told));
    served.is_clean().await;
    endless.abort();
    drop(endless.await);
}

#[tokio::test]
async fn a_time_of_zero_for_heads_is_refused() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refused = seawall::adapters::axum::serve(listener, axum::Router::new()).header_read_timeout(Duration::ZERO);
    assert!(refused.unwrap_err().to_string().contains("header_read_timeout"));
}

#[tokio::test]
async fn half_a_head_is_ended_in_its_time_and_so_is_nothing_at_all() {
    let served = served_within(Script::seeded(1), Duration::from_secs(5), Duration::from_millis(100)).await;
    for half in ["", "P", "PRI * HTTP/2", "POST /v1/messages HTTP/1.1\r\nhost: x\r\n", "GET /"] {
        let mut connection = served.connect().await;
        connection.write_all(half.as_bytes()).await.unwrap();
        assert_eq!(rest(connection).await, "", "{half}");
    }
    // Behind an answer too.
    let mut connection = served.connect().await;
    connection.write_all(b"GET /none HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    read_to(&mut connection, "404").await;
    rest(connection).await;
    assert_eq!(served.provider.seen(), 0);
}

#[tokio::test]
async fn an_answer_may_take_longer_than_a_head() {
    let served = served_within(Script::seeded(1), Duration::from_secs(5), Duration::from_millis(50)).await;
    let (head, body) = super::wire::request(OPENAI, false);
    let mut connection = served.connect().await;
    connection.write_all(head.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(150)).await;
    connection.write_all(body.as_bytes()).await.unwrap();
    assert!(rest(connection).await.starts_with("HTTP/1.1 200 "));
}
