//! How a server that stops ends its calls, over real sockets.
use super::wire::{ANTHROPIC, OPENAI, read_to, request, rest, served, within};
use seawall::sim::{Answer, Fault, Phase, Script, When};
use std::time::Duration;
use tokio::{io::AsyncWriteExt, net::TcpStream};

#[tokio::test]
async fn a_server_that_stops_lets_a_stream_end_in_its_time() {
    let answer = Answer::default().text("one two three four five six");
    let pause = Fault::delay(Phase::AfterTokens(2), Duration::from_millis(300));
    let mut served =
        served(Script::seeded(1).answer(answer).fault(When::always(), pause), Duration::from_secs(10)).await;
    let mut connection = served.call(OPENAI, true).await;
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
    let mut streamed = served.call(OPENAI, true).await;
    read_to(&mut streamed, "one").await;
    let awaited = served.call(OPENAI, false).await; // in line for the permit
    served.arrived(2).await;
    drop(served.stop.take());
    let told = rest(streamed).await;
    assert!(told.contains("\"error\"") && !told.contains("[DONE]"), "{told}");
    assert!(rest(awaited).await.contains("503 "));
    within(&mut served.server).await.unwrap();
}

#[tokio::test]
async fn whatever_a_call_waits_for_it_is_told_when_the_time_is_over() {
    // In an endpoint and in a handler of one's own.
    for path in [OPENAI, ANTHROPIC, "/own"] {
        let script = Script::seeded(1).fault(When::always(), Fault::silence(Phase::BeforeHead));
        let mut served = served(script, Duration::from_millis(50)).await;
        let awaited = served.call(path, false).await;
        served.seen(1).await;
        let streamed = served.call(path, true).await; // in line for the permit
        let (head, body) = request(path, false);
        let mut written = served.connect().await;
        written.write_all(format!("{head}{}", &body[..9]).as_bytes()).await.unwrap();
        served.arrived(3).await;
        drop(served.stop.take());
        for connection in [awaited, streamed, written] {
            let told = rest(connection).await;
            assert!(told.starts_with("HTTP/1.1 503 ") && told.contains("\"error\""), "{path}: {told}");
        }
        within(&mut served.server).await.unwrap();
        served.is_clean().await;
    }
}

#[tokio::test]
async fn a_server_that_stops_closes_what_is_idle_at_once() {
    let mut served = served(Script::seeded(1), Duration::from_secs(3600)).await;
    let silent = served.connect().await;
    let mut idle = served.connect().await;
    let (head, body) = request(OPENAI, false);
    idle.write_all(format!("{}{body}", head.replace("connection: close\r\n", "")).as_bytes()).await.unwrap();
    read_to(&mut idle, "\"usage\"").await;
    drop(served.stop.take());
    within(&mut served.server).await.unwrap();
    assert_eq!((rest(silent).await.as_str(), rest(idle).await.ends_with("200 OK")), ("", false));
}

#[tokio::test]
async fn a_client_that_does_not_read_cannot_hold_the_end_up() {
    // More than the buffers of both sides take, which are full when the grace is over.
    let answer = Answer::default().text(format!("{} ", "x".repeat(60_000)).repeat(400));
    let mut served = served(Script::seeded(1).answer(answer), Duration::from_secs(1)).await;
    let mut connection = served.call(OPENAI, true).await;
    read_to(&mut connection, "200 OK").await;
    drop(served.stop.take());
    within(&mut served.server).await.unwrap();
    served.is_clean().await;
    let told = rest(connection).await;
    assert!(!told.contains("[DONE]"), "{}", told.len());
}
