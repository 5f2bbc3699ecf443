//! Streams that no server should send, and what comes in the place of one.
use super::*;
use seawall::Stack;

fn streamed() -> chat::Request {
    question().stream()
}

/// A client whose server answers each stream so, under this content type.
fn canned(
    kind: Option<&'static str>,
    body: Frames,
) -> Client<OpenAi, impl Service<Asked, Response = Response<Frames>, Error = Infallible, Future: Send> + Clone> {
    openai().over(service_fn(move |_: Asked| {
        let builder = Response::builder();
        let builder = kind.into_iter().fold(builder, |builder, kind| builder.header("content-type", kind));
        ready(Ok(builder.body(body.clone()).unwrap()))
    }))
}

/// The text in frames of so many bytes.
fn pieces(text: &'static str, size: usize) -> Frames {
    let frames = text.as_bytes().chunks(size).map(|piece| Ok(Bytes::from_static(piece)));
    Frames { frames: frames.collect(), ..Frames::default() }
}

const TYPES: [Option<&str>; 5] =
    [None, Some("text/plain; charset=utf-8"), Some("text/event-stream"), Some("text/html"), Some("application/json")];

#[tokio::test]
async fn json_in_the_place_of_a_stream_is_read_as_what_it_is_whatever_its_type() {
    let quota = r#"{
  "error": {"message": "You exceeded your current quota.", "code": "insufficient_quota"}
}"#;
    let limited = r#"{"base_resp":{"status_code":1002,"status_msg":"rate limit"}}"#;
    for kind in TYPES {
        for size in [1, 7, 1000] {
            for (body, expected) in [(quota, Kind::QuotaExhausted), (limited, Kind::RateLimited)] {
                let error = ask(&canned(kind, pieces(body, size)), streamed()).await.unwrap_err();
                assert_eq!((error.kind(), error.is_delivered()), (expected, false), "{kind:?} in {size}: {body}");
            }
            for before in ["", "\n\n", "\u{feff}", ": PROCESSING\n\n: PROCESSING\r\r\n"] {
                let body = format!("{before}{ANSWER}").leak();
                let reply = ask(&canned(kind, pieces(body, size)), streamed()).await.unwrap();
                assert_eq!((reply.text().as_ref(), reply.is_stream()), ("Blue.", false), "{kind:?} in {size}");
                assert_eq!(reply.usage(), Some(Usage::new(9, 2)));
            }
        }
    }
    let page = "<html><head><title>Sign in</title></head></html>";
    let error = ask(&canned(Some("text/html"), pieces(page, 9)), streamed()).await.unwrap_err();
    let whole = ask(&canned(Some("text/html"), pieces(page, 9)), question()).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (whole.kind(), whole.is_retryable()));
    let cut = ask(&canned(None, frames([Ok("{\"choices\":"), Err(Broken::Cut)])), streamed()).await.unwrap_err();
    assert_eq!((cut.kind(), cut.phase()), (Kind::Transport, Some(Phase::Body)));
    let long = canned(None, pieces(ANSWER, 7)).reply_limit(40);
    assert!(ask(&long, streamed()).await.unwrap_err().message().unwrap().contains("reply_limit"));
}

const WORD: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"wave \"}}]}\n\n";
const FINISH: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

/// Some proxies label whatever they pass on as JSON.
#[tokio::test]
async fn a_stream_under_another_type_is_read_as_one_all_the_same() {
    for kind in [None, Some("application/json"), Some("text/plain")] {
        let reply = ask(&canned(kind, frames([Ok(": ping\n\n"), Ok(WORD), Ok(FINISH)])), streamed()).await.unwrap();
        assert!(reply.is_stream());
        assert_eq!(reply.collect().await.unwrap().message().text(), "wave ", "{kind:?}");
    }
}

