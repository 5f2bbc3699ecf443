//! Peers that mean harm: answers made to exhaust a stack, a memory or a runtime, or to carry secrets into a log.
use crate::ask;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::Full;
use seawall::{
    Error, GaveUp, Kind, What,
    chat::{self, Reply},
    classify::{Classifier, ClassifyLayer},
    provider::OpenAi,
    sim::{Fault, InProcess, Script, When},
    sse,
};
use std::{
    convert::Infallible,
    future::{Future, ready},
    pin::{Pin, pin},
    task::{Context as Cx, Poll, Waker},
    time::Duration,
};
use tower::{Layer, Service, ServiceExt, service_fn};

type Asked = Request<Full<Bytes>>;

fn question() -> chat::Request {
    chat::Request::new("gpt-4o-mini").user("What colour is the sea?")
}

/// A server in process that gives one answer, whoever asks.
fn server(
    status: u16,
    body: impl Into<Bytes>,
) -> impl Service<Asked, Response = Response<Full<Bytes>>, Error = Infallible, Future: Send> + Clone {
    let body = body.into();
    service_fn(move |_: Asked| {
        let mut response = Response::new(Full::new(body.clone()));
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        ready(Ok(response))
    })
}

async fn answered(status: u16, body: impl Into<Bytes>) -> Result<Reply, Error> {
    ask(&OpenAi::new("sk-1").over(server(status, body)), question()).await
}

/// Arrays in JSON in a string under the key by which serde_json knows its raw values, in arrays, and so on: a reader that
/// follows it starts to count the depth anew in each string.
fn strings_in_depth(levels: usize) -> String {
    let (open, close) = ("[".repeat(120), "]".repeat(120));
    (0..levels).fold("0".to_owned(), |inner, _| {
        // Escaped so, each level adds to the one before, and does not double it.
        let inner = inner.replace('\\', "\\u005c").replace('"', "\\u0022");
        format!(r#"{open}{{"$serde_json::private::RawValue":"{inner}"}}{close}"#)
    })
}

#[tokio::test]
async fn json_in_strings_in_json_does_not_exhaust_the_stack() {
    let bomb = format!(r#"{{"choices":{},"error":null}}"#, strings_in_depth(150));
    assert_eq!(answered(200, bomb.clone()).await.unwrap_err().kind(), Kind::Unknown);
    let (classifier, headers) = (Classifier::new(), HeaderMap::new());
    assert!(classifier.success(&headers, bomb.as_bytes()).is_none());
    assert!(classifier.frame(Some("delta"), bomb.as_bytes()).is_none());
    let streams = [bomb.clone(), format!("[{bomb}]"), format!("data: {bomb}\n\n"), format!("{bomb}\n{bomb}\n")];
    for stream in streams {
        assert_eq!(classifier.stream(&headers, stream.as_bytes()).unwrap().kind(), Kind::Transport);
    }
    let refused = format!(r#"{{"error":{{"code":"rate_limit_exceeded","message":{}}}}}"#, strings_in_depth(60));
    assert_eq!(answered(429, refused).await.unwrap_err().kind(), Kind::RateLimited);
}

#[tokio::test]
async fn json_in_depth_hides_neither_an_error_nor_a_reply() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let error = answered(200, format!(r#"{{"x":{deep},"error":{{"code":"server_overloaded"}}}}"#)).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Overloaded);
    let reply = answered(200, format!(r#"{{"x":{deep},"choices":[{{"message":{{"content":"Blue."}}}}]}}"#)).await;
    assert_eq!(reply.unwrap().text(), "Blue.");
    let arguments = format!(
        r#"{{"choices":[{{"message":{{"tool_calls":[{{"id":"c","function":
        {{"name":"f","arguments":{deep}}}}}]}}}}]}}"#
    );
    let reply = answered(200, arguments).await.unwrap();
    assert_eq!(reply.tool_calls().next().unwrap().arguments(), deep);
}

