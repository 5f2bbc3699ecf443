//! HTTP as such: connections, requests, limits, the log, the end.
use super::*;
use seawall::sim::{Answer, Fault, Limits, Log, Script, When};
use std::{num::NonZeroU32, sync::Arc, sync::Mutex};

async fn healthy() -> MockProvider {
    MockProvider::start(Script::seeded(1)).await.unwrap()
}

fn statuses(bytes: &str) -> Vec<&str> {
    bytes.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect()
}

fn limit(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).unwrap()
}

#[tokio::test]
async fn a_real_client_gets_a_chat_completion() {
    let provider = healthy().await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/chat/completions", provider.base_url());
    let response = client.post(url).body(CHAT).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    let reply: serde_json::Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
    assert_eq!((&reply["object"], &reply["model"]), (&"chat.completion".into(), &"gpt-4o".into()));
    assert_eq!(reply["choices"][0]["message"]["content"], "This is answer 1 of the mock provider.");
    assert_eq!(reply["usage"]["prompt_tokens"], CHAT.len().div_ceil(4));
    assert_eq!(reply["usage"]["completion_tokens"], 10);
    assert_eq!(reply["usage"]["total_tokens"], CHAT.len().div_ceil(4) + 10);
}

#[tokio::test]
async fn requests_sent_ahead_are_answered_in_their_order() {
    let provider = healthy().await;
    let all = [post(""), post(""), post("connection: close\r\n")].concat();
    let (bytes, end) = exchange(&provider, &all).await;
    assert!(end.is_ok());
    let ids: Vec<_> = bytes.match_indices("chatcmpl-mock-").map(|(at, id)| &bytes[at + id.len()..][..1]).collect();
    assert_eq!(ids, ["1", "2", "3"]);
}

#[tokio::test]
async fn requests_sent_ahead_wait_out_a_delay() {
    let script = Script::seeded(1).fault(When::nth(1), Fault::delay(Phase::InBody, ms(20)));
    let provider = MockProvider::start(script).await.unwrap();
    let (bytes, _) = exchange(&provider, &[post(""), post("connection: close\r\n")].concat()).await;
    assert_eq!(statuses(&bytes), ["200", "200"]);
}

#[tokio::test]
async fn a_request_may_come_byte_by_byte_or_in_chunks() {
    let provider = healthy().await;
    let mut stream = connect(&provider).await;
    for byte in post("").as_bytes() {
        stream.write_all(&[*byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    let (one, other) = CHAT.split_at(20);
    let chunks = format!("14\r\n{one}\r\n{:X};why=not\r\n{other}\r\n0\r\ntrailer: 1\r\n\r\n", other.len());
    let head = "POST /v1/chat/completions HTTP/1.1\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    stream.write_all(format!("{head}{chunks}").as_bytes()).await.unwrap();
    let (bytes, _) = read(&mut stream).await;
    assert_eq!(statuses(&bytes), ["200", "200"], "{bytes}");
    let lengths: Vec<_> = provider.log().records.iter().map(|record| record.body_len).collect();
    assert_eq!(lengths, [CHAT.len() as u64; 2]);
}

#[tokio::test]
async fn a_client_that_asks_first_is_told_to_go_on() {
    let provider = healthy().await;
    let mut stream = connect(&provider).await;
    let head = post("expect: 100-continue\r\nconnection: close\r\n").replace(CHAT, "");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).await.unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(CHAT.as_bytes()).await.unwrap();
    assert_eq!(statuses(&read(&mut stream).await.0), ["200"]);
}

#[tokio::test]
async fn what_is_no_request_gets_a_4xx_and_a_closed_connection() {
    let long = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(70 << 10));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(101));
    let cases = [
        ("\u{1}\u{2}\u{3}\r\n\r\n", "400"),
        ("POST / HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n", "400"),
        ("POST / HTTP/1.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n", "400"),
        ("POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", "400"),
        ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", "400"),
        ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nabcd\r\n", "400"),
        ("POST / HTTP/1.1\r\ncontent-length: 99999999999999999999999\r\n\r\n", "413"),
        ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFF\r\n", "413"),
        (&long, "431"),
        (&many, "431"),
    ];
    for (request, status) in cases {
        let provider = healthy().await;
        let (bytes, end) = exchange(&provider, request).await;
        let shown: String = request.chars().take(80).collect();
        assert_eq!((statuses(&bytes), end.is_ok()), (vec![status], true), "{shown:?}");
        let records = provider.shutdown().await.records;
        assert_eq!(records.iter().map(|record| record.end).collect::<Vec<_>>(), [End::Unreadable], "{shown:?}");
    }
}

#[tokio::test]
async fn what_a_provider_does_not_know_gets_a_404_or_a_400() {
    let provider = healthy().await;
    let (unknown, _) = exchange(&provider, "GET /v2/models HTTP/1.1\r\nconnection: close\r\n\r\n").await;
    assert!(unknown.starts_with("HTTP/1.1 404 ") && unknown.contains("/v2/models"), "{unknown}");
    let (broken, _) = exchange(&provider, &post("connection: close\r\n").replace("\"model\"", "\"modal\"")).await;
    assert!(broken.starts_with("HTTP/1.1 400 ") && broken.contains("missing field `model`"), "{broken}");
}

