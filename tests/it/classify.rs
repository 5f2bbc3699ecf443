//! Classification through its public API: tables, hostile input, and the layer's contract. Sockets are in `wire.rs`.
use crate::{
    fake::{After, Fake, Now, fake},
    guarded, seconds, timed,
};
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full};
use proptest::prelude::*;
use seawall::{
    Error, Kind, Phase,
    classify::{BODY_LIMIT, Classifier, ClassifyLayer},
};
use std::{
    collections::VecDeque,
    convert::Infallible,
    error::Error as StdError,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context as Cx, Poll},
    time::Duration,
};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

type BoxError = Box<dyn StdError + Send + Sync>;

fn judged(status: u16, body: &str) -> Error {
    Classifier::new().answer(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body.as_bytes())
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap())).collect()
}

/// A body of scripted frames; `None` is a wait without end.
struct Script(VecDeque<Option<Result<Bytes, io::Error>>>, Arc<AtomicUsize>);

impl Script {
    fn new(frames: impl IntoIterator<Item = Option<Result<Bytes, io::Error>>>) -> Self {
        Self(frames.into_iter().collect(), Arc::default())
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.0.pop_front() {
            None => Poll::Ready(None),
            Some(None) => Poll::Pending,
            Some(Some(Ok(data))) => {
                self.1.fetch_add(data.len(), Relaxed);
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Some(Some(Err(error))) => Poll::Ready(Some(Err(error))),
        }
    }
}

fn answering<B>(status: u16, body: B) -> impl Service<(), Response = Response<B>, Error = Infallible, Future: Send>
where
    B: Send + 'static,
{
    let mut answer = Some(Response::builder().status(status).body(body).unwrap());
    service_fn(move |()| std::future::ready(Ok(answer.take().expect("asked once"))))
}

fn full(text: &'static str) -> Full<Bytes> {
    Full::from(text)
}

// -- answers

/// Cases 1, 4, 6, 11 and 35: what vendors disagree about, and every field that names an empty account.
#[test]
fn vendors_disagree_and_the_kind_is_right() {
    let quota = |field: &str, code: &str| format!(r#"{{"error":{{"message":"x","{field}":"{code}"}}}}"#);
    let cases = [
        (429, quota("code", "insufficient_quota"), Kind::QuotaExhausted),
        (429, quota("type", "insufficient_quota"), Kind::QuotaExhausted),
        (429, quota("error_code", "insufficient_quota"), Kind::QuotaExhausted),
        (429, quota("code", "credit_balance_exhausted"), Kind::QuotaExhausted),
        (429, quota("code", "organization_spend_limit_exceeded"), Kind::QuotaExhausted),
        (429, quota("code", "project_spend_limit_exceeded"), Kind::QuotaExhausted),
        (429, quota("code", "organization_usage_limit_exceeded"), Kind::QuotaExhausted),
        (400, quota("code", "billing_hard_limit_reached"), Kind::QuotaExhausted),
        (429, r#"{"error":{"details":{"error_code":"contract_spend_limit_reached"}}}"#.into(), Kind::QuotaExhausted),
        (429, quota("code", "some_new_code"), Kind::RateLimited),
        (400, r#"{"error":{"message":"Your credit balance is too low"}}"#.into(), Kind::QuotaExhausted),
        (403, r#"{"error":{"message":"Key limit exceeded (total limit)"}}"#.into(), Kind::QuotaExhausted),
        (403, quota("reason", "BILLING_DISABLED"), Kind::QuotaExhausted),
        (400, quota("reason", "API_KEY_INVALID"), Kind::Auth),
        (400, quota("code", "context_length_exceeded"), Kind::ContextLength),
        (500, quota("type", "exceed_context_size_error"), Kind::ContextLength),
        (413, quota("code", "tokens_limit_reached"), Kind::ContextLength),
        (422, r#"{"error":"`inputs` must have less than 4095 tokens"}"#.into(), Kind::ContextLength),
        (400, r#"{"message":"prompt is too long: 3 tokens > 2 maximum"}"#.into(), Kind::ContextLength),
        (400, quota("code", "model_decommissioned"), Kind::NotFound),
        (404, String::new(), Kind::NotFound),
        (410, String::new(), Kind::NotFound),
        (400, quota("__type", "com.amazon#ThrottlingException"), Kind::RateLimited),
        (503, quota("code", "429"), Kind::RateLimited),
        (429, r#"{"error":{"message":"The model is overloaded"}}"#.into(), Kind::Overloaded),
        (529, String::new(), Kind::Overloaded),
    ];
    for (status, body, kind) in cases {
        assert_eq!(judged(status, &body).kind(), kind, "{status} {body}");
    }
}

#[test]
fn an_error_keeps_what_the_provider_said_and_shows_none_of_it() {
    let body = format!(r#"{{"error":{{"message":"Wrong key sk-1234{}","code":"invalid_api_key"}}}}"#, "é".repeat(5000));
    let headers = headers(&[("x-request-id", "req_7")]);
    let error = Classifier::new().provider("openai").answer(StatusCode::UNAUTHORIZED, &headers, body.as_bytes());
    assert_eq!((error.code(), error.status()), (Some("invalid_api_key"), Some(401)));
    assert_eq!((error.request_id(), error.provider_name()), (Some("req_7"), Some("openai")));
    assert!(error.message().is_some_and(|message| message.starts_with("Wrong key") && message.len() <= 2048));
    assert_eq!(error.to_string(), "openai: key or token refused (401, invalid_api_key), 1 send");
}

/// Cases 15, 17 and 23.
#[test]
fn a_wait_is_read_in_every_form_and_garbage_is_no_wait() {
    let now = std::time::SystemTime::UNIX_EPOCH + seconds(1_768_478_400);
    let wait = |header: &str| {
        let answer = Classifier::new().at(now);
        answer.answer(StatusCode::TOO_MANY_REQUESTS, &headers(&[("retry-after", header)]), b"").retry_after()
    };
    for garbage in ["soon", "-5", "NaN", "inf", "", "Thu, 99 Jan 2026 12:00:03 GMT", "1e3", "3 apples"] {
        assert_eq!(wait(garbage), None, "{garbage}");
    }
    assert_eq!(wait("Thu, 15 Jan 2026 12:00:03 GMT"), Some(seconds(3)));
    assert_eq!(wait("Thursday, 15-Jan-26 12:00:03 GMT"), Some(seconds(3)));
    assert_eq!(wait("Thu Jan 15 12:00:03 2026"), Some(seconds(3)));
    assert_eq!(wait("0.25"), Some(Duration::from_millis(250)));
    assert_eq!(wait(&"9".repeat(300)), Some(Duration::MAX));
    let retry_info =
        r#"{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"53.5s"}]}}"#;
    assert_eq!(judged(429, retry_info).retry_after(), Some(Duration::from_millis(53_500)));
    assert_eq!(judged(400, r#"{"message":"Mend it, then try again in 5s."}"#).retry_after(), None);
}

#[test]
fn a_header_of_a_mebibyte_and_json_of_any_depth_are_read_without_harm() {
    let long = "9".repeat(1 << 20);
    let headers = headers(&[("retry-after", &long), ("x-request-id", &long), ("x-amzn-errortype", &long)]);
    let error = Classifier::new().answer(StatusCode::TOO_MANY_REQUESTS, &headers, b"{}");
    assert_eq!((error.kind(), error.request_id().map(str::len)), (Kind::RateLimited, Some(128)));
    for body in
        ["[".repeat(100_000), r#"{"error":"#.repeat(100_000), r#"{"a":["#.repeat(50_000) + "\"insufficient_quota"]
    {
        assert_eq!(judged(429, &body).kind(), Kind::RateLimited);
        assert_eq!(judged(200, &body).kind(), Kind::Transport);
    }
    let mut text = r#"{"error":{"code":"insufficient_quota"}}"#.to_owned();
    for _ in 0..3 {
        text = serde_json::json!({ "message": text }).to_string();
    }
    assert_eq!(judged(429, &text).kind(), Kind::QuotaExhausted, "JSON in strings, three levels deep");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_answer_has_a_consistent_verdict(
        status in 100_u16..=599,
        body in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..400),
            r#"[\{\}\[\]",:a-z0-9 '\\]{0,200}"#.prop_map(String::into_bytes),
            r#"\{"(error|message|code|retry_after)":[\{"]?"?(insufficient_quota|x|1e999|-5|429|\{\})"?\}{0,3}"#.prop_map(String::into_bytes),
        ],
        names in proptest::collection::vec("retry-after|retry-after-ms|x-ratelimit-(remaining|reset|limit)-(tokens|requests)|ratelimit|x-should-retry", 0..5),
        value in "[ -~]{0,40}|[0-9.]{1,30}|\"a\";r=0;t=[0-9]{1,25}",
        event in proptest::option::of("error|x"),
    ) {
        let mut headers = HeaderMap::new();
        for name in &names {
            headers.append(http::HeaderName::try_from(name.as_str()).unwrap(), value.parse().unwrap());
        }
        let classifier = Classifier::new().provider("groq");
        let error = classifier.answer(StatusCode::from_u16(status).unwrap(), &headers, &body);
        prop_assert!(!error.kind().is_refusal() && error.sends() == 1);
        prop_assert!(error.scope().is_none() || error.kind() == Kind::RateLimited);
        prop_assert!(error.message().is_none_or(|message| message.len() <= 2048));
        if (200..300).contains(&status) {
            let found = classifier.success(&headers, &body).map_or(Kind::Unknown, |error| error.kind());
            prop_assert_eq!(error.kind(), found);
        } else {
            prop_assert!(error.status() == Some(status) || error.status() == Some(429));
        }
        let again = classifier.answer(StatusCode::from_u16(status).unwrap(), &headers, &body);
        prop_assert_eq!((again.kind(), again.scope(), again.code()), (error.kind(), error.scope(), error.code()));
        let _ = (classifier.stream(&headers, &body), classifier.frame(event.as_deref(), &body));
    }
}

// -- the layer around http

#[tokio::test(start_paused = true)]
async fn a_refusal_becomes_an_error_and_a_success_passes() {
    guarded(async {
        let layer = ClassifyLayer::http().classifier(Classifier::new().provider("p"));
        let refused = layer.layer(answering(429, full("{}"))).oneshot(()).await.unwrap_err();
        assert_eq!((refused.kind(), refused.provider_name()), (Kind::RateLimited, Some("p")));
        let good = layer.layer(answering(200, full("good"))).oneshot(()).await.unwrap();
        assert_eq!(good.body().size_hint().exact(), Some(4));
        assert_eq!(good.into_body().collect().await.unwrap().to_bytes(), "good");
    })
    .await;
}

/// Case 14: no failure of the transport comes out as a success.
#[tokio::test(start_paused = true)]
async fn a_body_that_breaks_ends_in_a_delivered_error() {
    guarded(async {
        let broken = || Some(Err(io::Error::from(io::ErrorKind::ConnectionReset)));
        let body = Script::new([Some(Ok("half".into())), broken()]);
        let mut body = ClassifyLayer::http().layer(answering(200, body)).oneshot(()).await.unwrap().into_body();
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "half");
        let error = body.frame().await.unwrap().unwrap_err();
        assert_eq!((error.kind(), error.phase()), (Kind::Transport, Some(Phase::Body)));
        assert!(error.is_delivered() && !error.is_retryable() && body.is_end_stream());
        assert!(body.frame().await.is_none());
        let refused = ClassifyLayer::http().layer(answering(503, Script::new([broken()]))).oneshot(()).await;
        assert_eq!(refused.unwrap_err().kind(), Kind::Overloaded, "the status still tells");
    })
    .await;
}

#[test]
fn a_success_that_names_an_error_and_leaves_it_empty_is_none() {
    for body in [
        r#"{"choices":[{"message":{"content":"rate limit exceeded"},"finish_reason":"stop"}],"error":null}"#,
        r#"{"choices":[{"finish_reason":"stop"}],"error":[]}"#,
        r#"{"choices":[{"finish_reason":"stop"}],"error":{}}"#,
        r#"{"result":{"response":"hi"},"success":true,"errors":[],"messages":[]}"#,
        r#"{"id":"as-1","result":"hi","error_code":0,"error_msg":"ok"}"#,
        r#"{"Response":{"Choices":[{}],"Error":null,"RequestId":"r"}}"#,
        r#"{"choices":[{"message":{"content":"hi"}}],"base_resp":{"status_code":0,"status_msg":""}}"#,
    ] {
        let found = Classifier::default().success(&HeaderMap::new(), body.as_bytes());
        assert!(found.is_none(), "{body}: {found:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_an_endless_error_body_only_the_limit_is_read() {
    guarded(async {
        let frame = || Some(Ok(Bytes::from(vec![b' '; 10_000])));
        let body = Script::new((0..10_000).map(|_| frame()));
        let read = Arc::clone(&body.1);
        let error = ClassifyLayer::http().layer(answering(500, body)).oneshot(()).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Server);
        assert!(read.load(Relaxed) < BODY_LIMIT + 10_000, "{}", read.load(Relaxed));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_error_body_that_stalls_is_judged_by_what_came() {
    guarded(async {
        let body = Script::new([Some(Ok(r#"{"error":{"code":"insufficient_quota","#.into())), None]);
        let service = ClassifyLayer::http().layer(answering(429, body));
        let (answer, took) = timed(service.oneshot(())).await;
        assert_eq!(answer.unwrap_err().kind(), Kind::QuotaExhausted);
        assert_eq!(took, seconds(5));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_success_is_looked_into_only_on_request() {
    guarded(async {
        let refused = r#"{"error":{"message":"Rate limit","code":429}}"#;
        let foreign = ClassifyLayer::http().layer(answering(200, full(refused))).oneshot(()).await.unwrap();
        assert_eq!(foreign.into_body().collect().await.unwrap().to_bytes(), refused);
        let look = ClassifyLayer::http().look_into_success(1000);
        let error = look.layer(answering(200, full(refused))).oneshot(()).await.unwrap_err();
        assert_eq!(error.kind(), Kind::RateLimited);
        let empty = look.layer(answering(200, full(""))).oneshot(()).await.unwrap_err();
        assert_eq!(empty.kind(), Kind::Transport);
        let broken = Script::new([Some(Ok("{".into())), Some(Err(io::ErrorKind::ConnectionReset.into()))]);
        let error = look.layer(answering(200, broken)).oneshot(()).await.unwrap_err();
        assert!(error.kind() == Kind::Transport && error.is_retryable(), "nothing was delivered yet");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_success_that_was_looked_into_comes_whole() {
    guarded(async {
        let look = ClassifyLayer::http().look_into_success(1000);
        let good = r#"{"choices":[]}"#;
        let answer = look.layer(answering(200, full(good))).oneshot(()).await.unwrap();
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), good);
        let long = Script::new((0..5).map(|_| Some(Ok(Bytes::from(vec![b'{'; 600])))));
        let answer = look.layer(answering(200, long)).oneshot(()).await.unwrap();
        assert_eq!(
            answer.into_body().collect().await.unwrap().to_bytes().len(),
            3000,
            "longer than the limit: let through"
        );
        let mut stream = Response::new(Script::new([None]));
        stream.headers_mut().insert("content-type", "Text/Event-Stream; charset=utf-8".parse().unwrap());
        let mut stream = Some(stream);
        let service = service_fn(move |()| std::future::ready(Ok::<_, Infallible>(stream.take().unwrap())));
        assert!(look.layer(service).oneshot(()).await.is_ok(), "a stream is not waited for");
    })
    .await;
}

// -- the layer around others

#[tokio::test(start_paused = true)]
async fn one_closure_judges_a_foreign_service() {
    guarded(async {
        let judge = |status: u16| Error::provider(if status == 1 { Kind::Overloaded } else { Kind::Server });
        let foreign = service_fn(async |status: u16| if status == 0 { Ok("good") } else { Err(status) });
        let service = ClassifyLayer::with(judge).layer(foreign);
        assert_eq!(service.clone().oneshot(0).await.unwrap(), "good");
        assert_eq!(service.clone().oneshot(1).await.unwrap_err().kind(), Kind::Overloaded);
        assert_eq!(service.oneshot(2).await.unwrap_err().kind(), Kind::Server);
    })
    .await;
}

fn boxed(error: impl Into<BoxError>) -> Error {
    let mut error = Some(error.into());
    let service = service_fn(move |()| std::future::ready(Err::<(), BoxError>(error.take().unwrap())));
    let mut service = ClassifyLayer::boxed().layer(service);
    let waker = std::task::Waker::noop();
    let mut future = std::pin::pin!(service.call(()));
    match future.as_mut().poll(&mut Cx::from_waker(waker)) {
        Poll::Ready(Err(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn boxed_errors_are_judged_by_what_is_in_the_box() {
    let ours = Error::provider(Kind::ContextLength).with_code("x");
    assert_eq!(boxed(ours).code(), Some("x"), "ours comes out as it is");
    let wrapped = io::Error::other(Error::provider(Kind::RateLimited).with_retry_after(seconds(3)));
    let wrapped = boxed(Wrapped(wrapped.into()));
    assert_eq!((wrapped.kind(), wrapped.retry_after()), (Kind::RateLimited, Some(seconds(3))));
    assert_eq!(boxed(tower::timeout::error::Elapsed::new()).kind(), Kind::Timeout);
    let shed = boxed(tower::load_shed::error::Overloaded::new());
    assert!(shed.kind() == Kind::LocalLimit && shed.is_refusal() && shed.sends() == 0 && !shed.is_against_provider());
    assert_eq!(boxed(io::Error::from(io::ErrorKind::ConnectionReset)).kind(), Kind::Transport);
    assert_eq!(boxed(io::Error::from(io::ErrorKind::TimedOut)).kind(), Kind::Timeout);
    assert_eq!(boxed("out of paper").kind(), Kind::Unknown);
}

#[derive(Debug)]
struct Wrapped(BoxError);

impl std::fmt::Display for Wrapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("wrapped")
    }
}

impl StdError for Wrapped {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}

/// Layers case 28.
#[tokio::test]
async fn a_panic_is_never_reported_as_a_timeout() {
    let panics = service_fn(async |(): ()| if true { panic!("on purpose") } else { Ok::<(), BoxError>(()) });
    let spawned = service_fn(move |()| {
        let call = tokio::spawn(panics.oneshot(()));
        async move { call.await.map_err(BoxError::from)? }
    });
    let service = ServiceBuilder::new().layer(ClassifyLayer::boxed()).timeout(seconds(60)).service(spawned);
    let error = service.oneshot(()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unknown);
    assert!(!error.is_retryable());
}

#[tokio::test(start_paused = true)]
async fn towers_own_layers_are_understood() {
    guarded(async {
        let slow: Fake<(), ()> = fake(|_, ()| After(seconds(100), Ok(())));
        let service = ServiceBuilder::new().layer(ClassifyLayer::boxed()).timeout(seconds(1)).service(slow);
        assert_eq!(service.oneshot(()).await.unwrap_err().kind(), Kind::Timeout);
        let limited: Fake<(), ()> = fake(|_, ()| crate::fake::limited(seconds(7)));
        let buffered = ServiceBuilder::new().layer(ClassifyLayer::boxed()).buffer(8).service(limited);
        let error = buffered.oneshot(()).await.unwrap_err();
        assert_eq!((error.kind(), error.retry_after()), (Kind::RateLimited, Some(seconds(7))));
    })
    .await;
}

// -- the contract

/// Not ready once, then broken.
#[derive(Clone, Debug)]
struct Unready(u32);

impl Service<()> for Unready {
    type Response = ();
    type Error = &'static str;
    type Future = std::future::Ready<Result<(), &'static str>>;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), &'static str>> {
        self.0 += 1;
        match self.0 {
            1 => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            _ => Poll::Ready(Err("broken")),
        }
    }

    fn call(&mut self, (): ()) -> Self::Future {
        panic!("called without being ready")
    }
}

#[tokio::test(start_paused = true)]
async fn readiness_is_passed_on_and_its_error_judged() {
    guarded(async {
        let mut service = ClassifyLayer::with(|_| Error::provider(Kind::Server)).layer(Unready(0));
        let error = service.ready().await.unwrap_err();
        assert_eq!((error.kind(), error.sends()), (Kind::Server, 0), "nothing was sent");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn every_call_is_made_ready_under_a_limit_of_one_and_a_dropped_call_leaves_nothing() {
    guarded(async {
        let model: Fake<u32, u32> = fake(|_, n| if n == 0 { After(seconds(10), Ok(n)) } else { Now(Ok(n)) });
        let service = ServiceBuilder::new()
            .layer(ClassifyLayer::boxed())
            .concurrency_limit(1)
            .map_err(BoxError::from)
            .service(model.clone());
        let dropped = tokio::time::timeout(seconds(1), service.clone().oneshot(0)).await;
        assert!(dropped.is_err() && model.live() == 0);
        for n in 1..=3 {
            assert_eq!(service.clone().oneshot(n).await.unwrap(), n);
        }
        let mut unused = service.clone();
        unused.ready().await.unwrap();
        drop(unused);
        assert_eq!(service.oneshot(4).await.unwrap(), 4);
    })
    .await;
}
