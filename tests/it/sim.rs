//! The provider that misbehaves does what its script says, and nothing else.
mod answer;
mod both;
mod command;
mod in_process;
mod script;
mod shapes;
mod stream;
mod stream_faults;
mod wire;
mod wire_faults;

use seawall::sim::{End, FaultKind, MockProvider, Phase, Record};
use std::{io, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const CHAT: &str = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"hello"}]}"#;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A chat request as bytes.
fn post(extra: &str) -> String {
    post_of(CHAT, extra)
}

fn post_of(body: &str, extra: &str) -> String {
    let length = body.len();
    format!("POST /v1/chat/completions HTTP/1.1\r\nhost: mock\r\ncontent-length: {length}\r\n{extra}\r\n{body}")
}

async fn connect(provider: &MockProvider) -> TcpStream {
    TcpStream::connect(provider.address()).await.unwrap()
}

/// All that a connection gives, and how it ends. A wire that hangs fails the test after a while of real time.
async fn read(stream: &mut TcpStream) -> (String, io::Result<()>) {
    let mut bytes = Vec::new();
    let end = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut bytes)).await;
    let end = end.unwrap_or_else(|_| panic!("the connection hangs after {:?}", String::from_utf8_lossy(&bytes)));
    (String::from_utf8_lossy(&bytes).into_owned(), end.map(|_| ()))
}

/// One request on a connection of its own.
async fn exchange(provider: &MockProvider, request: &str) -> (String, io::Result<()>) {
    let mut stream = connect(provider).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    read(&mut stream).await
}

async fn has_seen(provider: &MockProvider, requests: u64) {
    while provider.seen() < requests {
        tokio::task::yield_now().await;
    }
}

/// What a record says of a fault and its end.
fn told(record: &Record) -> (Option<FaultKind>, Option<Phase>, End) {
    (record.fault, record.phase, record.end)
}