#[tokio::test]
async fn a_limit_is_true_and_its_wait_suffices() {
    let limits = Limits::default().requests_per_minute(limit(1200)).burst(limit(2));
    let provider = MockProvider::start(Script::seeded(1).limits(limits)).await.unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/chat/completions", provider.base_url());
    let ask = || client.post(&url).body(CHAT).send();
    let (mut answered, mut refused) = (0, 0);
    while refused < 3 {
        let response = ask().await.unwrap();
        if response.status() == 200 {
            answered += 1;
            continue;
        }
        refused += 1;
        let header = |name| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!((header("x-ratelimit-limit-requests"), header("retry-after")), ("1200".into(), "1".into()));
        let wait: u64 = header("retry-after-ms").parse().unwrap();
        assert!((1..=50).contains(&wait), "one of 1200 a minute takes 50 ms: {wait}");
        tokio::time::sleep(ms(wait)).await;
        assert_eq!(ask().await.unwrap().status(), 200, "the told wait is long enough");
        answered += 1;
    }
    let log = provider.shutdown().await;
    let most = 2 + 20 * (log.records.last().unwrap().at.as_millis() as u64 + 1).div_ceil(1000);
    assert!(answered <= most, "{answered} of at most {most}");
    let limited = log.records.iter().filter(|record| record.fault == Some(FaultKind::RateLimit)).count();
    assert_eq!(limited, 3);
}

#[tokio::test]
async fn a_client_that_hangs_up_in_a_delay_is_noticed_at_once() {
    let script = Script::seeded(1).answer(Answer::default().delay(Duration::from_secs(600)));
    let provider = MockProvider::start(script).await.unwrap();
    let mut stream = connect(&provider).await;
    stream.write_all(post("").as_bytes()).await.unwrap();
    has_seen(&provider, 1).await;
    drop(stream);
    provider.settled().await;
    let record = provider.log().records.remove(0);
    assert_eq!((record.end, record.status), (End::HungUp, None));
}

#[tokio::test]
async fn the_log_is_exact_and_holds_no_credentials() {
    let script = Script::seeded(1).fault(When::nth(2), Fault::status(503));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = heard.clone();
    let builder = MockProvider::builder(script).on_record(move |record| ear.lock().unwrap().push(record.clone()));
    let provider = builder.start().await.unwrap();
    let secrets = "authorization: Bearer sk-abc\r\nx-api-key: sk-abc\r\ncookie: sk-abc\r\nidempotency-key: i-1\r\n";
    let keyed = post(secrets).replace("completions HTTP", "completions?key=sk-abc HTTP");
    exchange(&provider, &[keyed, post("connection: close\r\n")].concat()).await.1.unwrap();
    let Log { records, dropped, .. } = provider.shutdown().await;
    assert_eq!((records.len(), dropped), (2, 0));
    let first = &records[0];
    assert_eq!((first.number, first.method.as_str(), first.path.as_str()), (1, "POST", "/v1/chat/completions"));
    assert_eq!((first.body_len, first.status, first.fault), (CHAT.len() as u64, Some(200), None));
    let headers = [
        ("authorization", "…"),
        ("content-length", &CHAT.len().to_string()),
        ("host", "mock"),
        ("idempotency-key", "i-1"),
        ("x-api-key", "…"),
    ];
    assert!(first.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).eq(headers));
    assert!(first.sent > 100 && first.at <= records[1].at);
    assert_eq!(told(&records[1]), (Some(FaultKind::Answer), Some(Phase::InHead), End::Answered));
    assert!(!format!("{records:?}").contains("sk-abc"));
    assert_eq!(*heard.lock().unwrap(), records);
}

#[tokio::test]
async fn a_shutdown_leaves_no_task_and_no_connection() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let provider =
        MockProvider::start(Script::seeded(1).fault(When::nth(2), Fault::silence(Phase::InBody))).await.unwrap();
    let address = provider.address();
    let mut idle = connect(&provider).await;
    idle.write_all(post("").as_bytes()).await.unwrap();
    has_seen(&provider, 1).await;
    let mut silent = connect(&provider).await;
    silent.write_all(post("").as_bytes()).await.unwrap();
    has_seen(&provider, 2).await;
    assert!(tasks() >= 3);
    let log = provider.shutdown().await;
    assert_eq!(tasks(), 0);
    assert_eq!(log.records.iter().map(|record| record.end).collect::<Vec<_>>(), [End::Answered, End::Shutdown]);
    assert_eq!(statuses(&read(&mut idle).await.0), ["200"]);
    assert_eq!(statuses(&read(&mut silent).await.0), ["200"]);
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens");
}

#[tokio::test]
async fn a_dropped_provider_leaves_no_task() {
    let provider =
        MockProvider::start(Script::seeded(1).fault(When::always(), Fault::silence(Phase::InHead))).await.unwrap();
    let mut stream = connect(&provider).await;
    stream.write_all(post("").as_bytes()).await.unwrap();
    has_seen(&provider, 1).await;
    drop(provider);
    let _ = read(&mut stream).await;
    while tokio::runtime::Handle::current().metrics().num_alive_tasks() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_script_that_makes_no_sense_does_not_start() {
    let script = Script::seeded(1).fault(When::chance(2.0), Fault::status(500));
    let error = MockProvider::start(script).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert_eq!(error.to_string(), "chance: a share of the requests, from 0.0 to 1.0");
}
