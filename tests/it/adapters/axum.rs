//! What handlers of a router ask for, and what they give.
use ::axum::{Extension, Router, extract::State, response::Response, routing::post};
use http_body_util::BodyExt;
use seawall::{
    Error, Stack, chat,
    provider::OpenAi,
    serve::{self, Asked, Drain, Limits},
    sim::{Fault, InProcess, Phase, Script, When},
    stack::Boxed,
};
use tower::ServiceExt;

async fn title(State(model): State<Boxed>, text: String) -> Result<String, Error> {
    Ok(model.ask(chat::Request::new("m").system("Give a title.").user(text)).await?.text().into_owned())
}

async fn named<P: serve::Protocol + Default>(model: Boxed, asked: Asked<P>) -> Response<serve::Body> {
    asked.map(|request| request.model("another")).ask(model).await
}

fn router(provider: &InProcess, drain: &Drain) -> Router {
    let stack = Stack::chat(OpenAi::new("sk-secret").over(provider.clone())).max_retries(0).build().unwrap();
    Router::new()
        .route("/title", post(title))
        .route("/openai", post(named::<serve::OpenAi>))
        .route("/anthropic", post(named::<serve::Anthropic>))
        .with_state(Boxed::new(stack))
        .layer(Extension(drain.clone()))
        .layer(Extension(Limits::default().body(1000).unwrap()))
}

fn provider(script: Script) -> InProcess {
    InProcess::new(script.keep_bodies(1000)).unwrap()
}

async fn ask(router: Router, path: &str, body: impl Into<String>) -> (http::response::Parts, String) {
    let request = http::Request::post(path).body(body.into()).unwrap();
    let (head, body) = router.oneshot(request).await.unwrap().into_parts();
    (head, String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap())
}

const QUESTION: &str = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"?"}]}"#;

#[tokio::test(start_paused = true)]
async fn an_error_is_a_response_that_keeps_its_meaning_and_no_secret() {
    let refused = r#"{"error":{"message":"Rate limit reached for sk-secret in org-1","code":"rate_limit_exceeded"}}"#;
    let fault = Fault::status(429).header("retry-after-ms", "1500").body(refused);
    let provider = provider(Script::seeded(1).fault(When::first(1), fault));
    let router = router(&provider, &Drain::new());
    let (head, body) = ask(router.clone(), "/title", "A text.").await;
    assert_eq!((head.status.as_u16(), head.headers["retry-after"].to_str().unwrap()), (429, "2"), "rounded up");
    assert!(
        body.contains(r#""code":"rate_limit_exceeded""#) && !body.contains("sk-") && !body.contains("org-"),
        "{body}"
    );
    tokio::time::advance(std::time::Duration::from_secs(2)).await;
    assert_eq!(ask(router, "/title", "A text.").await.0.status, 200);
}

#[tokio::test]
async fn a_handler_has_a_word_with_what_is_asked() {
    let provider = provider(Script::seeded(1));
    let router = router(&provider, &Drain::new());
    for path in ["/openai", "/anthropic"] {
        assert_eq!(ask(router.clone(), path, QUESTION).await.0.status, 200);
        let log = provider.log();
        let sent = std::str::from_utf8(log.records.last().unwrap().body.as_deref().unwrap()).unwrap();
        assert!(sent.contains(r#""model":"another""#), "{sent}");
    }
}

#[tokio::test]
async fn what_is_no_request_is_refused_in_the_words_of_the_protocol_and_not_sent() {
    let provider = provider(Script::seeded(1));
    let router = router(&provider, &Drain::new());
    let large = format!(r#"{{"model":"{}"}}"#, "m".repeat(2000));
    for (body, status) in [(large.as_str(), 413), ("{", 400), (r#"{"model":"m"}"#, 400)] {
        let (head, told) = ask(router.clone(), "/openai", body).await;
        assert_eq!(head.status.as_u16(), status, "{told}");
        assert!(told.starts_with(r#"{"error":{"#), "{told}");
        let (head, told) = ask(router.clone(), "/anthropic", body).await;
        assert_eq!(head.status.as_u16(), status, "{told}");
        assert!(told.contains(r#""type":"error""#), "{told}");
    }
    assert_eq!(provider.seen(), 0);
}

#[tokio::test]
async fn a_drain_ends_what_a_handler_still_waits_for_with_a_503() {
    let provider = provider(Script::seeded(1).fault(When::always(), Fault::silence(Phase::BeforeHead)));
    let drain = Drain::new();
    let router = router(&provider, &drain);
    let asked = tokio::spawn(ask(router.clone(), "/anthropic", QUESTION));
    while provider.seen() == 0 {
        tokio::task::yield_now().await;
    }
    drain.end();
    let (head, told) = asked.await.unwrap();
    assert_eq!(head.status, 503);
    assert!(told.contains(r#""type":"error""#), "{told}");
    assert_eq!(ask(router, "/openai", QUESTION).await.0.status, 503, "and what comes later is not asked");
    assert_eq!(provider.seen(), 1);
}