#[tokio::test]
async fn of_a_million_choices_the_first_one_is_read() {
    let more = ",{}".repeat(1_000_000);
    let reply = answered(200, format!(r#"{{"choices":[{{"message":{{"content":"Blue."}}}}{more}]}}"#)).await;
    assert_eq!(reply.unwrap().text(), "Blue.");
}

#[tokio::test]
async fn what_the_judge_passes_over_the_reader_passes_over_too() {
    for before in ["\u{feff}", "\n \r\n", ": PROCESSING\n\n: PROCESSING\n\n", "\u{feff}: x\n"] {
        let reply = answered(200, format!(r#"{before}{{"choices":[{{"message":{{"content":"Blue."}}}}]}}"#)).await;
        assert_eq!(reply.unwrap().text(), "Blue.", "{before:?}");
        assert_eq!(answered(200, before).await.unwrap_err().kind(), Kind::Transport, "{before:?}");
    }
}

#[test]
fn a_recorded_stream_of_many_frames_is_read_to_its_last() {
    let frames = r#"{"candidates":[{"content":"x"}]},"#.repeat(5_000);
    let stream = |last: &str| Classifier::new().stream(&HeaderMap::new(), format!("[{frames}{last}").as_bytes());
    assert!(stream(r#"{"candidates":[{"finishReason":"STOP"}]}]"#).is_none());
    assert_eq!(stream(r#"{"error":{"code":503,"message":"The model is overloaded"}}]"#).unwrap().status(), Some(503));
    assert_eq!(stream(r#"{"candidates":[{}]}]"#).unwrap().kind(), Kind::Transport);
    assert_eq!(stream(r#"{"candidates":[{"finishReason":"STOP"}]}"#).unwrap().kind(), Kind::Transport, "cut");
    assert_eq!(stream(r#"{"error":{"code":503,"message":"The mod"#).unwrap().status(), Some(503), "cut in its error");
}

/// A body of frames that hold nothing, without end. A reader that never lets go of it panics.
struct Nothings(u32);

impl Body for Nothings {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0 += 1;
        assert!(self.0 < 100_000, "no other task has had its turn");
        Poll::Ready(Some(Ok(Frame::data(Bytes::new()))))
    }
}

fn endless(
    status: u16,
) -> impl Service<Asked, Response = Response<Nothings>, Error = Infallible, Future: Send> + Clone {
    service_fn(move |_: Asked| {
        let mut response = Response::new(Nothings(0));
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        ready(Ok(response))
    })
}

/// Polls once, lets ten seconds pass, and polls again.
async fn ten_seconds_apart<T>(call: impl Future<Output = T>) -> (Poll<T>, Poll<T>) {
    let mut call = pin!(call);
    let cx = &mut Cx::from_waker(Waker::noop());
    let first = call.as_mut().poll(cx);
    tokio::time::advance(Duration::from_secs(10)).await;
    (first, call.as_mut().poll(cx))
}

#[tokio::test(start_paused = true)]
async fn frames_without_end_that_hold_nothing_let_the_clocks_go_on() {
    let client = |status| OpenAi::new("sk-1").over(endless(status)).oneshot(question());
    let (first, then) = ten_seconds_apart(client(429)).await;
    assert!(first.is_pending());
    assert!(matches!(then, Poll::Ready(Err(error)) if error.kind() == Kind::RateLimited));
    let (first, then) = ten_seconds_apart(client(200)).await;
    assert!(first.is_pending() && then.is_pending(), "for a timeout above to end");

    let layer = |layer: ClassifyLayer<_>, status| layer.layer(endless(status)).oneshot(Request::new(Full::default()));
    let (first, then) = ten_seconds_apart(layer(ClassifyLayer::http(), 429)).await;
    assert!(first.is_pending());
    assert!(matches!(then, Poll::Ready(Err(error)) if error.kind() == Kind::RateLimited));
    let (first, then) = ten_seconds_apart(layer(ClassifyLayer::http().look_into_success(1024), 200)).await;
    assert!(first.is_pending() && then.is_pending());
}

#[test]
fn a_wait_of_more_digits_than_a_number_has_is_as_long_as_any() {
    for name in ["retry-after", "retry-after-ms"] {
        let headers = HeaderMap::from_iter([(name.parse().unwrap(), "9".repeat(400).parse::<HeaderValue>().unwrap())]);
        let error = Classifier::new().answer(StatusCode::TOO_MANY_REQUESTS, &headers, b"");
        assert_eq!(error.retry_after(), Some(Duration::MAX), "{name}");
    }
}

/// What may stand in no log, each in a place of its own.
const SECRETS: [&str; 6] = ["sk-KEY1", "PROMPT2", "QUERY3", "MESSAGE4", "CODE5", "REQID6"];

fn shown(error: &Error) -> String {
    let event = What::GaveUp { error, reason: GaveUp::AttemptsSpent };
    let retrying = What::Retrying { error, retry: 1, wait: Duration::ZERO };
    format!("{error} {error:?} {error:#?} {event:?} {retrying:?} {:?}", error.trail())
}

fn holds_no_secret(shown: &str) {
    for secret in SECRETS {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

#[tokio::test]
async fn no_secret_is_shown_whatever_the_answer_repeats() {
    let openai = || OpenAi::new("sk-KEY1").base_url("http://127.0.0.1:1/v1?key=QUERY3");
    let request = || question().system("PROMPT2").user("PROMPT2").tenant("t").tool_result("c", "PROMPT2");
    let repeated = r#"{"error":{"message":"MESSAGE4 PROMPT2 sk-KEY1 QUERY3","code":"CODE5","type":"sk-KEY1"}}"#;
    holds_no_secret(&format!("{:?} {:#?} {:?}", openai(), openai(), request()));
    let provider = InProcess::new(
        Script::seeded(1).fault(When::always(), Fault::status(429).body(repeated).header("x-request-id", "REQID6")),
    );
    let provider = provider.unwrap();
    let client = openai().over(provider.clone());
    holds_no_secret(&format!("{client:?}"));
    holds_no_secret(&shown(&ask(&client, request()).await.unwrap_err()));
    holds_no_secret(&format!("{provider:?} {:?}", provider.log()));
    for status in [200, 204, 304, 400, 401, 429, 500] {
        let error = ask(&openai().over(server(status, repeated)), request()).await.unwrap_err();
        holds_no_secret(&shown(&error));
    }
    for body in
        ["PROMPT2", "<title>PROMPT2</title>", r#""PROMPT2""#, r#"{"choices":"PROMPT2"}"#, "{PROMPT2", "[1,PROMPT2"]
    {
        for status in [200, 500] {
            let error = ask(&openai().over(server(status, body)), request()).await.unwrap_err();
            holds_no_secret(&shown(&error));
        }
    }
    let reply = answered(200, r#"{"choices":[{"message":{"content":"PROMPT2"}}]}"#).await.unwrap();
    holds_no_secret(&format!("{reply:?}"));
    let mut parser = sse::Parser::new(1024);
    parser.push(b"event: MESSAGE4\ndata: PROMPT2\n\ndata: PROMPT2");
    assert!(parser.next().is_some());
    holds_no_secret(&format!("{parser:?}"));
    let error = ask(&openai().client().unwrap(), request()).await.unwrap_err();
    let causes = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
    holds_no_secret(&causes.map(|cause| format!("{cause} {cause:?} {cause:#?} ")).collect::<String>());
    holds_no_secret(&shown(&error));
}

#[tokio::test]
async fn an_answer_that_belongs_to_no_call_is_a_typed_error() {
    for status in [100, 101, 103, 204, 205, 206, 226, 299, 300, 301, 304, 307, 308, 418, 600, 999] {
        let error = answered(status, "").await.unwrap_err();
        assert!(matches!(error.kind(), Kind::Unknown | Kind::Transport), "{status}: {error}");
    }
    let shapes = [
        r#"{"choices":[]}"#,
        r#"{"choices":null}"#,
        r#"{"choices":{}}"#,
        r#"{"choices":[{"message":null}]}"#,
        r#"{"choices":[7]}"#,
        r#"{"choices":[{"message":{"content":7}}]}"#,
        r#"{"choices":[{"message":{"content":[{"text":7}]}}]}"#,
        r#"{"choices":[{"message":{"tool_calls":[{}]}}]}"#,
        r#"{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"message":{"content":"\ud800"}}]}"#,
        r#"{"choices":[],"choices":[]}"#,
        "[]",
        "null",
        "7",
        "\u{0}",
    ];
    for shape in shapes {
        let error = answered(200, shape).await.unwrap_err();
        assert_eq!((error.sends(), error.is_delivered()), (1, false), "{shape}: {error}");
    }
    for bytes in [&b"{\"choices\":[{\"message\":{\"content\":\"\xff\"}}]}"[..], b"\xff\xfe{\0}\0"] {
        assert!(answered(200, bytes).await.is_err());
    }
}
