//! Case 22 of those that befell others: every endpoint is cooling down, and the caller is told for how long.
use super::ask;
use seawall::{
    Stack,
    chat::Chat,
    failover::Route,
    provider::{Anthropic, OpenAi},
    serve::{self, Endpoint, Protocol},
    sim::{Fault, InProcess, Script, When},
    stack::Boxed,
};
use std::time::Duration;

fn limited(status: u16, seconds: &str) -> InProcess {
    let fault = Fault::status(status).header("retry-after", seconds);
    InProcess::new(Script::seeded(1).fault(When::always(), fault)).unwrap()
}

/// Over these providers, in their order, of both dialects by turns.
fn over(providers: &[InProcess]) -> Boxed {
    let route = |(at, provider): (usize, &InProcess)| {
        let client = match at % 2 {
            0 => Boxed::new(OpenAi::new("k").over(provider.clone())),
            _ => Boxed::new(Anthropic::new("k").over(provider.clone())),
        };
        Route::new(client).name(format!("route {at}"))
    };
    let stack = Stack::list(Chat, providers.iter().enumerate().map(route).collect());
    let stack = if providers.len() > 1 { stack.on_429() } else { stack };
    Boxed::new(stack.max_retries(0).build().unwrap())
}

const QUESTION: &str = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"?"}]}"#;

/// Status, `Retry-After` and `retry-after-ms` of a refusal, whole or in the place of a stream.
async fn told<P: Protocol>(protocol: P, stack: &Boxed, stream: bool) -> (u16, String, String) {
    let question = if stream { QUESTION.replace("{\"model", "{\"stream\":true,\"model") } else { QUESTION.to_owned() };
    let (head, body) = ask(&Endpoint::new(protocol, stack.clone()), question).await;
    assert!(body.starts_with('{') && body.contains("rate_limit"), "{body}");
    let header = |name: &str| head.headers[name].to_str().unwrap().to_owned();
    (head.status.as_u16(), header("retry-after"), header("retry-after-ms"))
}

#[tokio::test(start_paused = true)]
async fn the_caller_is_told_what_is_left_of_a_cool_down_rounded_up() {
    let provider = limited(429, "100");
    let stack = over(std::slice::from_ref(&provider));
    assert_eq!(told(serve::OpenAi::new(), &stack, false).await.0, 429, "the provider's own");
    tokio::time::advance(Duration::from_millis(10_300)).await;
    for stream in [false, true] {
        let (status, seconds, millis) = told(serve::OpenAi::new(), &stack, stream).await;
        assert_eq!((status, seconds.as_str()), (429, "90"), "89.7 s are left");
        assert_eq!(millis, "89700");
        assert_eq!(told(serve::Anthropic::new(), &stack, stream).await, (429, seconds, millis));
    }
    assert_eq!(provider.seen(), 1, "nobody asks meanwhile");
}

#[tokio::test(start_paused = true)]
async fn of_several_that_cool_down_the_first_to_be_open_again_says_when() {
    for waits in [["300", "100"], ["100", "300"]] {
        let providers = waits.map(|wait| limited(429, wait));
        let stack = over(&providers);
        let first = told(serve::OpenAi::new(), &stack, false).await;
        assert_eq!(first, (429, "100".to_owned(), "100000".to_owned()), "{waits:?}");
        tokio::time::advance(Duration::from_millis(60_001)).await;
        let (status, seconds, millis) = told(serve::Anthropic::new(), &stack, true).await;
        assert_eq!((status, seconds.as_str(), millis.as_str()), (429, "40", "39999"), "{waits:?}");
        assert_eq!(providers.map(|provider| provider.seen()), [1, 1]);
    }
}

/// The same over gRPC.
#[cfg(feature = "tonic")]
#[tokio::test(start_paused = true)]
async fn a_status_has_what_is_left_as_its_retry_info() {
    use tonic_types::StatusExt;

    let provider = limited(429, "100");
    let stack = over(std::slice::from_ref(&provider));
    let question = || seawall::chat::Request::new("m").user("?");
    stack.ask(question()).await.unwrap_err();
    tokio::time::advance(Duration::from_millis(10_300)).await;
    let status = tonic::Status::from(stack.ask(question()).await.unwrap_err());
    assert_eq!(status.code(), tonic::Code::ResourceExhausted);
    let told = status.get_details_retry_info().unwrap();
    assert_eq!((told.retry_delay, provider.seen()), (Some(Duration::from_millis(89_700)), 1));
}
