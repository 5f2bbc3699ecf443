//! How calls end: clients that hang up, and a server that stops. Over real sockets.
use axum::Router;
use seawall::{
    Gate, Stack,
    adapters::axum::serve,
    provider::OpenAi,
    serve::{self, Drain, Endpoint},
    sim::{Answer, Fault, MockProvider, Phase, Script, When},
};
use std::{
    future::Future,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
    time::timeout,
};
use tower::util::MapRequestLayer;

struct Served {
    provider: MockProvider,
    address: SocketAddr,
    /// The requests that came to an endpoint.
    arrived: Arc<AtomicU32>,
    stop: Option<oneshot::Sender<()>>,
    server: JoinHandle<()>,
}

async fn served(script: Script, grace: Duration) -> Served {
    let provider = MockProvider::start(script).await.unwrap();
    let client = OpenAi::new("k").base_url(provider.base_url()).client().unwrap();
    let gate = Gate::new();
    gate.force_circuit_closed();
    let stack = Stack::chat(client).gate(&gate).concurrency(1).build().unwrap();
    let drain = Drain::new();
    let router = Router::new()
        .route_service("/v1/chat/completions", Endpoint::new(serve::OpenAi::new(), stack.clone()).drain(&drain))
        .route_service("/v1/messages", Endpoint::new(serve::Anthropic::new(), stack).drain(&drain));
    let arrived = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&arrived);
    let router = router.layer(MapRequestLayer::new(move |request: axum::extract::Request| {
        count.fetch_add(1, Ordering::Relaxed);
        request
    }));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let server = tokio::spawn(async move {
        serve(listener, router).drain(&drain).grace(grace).until(async { drop(stopped.await) }).await.unwrap();
    });
    Served { provider, address, arrived, stop: Some(stop), server }
}

impl Served {
    /// Sends a call, and gives the connection.
    async fn call(&self, stream: bool) -> TcpStream {
        let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"?"}}],"stream":{stream}}}"#);
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut connection = TcpStream::connect(self.address).await.unwrap();
        connection.write_all(head.as_bytes()).await.unwrap();
        connection.write_all(body.as_bytes()).await.unwrap();
        connection
    }

    async fn seen(&self, calls: u64) {
        until(|| self.provider.seen() >= calls).await;
    }

    /// Nothing is under way upstream, and the one permit is free: the next call is answered.
    async fn is_clean(&self) {
        until(|| self.provider.in_flight() == 0).await;
    }
}

async fn until(is_so: impl Fn() -> bool) {
    let so = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    within(so).await;
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(10), future).await.expect("it hangs")
}

async fn read_to(connection: &mut TcpStream, word: &str) -> String {
    let mut all = Vec::new();
    while !String::from_utf8_lossy(&all).contains(word) {
        let mut chunk = [0; 1024];
        let read = within(connection.read(&mut chunk)).await.unwrap();
        assert_ne!(read, 0, "{}", String::from_utf8_lossy(&all));
        all.extend_from_slice(&chunk[..read]);
    }
    String::from_utf8(all).unwrap()
}

async fn rest(mut connection: TcpStream) -> String {
    let mut all = Vec::new();
    let _ = within(connection.read_to_end(&mut all)).await;
    String::from_utf8(all).unwrap()
}

#[tokio::test]
async fn a_client_that_hangs_up_while_the_head_is_awaited_leaves_nothing_behind() {
    for stream in [false, true] {
        let script = Script::seeded(1).fault(When::first(1), Fault::silence(Phase::BeforeHead));
        let served = served(script, Duration::from_secs(5)).await;
        let connection = served.call(stream).await;
        served.seen(1).await;
        drop(connection);
        served.is_clean().await;
        assert!(rest(served.call(stream).await).await.contains("200 OK"), "the permit is free");
        assert_eq!(served.provider.seen(), 2);
    }
}

#[tokio::test]
async fn a_client_that_hangs_up_during_a_wait_for_a_retry_leaves_no_sleep_behind() {
    let script = Script::seeded(1).fault(When::first(1), Fault::status(503).header("retry-after", "3600"));
    let served = served(script.fault(When::nth(2), Fault::status(503)), Duration::from_secs(5)).await;
    let first = rest(served.call(false).await).await; // told to wait for longer than it may
    assert!(first.contains("503 ") && first.contains("retry-after: 3600"), "{first}");
    let connection = served.call(false).await;
    served.seen(2).await;
    drop(connection);
    served.is_clean().await;
    assert!(rest(served.call(false).await).await.contains("200 OK"));
    assert_eq!(served.provider.seen(), 3, "what was dropped is not asked again");
}

