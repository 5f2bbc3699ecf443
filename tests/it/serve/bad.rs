//! Requests that make no sense, are too large, too slow or hostile: told in the client's words, and nothing is sent.
use super::{ask, json};
use crate::{guarded, seconds};
use bytes::Bytes;
use http_body::{Body, Frame};
use seawall::{
    Error, Kind, Stack, chat,
    provider::OpenAi,
    serve::{self, Endpoint, Failure, Limits, Protocol},
    sim::{InProcess, Script},
    stack::Boxed,
};
use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::Sleep;
use tower::{Service, ServiceExt};

fn stack(provider: &InProcess) -> Boxed {
    Boxed::new(Stack::chat(OpenAi::new("k").over(provider.clone())).max_retries(0).build().unwrap())
}

fn provider() -> InProcess {
    InProcess::new(Script::seeded(1)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn each_fault_is_told_by_its_place_in_the_clients_words() {
    guarded(async {
        let provider = provider();
        let openai = Endpoint::new(serve::OpenAi::new(), stack(&provider));
        let anthropic = Endpoint::new(serve::Anthropic::new(), stack(&provider));
        let deep = format!(r#"{{"model":"m","x":{}1{}}}"#, "[".repeat(5000), "]".repeat(5000));
        let wide = format!(r#"{{"model":"m","x":[{}1]}}"#, "1,".repeat(200_000));
        for (body, word) in [
            (&b""[..], "empty"),
            (b"{", "line 1"),
            (b"[]", "must be an object"),
            (b"nonsense", "no JSON"),
            (b"{\"model\":\"\xff\"}", "no UTF-8 from byte 10"),
            (b"{}", "model: is missing"),
            (br#"{"model":7}"#, "model: must be a text, and is a number"),
            (br#"{"model":"","messages":[],"max_tokens":1}"#, "model: is empty"),
            (br#"{"model":"m","max_tokens":1}"#, "messages: "),
            (br#"{"model":"m","messages":{},"max_tokens":1}"#, "messages: must be a list"),
            (br#"{"model":"m","messages":[7],"max_tokens":1}"#, "messages[0]: must be an object"),
            (br#"{"model":"m","messages":[{"role":"king","content":""}]}"#, "messages[0].role: must be"),
            (br#"{"model":"m","messages":[{"role":"user"}]}"#, "messages[0].content: is missing"),
            (
                br#"{"model":"m","messages":[{"role":"user","content":[{"type":"text"}]}]}"#,
                "messages[0].content[0].text: is missing",
            ),
            (br#"{"model":"m","temperature":"hot"}"#, "temperature: must be a number"),
            (br#"{"model":"m","max_tokens":-1}"#, "max_tokens: must be a whole number"),
            (br#"{"model":"m","max_tokens":1e99}"#, "max_tokens: must be a whole number"),
            (br#"{"model":"m","stream":"yes"}"#, "stream: must be true or false"),
            (br#"{"model":"m","tools":[{}]}"#, "tools[0]."),
            (deep.as_bytes(), "x: is nested too deep"),
            (wide.as_bytes(), "x: holds more than 100000 values"),
        ] {
            let (head, told) = ask(&openai, body.to_vec()).await;
            assert_eq!(
                (head.status.as_u16(), &json(&told)["error"]["type"]),
                (400, &"invalid_request_error".into()),
                "{word}"
            );
            assert!(told.contains(word), "{word}: {told}");
            let (head, told) = ask(&anthropic, body.to_vec()).await;
            assert_eq!((head.status.as_u16(), &json(&told)["type"]), (400, &"error".into()));
            assert!(told.contains(word), "{word}: {told}");
        }
        // A key for which serde_json parses a text without counting how deep it goes is a key like any other.
        let bomb = "[".repeat(200_000);
        for key in ["$serde_json::private::RawValue", "\\u0024serde_json::private::RawValue"] {
            let body = format!(r#"{{"model":"m","x":{{"{key}":"{bomb}"}},"messages":7}}"#);
            assert!(ask(&openai, body).await.1.contains("messages: must be a list"));
        }
        // Many small things together are as much as one large one.
        let fields = (0..60).map(|n| format!(r#""x{n}":[{}1],"#, "1,".repeat(2_000))).collect::<String>();
        let stops = format!(r#"["a"{}]"#, r#","a""#.repeat(100));
        for (body, word) in [
            (format!(r#"{{{fields}"model":"m"}}"#), "holds more than 100000 values, with those before it"),
            (format!(r#"{{"stop":{stops},"stop_sequences":{stops}}}"#), "more than 100 are too many"),
            (
                format!("{{{}}}", (0..101).map(|n| format!(r#""x{n}":1"#)).collect::<Vec<_>>().join(",")),
                "more than 100 fields",
            ),
            (r#"{"model":"m","model":"n"}"#.to_owned(), "model: is given twice"),
        ] {
            for (_, told) in [ask(&openai, body.clone()).await, ask(&anthropic, body.clone()).await] {
                assert!(told.contains(word), "{word}: {told}");
            }
        }
        // A result of results of results: nobody walks down into it.
        let nested = r#"{"type":"tool_result","tool_use_id":"a","content":["#.repeat(50_000) + &"]}".repeat(50_000);
        let body = format!(r#"{{"model":"m","max_tokens":1,"messages":[{{"role":"user","content":[{nested}]}}]}}"#);
        let (_, told) = ask(&anthropic, body).await;
        assert!(told.contains("messages[0].content[0].content[0]: a result here is text"), "{told}");

        let (_, told) = ask(&openai, &br#"{"model":"m","messages":[{"role":"user","content":"?"}],"n":2}"#[..]).await;
        assert_eq!(
            (&json(&told)["error"]["code"], &json(&told)["error"]["param"]),
            (&"unsupported_parameter".into(), &"n".into())
        );
        assert_eq!(provider.seen(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_too_large_or_never_ends_is_answered_and_not_kept() {
    guarded(async {
        let provider = provider();
        let limits = Limits::default().body(1000).unwrap().within(seconds(5)).unwrap();
        let endpoint = Endpoint::new(serve::OpenAi::new(), stack(&provider)).limits(limits);
        let (head, told) = ask(&endpoint, vec![b' '; 1001]).await;
        assert_eq!((head.status.as_u16(), &json(&told)["error"]["code"]), (413, &"request_too_large".into()));

        // Without a length, and without an end.
        for (bytes, every, status) in [(100, Duration::ZERO, 413), (1, seconds(1), 408)] {
            let request = http::Request::post("/")
                .body(Drip { bytes, every, pause: Box::pin(tokio::time::sleep(every)) })
                .unwrap();
            let Ok(response) = endpoint.clone().oneshot(request).await;
            assert_eq!(response.status().as_u16(), status);
        }
        let Ok(response) = endpoint.clone().oneshot(http::Request::get("/").body(String::new()).unwrap()).await;
        assert_eq!((response.status().as_u16(), &response.headers()["allow"]), (405, &"POST".parse().unwrap()));
        assert_eq!(provider.seen(), 0);
    })
    .await;
}

/// A body that never ends.
struct Drip {
    bytes: usize,
    every: Duration,
    pause: Pin<Box<Sleep>>,
}

impl Body for Drip {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        ready!(self.pause.as_mut().poll(cx));
        self.pause = Box::pin(tokio::time::sleep(self.every));
        Poll::Ready(Some(Ok(Frame::data(vec![b' '; self.bytes].into()))))
    }
}

#[test]
fn every_kind_has_a_status_and_no_word_of_the_provider_but_on_the_request() {
    for kind in Kind::ALL {
        let error =
            Error::provider(*kind).with_message("seed: org-upstream").with_retry_after(Duration::from_millis(1001));
        let failure = Failure::of(&error);
        let status = failure.status().as_u16();
        let expected = match kind {
            Kind::RateLimited | Kind::CoolingDown | Kind::LocalLimit => 429,
            Kind::Overloaded | Kind::CircuitOpen | Kind::Conflict | Kind::Cancelled => 503,
            Kind::Timeout | Kind::Deadline => 504,
            Kind::Credit => 402,
            Kind::PayloadTooLarge => 413,
            Kind::NotFound => 404,
            Kind::InvalidRequest | Kind::UnsupportedParameter | Kind::ContextLength | Kind::ContentFiltered => 400,
            _ => 502,
        };
        assert_eq!(status, expected, "{kind:?}");
        let is_about_the_request = status == 400 || status == 413;
        assert_eq!(failure.message().contains("org-upstream"), is_about_the_request, "{kind:?}");
        assert_eq!(failure.retry_after_secs(), (status == 429 || status == 503).then_some(2));
        for body in [serve::OpenAi::new().failure(&failure), serve::Anthropic::new().failure(&failure)] {
            assert!(json(std::str::from_utf8(&body).unwrap())["error"]["message"].is_string());
        }
    }
    let soon = Error::provider(Kind::RateLimited).with_retry_after(Duration::ZERO);
    assert_eq!(Failure::of(&soon).retry_after_secs(), Some(1));
}

#[tokio::test]
async fn a_stack_that_fails_is_told_with_its_wait() {
    async fn limited(_: chat::Request) -> Result<chat::Reply, Error> {
        Err(Error::provider(Kind::RateLimited).with_retry_after(Duration::from_millis(1500)))
    }
    fn check<S: Service<chat::Request, Response = chat::Reply, Error = Error>>(service: S) -> S {
        service
    }
    let endpoint = Endpoint::new(serve::OpenAi::new(), Boxed::new(check(tower::service_fn(limited))));
    let (head, _) = ask(&endpoint, &br#"{"model":"m","messages":[{"role":"user","content":"?"}]}"#[..]).await;
    let header = |name: &str| head.headers[name].to_str().unwrap();
    assert_eq!((header("retry-after"), header("retry-after-ms"), header("x-should-retry")), ("2", "1500", "true"));
}