#[tokio::test]
async fn the_usage_of_a_stream_that_breaks_is_an_estimate_where_none_was_told() {
    for end in [None, Some(Err(Broken::Cut)), Some(Ok("data: {\"error\":{\"message\":\"overloaded\"}}\n\n"))] {
        let body = frames([Ok(WORD), Ok(WORD)].into_iter().chain(end));
        let mut reply = ask(&canned(TYPES[2], body), streamed()).await.unwrap();
        assert!(reply.read().await.is_err());
        let usage = reply.usage().expect("a usage");
        assert_eq!((usage.estimated, usage.input, usage.output), (true, streamed().estimate(), 3));
    }
    let told = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\n";
    let mut reply = ask(&canned(TYPES[2], frames([Ok(WORD), Ok(told)])), streamed()).await.unwrap();
    assert!(reply.read().await.is_err());
    assert_eq!(reply.usage(), Some(Usage::new(9, 2)));
}

/// An answer of 128k tokens, each in an event of its own, as OpenAI writes it.
#[tokio::test]
async fn the_longest_answer_of_any_model_may_come_word_by_word() {
    let event = format!(
        "data: {{\"id\":\"chatcmpl-{}\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"gpt-5-2025-08-07\",\
        \"service_tier\":\"default\",\"system_fingerprint\":\"fp_0123456789\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" wave\"}},\
        \"logprobs\":null,\"finish_reason\":null}}],\"usage\":null,\"obfuscation\":\"abcdefgh\"}}\n\n",
        "x".repeat(29)
    );
    let events: Bytes = event.repeat(1000).into();
    let words = (0..128).map(|_| Ok(events.clone()));
    let body = Frames { frames: words.chain([Ok(FINISH.into())]).collect(), ..Frames::default() };
    let answer = ask(&canned(TYPES[2], body), streamed()).await.unwrap().collect().await.unwrap();
    assert_eq!(answer.message().text().len(), 128_000 * 5);
}

/// Signs of life without end, and nothing else. Memory is held to what a client of its own limits.
#[tokio::test(start_paused = true)]
async fn comments_without_end_are_ended_by_the_first_token_and_without_one_by_the_limit() {
    guarded(async {
        let many: Bytes = ": P\n\n".repeat(1 << 18).into();
        let endless = Frames { frames: vec![Ok(many); 300].into(), ..Frames::default() };
        let error = ask(&canned(TYPES[2], endless), streamed()).await.unwrap_err();
        assert!(error.message().unwrap().contains("reply_limit"), "{error:?}");
        let comments =
            || Frames { frames: vec![Ok(": P\n\n".into()); 100_000].into(), stalls: true, ..Frames::default() };
        let stack = Stack::chat(canned(TYPES[2], comments())).max_retries(0).first_token(seconds(10));
        let (error, took) = timed(stack.build().unwrap().ask(streamed())).await;
        assert_eq!((error.unwrap_err().phase(), took), (Some(Phase::FirstToken), seconds(10)));
    })
    .await;
}

#[tokio::test]
async fn what_follows_the_finish_reason_does_not_undo_the_answer() {
    let broken = canned(TYPES[2], frames([Ok(WORD), Ok(FINISH), Err(Broken::Strange)]));
    let answer = ask(&broken, streamed()).await.unwrap().collect().await.unwrap();
    assert!(answer.finish_reason().is_some() && answer.usage().unwrap().estimated);
    let other = "data: {\"choices\":[{\"delta\":{\"content\":\"on\"},\"finish_reason\":\"length\"}]}\n\n";
    let twice = canned(TYPES[2], frames([Ok(WORD), Ok(FINISH), Ok(other)]));
    let answer = ask(&twice, streamed()).await.unwrap().collect().await.unwrap();
    assert_eq!(
        (answer.message().text().as_ref(), answer.finish_reason()),
        ("wave on", Some(&chat::FinishReason::Stop))
    );
}

#[tokio::test]
async fn done_before_anything_is_a_cut_and_a_usage_before_the_content_is_kept() {
    let done = canned(TYPES[2], frames([Ok("data: [DONE]\n\n")]));
    let error = ask(&done, streamed()).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (Kind::Transport, true));
    let told = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":0}}\n\n";
    let first = canned(TYPES[2], frames([Ok("data: [DONE]\n\n"), Ok(told), Ok(WORD), Ok(FINISH)]));
    let answer = ask(&first, streamed()).await.unwrap().collect().await.unwrap();
    assert_eq!(answer.usage(), Some(Usage::new(9, 0)));
}