#[tokio::test]
async fn a_client_that_hangs_up_in_a_stream_ends_it_upstream() {
    for event in [1, 4, 9] {
        let answer = Answer::default().text("w ".repeat(40));
        let script = Script::seeded(1).answer(answer).fault(When::first(1), Fault::silence(Phase::AfterTokens(event)));
        let served = served(script, Duration::from_secs(5)).await;
        let mut connection = served.call(true).await;
        read_to(&mut connection, "\"content\":\"w").await;
        drop(connection);
        served.is_clean().await;
        assert!(rest(served.call(true).await).await.contains("[DONE]"), "the permit is free");
    }
}

#[tokio::test]
async fn a_client_that_sent_more_than_its_request_and_hangs_up_leaves_nothing_behind() {
    let next = "POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}";
    for more in ["\r\n", "\n\r\n\n", "GET ", next] {
        for stream in [false, true] {
            let script = Script::seeded(1).fault(When::first(1), Fault::silence(Phase::BeforeHead));
            let served = served(script, Duration::from_secs(5)).await;
            let mut connection = served.call(stream).await;
            connection.write_all(more.as_bytes()).await.unwrap();
            served.seen(1).await;
            drop(connection);
            served.is_clean().await;
            assert!(rest(served.call(stream).await).await.contains("200 OK"), "the permit is free");
        }
    }
}

#[tokio::test]
async fn a_stray_line_end_behind_a_request_does_no_harm() {
    let served = served(Script::seeded(1), Duration::from_secs(5)).await;
    let mut connection = served.call(true).await;
    connection.write_all(b"\r\n").await.unwrap();
    let told = rest(connection).await;
    assert!(told.contains("200 OK") && told.contains("[DONE]"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_head_that_does_not_come_is_not_awaited_for_ever() {
    let router = Router::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, router).until(std::future::pending()));
    for begun in ["", "P", "PRI * HTTP/2.0", "POST / HTTP/1.1\r\nhost: x\r\ncontent-len"] {
        let mut connection = TcpStream::connect(address).await.unwrap();
        connection.write_all(begun.as_bytes()).await.unwrap();
        let mut all = Vec::new();
        let ended = timeout(Duration::from_secs(600), connection.read_to_end(&mut all)).await;
        assert!(ended.is_ok(), "{begun:?}: it is open after ten minutes");
    }
}

#[tokio::test]
async fn who_writes_far_too_much_before_reading_is_told_so_all_the_same() {
    let served = served(Script::seeded(1), Duration::from_secs(5)).await;
    let large = vec![b'a'; 50_000_000];
    for head in
        [format!("content-length: {}\r\n\r\n", large.len()), "transfer-encoding: chunked\r\n\r\n2faf080\r\n".to_owned()]
    {
        let mut connection = TcpStream::connect(served.address).await.unwrap();
        connection.write_all(format!("POST /v1/messages HTTP/1.1\r\nhost: x\r\n{head}").as_bytes()).await.unwrap();
        within(connection.write_all(&large)).await.unwrap();
        connection.write_all(b"\r\n0\r\n\r\n").await.unwrap();
        let told = read_to(&mut connection, "request_too_large").await;
        assert!(told.starts_with("HTTP/1.1 413 "), "{told}");
    }
    assert_eq!(served.provider.seen(), 0);
}

#[tokio::test]
async fn half_a_request_is_nothing_and_is_let_go() {
    let served = served(Script::seeded(1), Duration::from_secs(5)).await;
    let mut connection = TcpStream::connect(served.address).await.unwrap();
    connection
        .write_all(b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{\"model\"")
        .await
        .unwrap();
    drop(connection);
    assert!(rest(served.call(false).await).await.contains("200 OK"));
    assert_eq!(served.provider.seen(), 1);
}

#[tokio::test]
async fn a_server_that_stops_lets_a_stream_end_in_its_time() {
    let answer = Answer::default().text("one two three four five six");
    let pause = Fault::delay(Phase::AfterTokens(2), Duration::from_millis(300));
    let mut served =
        served(Script::seeded(1).answer(answer).fault(When::always(), pause), Duration::from_secs(10)).await;
    let mut connection = served.call(true).await;
    read_to(&mut connection, "one").await;
    drop(served.stop.take());
    let told = rest(connection).await;
    assert!(told.contains("[DONE]"), "{told}");
    within(&mut served.server).await.unwrap();
    assert!(TcpStream::connect(served.address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn a_server_that_stops_tells_those_whose_time_is_over() {
    let answer = Answer::default().text("one two three four five six");
    let silent = Fault::silence(Phase::AfterTokens(3));
    let mut served =
        served(Script::seeded(1).answer(answer).fault(When::always(), silent), Duration::from_millis(50)).await;
    let mut streamed = served.call(true).await;
    read_to(&mut streamed, "one").await;
    let awaited = served.call(false).await; // in line for the permit
    until(|| served.arrived.load(Ordering::Relaxed) == 2).await;
    drop(served.stop.take());
    let told = rest(streamed).await;
    assert!(told.contains("\"error\"") && !told.contains("[DONE]"), "{told}");
    assert!(rest(awaited).await.contains("503 "));
    within(&mut served.server).await.unwrap();
}
