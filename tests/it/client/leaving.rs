//! Readers who leave, and connections that stay, over real sockets.
use super::*;
use seawall::{
    Stack, What,
    sim::{End, MockProvider, Script},
};
use std::{
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

async fn provider(script: &str) -> MockProvider {
    let script = format!("answer.text = \"one two three four five six\"\n{script}");
    MockProvider::start(Script::parse(&script).unwrap()).await.unwrap()
}

fn client(provider: &MockProvider) -> Client<OpenAi, seawall::provider::Reqwest> {
    openai().base_url(provider.base_url()).over(direct())
}

/// Waits for what must come, in real time.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(seconds(20), waiting).await.unwrap_or_else(|_| panic!("{what} never came"));
}

/// Leaves once so many items were read and a while is over, and says how long the provider took to see it.
async fn hung_up(place: &str, script: &str, least: usize) {
    let provider = provider(script).await;
    let stack = Stack::chat(client(&provider)).build().unwrap();
    let items = Arc::new(AtomicUsize::new(0));
    let read = items.clone();
    let call = tokio::spawn(async move {
        let mut reply = stack.ask(question().stream()).await.unwrap();
        while reply.next().await.is_some() {
            read.fetch_add(1, Relaxed);
        }
    });
    until(place, || provider.seen() == 1 && items.load(Relaxed) >= least).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    call.abort();
    let left = Instant::now();
    until(place, || provider.log().records[0].end != End::Open).await;
    println!("left {place}: seen upstream after {:?}", left.elapsed());
    assert_eq!(provider.log().records[0].end, End::HungUp, "{place}");
    assert_eq!(provider.seen(), 1, "{place}");
}

/// Case 55.
#[tokio::test]
async fn a_reader_who_leaves_is_seen_upstream_wherever_the_answer_is() {
    let silence = "[[fault]]\nsilence = \"before-head\"";
    hung_up("before the head", silence, 0).await;
    let slow = "answer.stream = { first-token = \"60s\", keep-alive = \"50ms\" }";
    hung_up("before the first token", slow, 0).await;
    let stalls = "answer.stream.per-token = \"60s\"";
    hung_up("between two tokens", stalls, 1).await;
}

/// Case 55.
#[tokio::test]
async fn a_reader_who_leaves_in_a_backoff_sends_nothing_more() {
    let provider = provider("[[fault]]\nstatus = 429\nheaders = { retry-after = \"1\" }").await;
    let waits = Arc::new(Mutex::new(0));
    let told = waits.clone();
    let sink = seawall::Sink::new(move |event| {
        if matches!(event.what, What::Retrying { .. }) {
            *told.lock().unwrap() += 1;
        }
    });
    let stack = Stack::chat(client(&provider)).sink(sink).build().unwrap();
    let call = tokio::spawn(async move { stack.ask(question().stream()).await.map(drop) });
    until("the wait", || *waits.lock().unwrap() > 0).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!((provider.seen(), provider.in_flight()), (1, 0));
}

/// Answers every request of a connection with these pieces, each on the wire by itself.
async fn kept(mut socket: TcpStream, pieces: &'static [&'static str]) {
    let mut request = [0; 16 * 1024];
    while socket.read(&mut request).await.is_ok_and(|read| read > 0) {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        socket.write_all(head.as_bytes()).await.unwrap();
        for (at, piece) in pieces.iter().enumerate() {
            tokio::time::sleep(Duration::from_millis(if at == 0 { 0 } else { 5 })).await;
            let chunks: String = piece.split_inclusive("\n\n").map(chunk).collect();
            let _ = socket.write_all(chunks.as_bytes()).await;
        }
    }
}

/// A chunk of HTTP; the last one for what is no event.
fn chunk(event: &str) -> String {
    match event {
        "0" => "0\r\n\r\n".into(),
        event => format!("{:x}\r\n{event}\r\n", event.len()),
    }
}

const WORD: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"wave \"}}]}\n\n";

#[tokio::test]
async fn a_stream_that_was_read_to_its_end_leaves_its_connection_to_the_next() {
    let ends: [&'static [&'static str]; 4] = [
        &[WORD, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n0"],
        &[
            WORD,
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n0",
        ],
        &[WORD, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", "0"],
        &[
            WORD,
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\n",
            "data: [DONE]\n\n0",
        ],
    ];
    for pieces in ends {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let connections = Arc::new(Mutex::new(0));
        let count = connections.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                *count.lock().unwrap() += 1;
                tokio::spawn(kept(socket, pieces));
            }
        });
        let client = openai().base_url(url.as_str()).over(direct());
        for _ in 0..4 {
            let answer = ask(&client, question().stream()).await.unwrap().collect().await.unwrap();
            assert_eq!(answer.message().text(), "wave ");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(*connections.lock().unwrap(), 1, "{pieces:?}");
    }
}
