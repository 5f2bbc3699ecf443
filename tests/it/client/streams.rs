//! Streams through a client, from a provider in virtual time.
use super::*;
use seawall::{
    Gate, Sink, Stack, What,
    provider::{Anthropic, Dialect},
    sim::{InProcess, Script},
};
use std::time::Duration;

fn provider(script: &str) -> InProcess {
    let text: Vec<_> = (1..=20).map(|token| token.to_string()).collect();
    InProcess::new(Script::parse(&format!("answer.text = \"{}\"\n{script}", text.join(" "))).unwrap()).unwrap()
}

fn streamed() -> chat::Request {
    question().stream()
}

fn client(provider: &InProcess) -> Client<OpenAi, InProcess> {
    OpenAi::new(KEY).base_url("http://provider/v1").over(provider.clone())
}

async fn opened<D: Dialect>(client: &Client<D, InProcess>, request: chat::Request) -> Result<Reply, Error> {
    ask(client, request).await
}

const ERROR_FIRST: &str = "[[fault]]\nnth = 1\nevent = \"error\"\nstatus = 529";

/// Cases 3, 33 and 44.
#[tokio::test(start_paused = true)]
async fn an_error_that_comes_in_place_of_the_first_content_is_like_any_other() {
    guarded(async {
        for anthropic in [false, true] {
            let provider = provider(ERROR_FIRST);
            let error = match anthropic {
                true => {
                    let client = Anthropic::new(KEY).base_url("http://provider").over(provider.clone());
                    opened(&client, streamed()).await.unwrap_err()
                }
                false => opened(&client(&provider), streamed()).await.unwrap_err(),
            };
            assert_eq!((error.kind(), error.is_delivered(), error.is_retryable()), (Kind::Overloaded, false, true));
        }
        let provider = provider(ERROR_FIRST);
        let stack = Stack::chat(client(&provider)).build().unwrap();
        let reply = stack.ask(streamed()).await.unwrap();
        assert_eq!((reply.trail().attempts().len(), provider.seen()), (1, 2));
        assert_eq!(reply.collect().await.unwrap().message().text().split(' ').count(), 20);
        let quota = r#"{"error":{"message":"You exceeded your current quota.","type":"insufficient_quota","code":"insufficient_quota"}}"#;
        let provider = self::provider(&format!("[[fault]]\nevent = \"error\"\nbody = '{quota}'"));
        let error = Stack::chat(client(&provider)).build().unwrap().ask(streamed()).await.unwrap_err();
        assert_eq!((error.kind(), error.sends(), provider.seen()), (Kind::QuotaExhausted, 1, 1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_error_behind_content_ends_the_stream_with_what_came_and_its_usage() {
    guarded(async {
        let provider = provider("[[fault]]\nevent = \"error\"\nat = { after-tokens = 8 }");
        let mut reply = opened(&client(&provider), streamed()).await.unwrap();
        let error = reply.read().await.unwrap_err();
        assert_eq!((error.is_delivered(), error.is_retryable(), error.sends()), (true, false, 1));
        assert_eq!(error.provider_name(), Some("openai"));
        assert_eq!(reply.text().trim().split(' ').count(), 8);
        assert!(reply.next().await.is_none() && !reply.is_stream());
        assert_eq!(provider.in_flight(), 0, "the provider is let go");
    })
    .await;
}

/// Cases 41, 42 and 14: whatever ends a stream before its protocol does.
#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_without_its_own_ending_is_never_a_success() {
    guarded(async {
        for what in ["cut", "reset", "truncate"] {
            for tokens in [1, 8, 19] {
                let provider = provider(&format!("[[fault]]\n{what} = {{ after-tokens = {tokens} }}"));
                let mut reply = opened(&client(&provider), streamed()).await.unwrap();
                let error = reply.read().await.unwrap_err();
                assert_eq!(
                    (error.kind(), error.phase(), error.is_delivered()),
                    (Kind::Transport, Some(Phase::Body), true)
                );
                assert!(reply.finish_reason().is_none() && error.provider_name() == Some("openai"), "{what}");
            }
            let provider = provider(&format!("[[fault]]\n{what} = {{ after-tokens = 0 }}"));
            let error = opened(&client(&provider), streamed()).await.unwrap_err();
            assert_eq!(
                (error.kind(), error.is_delivered(), error.is_retryable()),
                (Kind::Transport, false, true),
                "{what}"
            );
        }
    })
    .await;
}

/// Cases 48, 50, 51 and 53.
#[tokio::test(start_paused = true)]
async fn each_phase_has_its_limit_and_its_name() {
    guarded(async {
        let silent = provider("[[fault]]\nsilence = \"before-head\"");
        let (error, took) = timed(opened(&client(&silent), streamed())).await;
        assert_eq!((error.unwrap_err().phase(), took), (Some(Phase::FirstByte), seconds(60)));
        let short = client(&silent).first_byte(seconds(5)).unwrap();
        assert_eq!(timed(opened(&short, streamed())).await.1, seconds(5));
        assert_eq!(silent.in_flight(), 0);

        let slow = provider("answer.stream = { first-token = \"200s\", keep-alive = \"15s\" }");
        let (reply, took) = timed(opened(&client(&slow), streamed())).await;
        assert_eq!((reply.unwrap().is_stream(), took), (true, seconds(200)), "signs of life are enough");
        let stack = Stack::chat(client(&slow)).max_retries(0).first_token(seconds(10)).build().unwrap();
        let (error, took) = timed(stack.ask(streamed())).await;
        assert_eq!((error.unwrap_err().phase(), took), (Some(Phase::FirstToken), seconds(10)), "and no content");

        let mute = provider("answer.stream = { first-token = \"200s\" }");
        let (error, took) = timed(opened(&client(&mute), streamed())).await;
        assert_eq!((error.unwrap_err().phase(), took), (Some(Phase::Idle), seconds(60)));

        let stalled = provider("[[fault]]\nsilence = { after-tokens = 8 }");
        let mut reply = opened(&client(&stalled).idle(seconds(7)).unwrap(), streamed()).await.unwrap();
        let (error, took) = timed(reply.read()).await;
        let error = error.unwrap_err();
        assert_eq!((error.kind(), error.phase(), took), (Kind::Timeout, Some(Phase::Idle), seconds(7)));
        assert!(error.is_delivered() && error.provider_name() == Some("openai"));
        assert_eq!(stalled.in_flight(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_stacks_limits_reach_the_client() {
    guarded(async {
        let silent = provider("[[fault]]\nsilence = \"before-head\"");
        let stack = Stack::chat(client(&silent)).max_retries(0).first_byte(seconds(120)).build().unwrap();
        let (error, took) = timed(stack.ask(streamed())).await;
        assert_eq!((error.unwrap_err().phase(), took), (Some(Phase::FirstByte), seconds(120)));
        let stalled = provider("[[fault]]\ndelay = \"90s\"\nat = { after-tokens = 8 }");
        let stack = Stack::chat(client(&stalled)).idle(seconds(120)).build().unwrap();
        let mut reply = stack.ask(streamed()).await.unwrap();
        let (read, took) = timed(reply.read()).await;
        assert!(read.is_ok() && took >= seconds(90), "{read:?} after {took:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn each_limit_of_a_stream_that_was_reached_is_told_with_its_route() {
    guarded(async {
        for (script, expected) in [
            ("[[fault]]\nsilence = \"before-head\"", (Phase::FirstByte, seconds(5))),
            ("[[fault]]\nsilence = { after-tokens = 0 }", (Phase::Idle, seconds(7))),
            ("[[fault]]\nsilence = { after-tokens = 8 }", (Phase::Idle, seconds(7))),
            ("answer.stream = { first-token = \"60s\", keep-alive = \"1s\" }", (Phase::FirstToken, seconds(30))),
        ] {
            let provider = provider(script);
            let told = Arc::new(Mutex::new(Vec::new()));
            let log = told.clone();
            let sink = Sink::new(move |event| {
                if let What::TimedOut { phase, limit } = event.what {
                    log.lock().unwrap().push((event.route.map(str::to_owned), (phase, limit)));
                }
            });
            let stack = Stack::chat(client(&provider)).name("a").max_retries(0).sink(sink);
            let stack = stack.first_byte(seconds(5)).idle(seconds(7)).first_token(seconds(30)).build().unwrap();
            let read = async { stack.ask(streamed()).await?.read().await };
            assert_eq!(read.await.unwrap_err().kind(), Kind::Timeout);
            assert_eq!(*told.lock().unwrap(), [(Some("a".to_owned()), expected)], "{script}");
        }
    })
    .await;
}

/// Case 52.
#[tokio::test(start_paused = true)]
async fn a_token_a_second_for_as_long_as_it_takes_is_no_timeout() {
    guarded(async {
        let text = vec!["wall"; 1200].join(" ");
        let script = Script::parse(&format!("answer.text = \"{text}\"\nanswer.stream.per-token = \"1s\"")).unwrap();
        let provider = InProcess::new(script).unwrap();
        let stack = Stack::chat(client(&provider)).build().unwrap();
        let mut reply = stack.ask(streamed()).await.unwrap();
        let (read, took) = timed(reply.read()).await;
        assert!(read.is_ok() && took >= seconds(1199), "{read:?} after {took:?}");
    })
    .await;
}

/// Case 59.
#[tokio::test(start_paused = true)]
async fn usage_is_asked_for_hidden_from_who_did_not_ask_and_guessed_where_none_comes() {
    guarded(async {
        let provider = provider("");
        let reply = opened(&client(&provider), streamed()).await.unwrap().collect().await.unwrap();
        let usage = reply.usage().unwrap();
        assert!(!usage.estimated && usage.output > 0);

        let never = self::provider("answer.stream.usage = \"never\"");
        let usage = opened(&client(&never), streamed()).await.unwrap().collect().await.unwrap().usage().unwrap();
        assert_eq!((usage.estimated, usage.input), (true, streamed().estimate()));
        assert!((10..20).contains(&usage.output), "{} for 50 characters", usage.output);

        let shown = async |request: chat::Request| {
            let mut reply = opened(&client(&provider), request.stream().received()).await.unwrap();
            let mut data = Vec::new();
            while let Some(item) = reply.next().await {
                if let Item::Event { data: event, .. } = item.unwrap() {
                    data.push(String::from_utf8(event.to_vec()).unwrap());
                }
            }
            (data, reply.usage().is_some())
        };
        let (hidden, told) = shown(question()).await;
        assert!(told && hidden.iter().all(|data| !data.contains("\"usage\":{")), "{hidden:?}");
        assert!(
            hidden.iter().filter(|data| data.contains("content")).count() >= 20 && hidden.last().unwrap() != "[DONE]"
        );
        let asked = question().extra("openai", "stream_options", serde_json::json!({ "include_usage": true }));
        assert!(shown(asked).await.0.iter().any(|data| data.contains("\"usage\":{")));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn behind_a_finish_reason_a_stream_is_over_at_once_or_within_a_second() {
    guarded(async {
        for (script, most) in [
            ("answer.stream = { terminator = false, usage = \"always\" }", 0),
            ("answer.stream = { terminator = false, usage = \"always\" }\n[[fault]]\nsilence = \"at-end\"", 0),
            ("answer.stream = { terminator = false, usage = \"never\" }", 0),
            ("answer.stream = { terminator = false, usage = \"never\" }\n[[fault]]\nsilence = \"at-end\"", 1),
        ] {
            let provider = provider(script);
            let mut reply = opened(&client(&provider), streamed()).await.unwrap();
            let (read, took) = timed(reply.read()).await;
            assert!(read.is_ok(), "{script}: {read:?}");
            assert_eq!((took.as_secs(), provider.in_flight()), (most, 0), "{script}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_event_that_nobody_can_read_is_passed_over_counted_and_no_ending() {
    guarded(async {
        // Bad bytes in a field that nobody looks at cost nothing.
        for (what, skipped) in [("not-json", 1), ("not-utf8", 0)] {
            let provider = provider(&format!("[[fault]]\nevent = \"{what}\"\nat = {{ after-tokens = 8 }}"));
            let mut reply = opened(&client(&provider), streamed()).await.unwrap();
            reply.read().await.unwrap();
            assert_eq!((reply.skipped(), reply.text().split(' ').count()), (skipped, 20), "{what}");
        }
        let huge = provider("[[fault]]\nevent = { huge = 16_777_216 }\nat = { after-tokens = 8 }");
        let mut reply = opened(&client(&huge), streamed()).await.unwrap();
        let error = reply.read().await.unwrap_err();
        assert_eq!((error.kind(), error.is_delivered()), (Kind::Transport, true));
        assert!(error.message().unwrap().contains("longer than"), "{:?}", error.message());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_come_piece_by_piece_is_read_as_what_it_is() {
    guarded(async {
        let canned = |status: u16, kind: &'static str, body: &'static str| {
            let answer = move |_| {
                let response = Response::builder().status(status).header("content-type", kind).body(body.to_owned());
                ready(Ok::<_, Infallible>(response.unwrap()))
            };
            OpenAi::new(KEY).over(service_fn(answer))
        };
        let whole = ask(&canned(200, "application/json; charset=utf-8", ANSWER), streamed()).await.unwrap();
        assert_eq!((whole.text().as_ref(), whole.is_stream()), ("Blue.", false));
        let limited = r#"{"base_resp":{"status_code":1002,"status_msg":"rate limit"}}"#;
        let error = ask(&canned(200, "application/json", limited), streamed()).await.unwrap_err();
        assert_eq!(error.kind(), Kind::RateLimited);
        let error =
            ask(&canned(503, "text/event-stream", "data: {\"error\":{\"message\":\"Busy.\"}}\n\n"), streamed()).await;
        assert_eq!(error.unwrap_err().kind(), Kind::Overloaded);
        let lines = r#"{"choices":[{"delta":{"content":"Blue."}}]}
{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
        let reply = ask(&canned(200, "application/x-ndjson", lines), streamed()).await.unwrap();
        assert_eq!(reply.collect().await.unwrap().message().text(), "Blue.");
    })
    .await;
}

/// Cases 55 and 62.
#[tokio::test(start_paused = true)]
async fn a_reader_who_leaves_is_seen_at_once_wherever_the_answer_is() {
    guarded(async {
        let provider = provider("answer.delay = \"1s\"\nanswer.stream = { first-token = \"1s\", per-token = \"1s\" }\n[[fault]]\nnth = 1\nstatus = 503");
        let gate = Gate::new();
        let stack = Stack::chat(client(&provider)).gate(&gate).concurrency(1).build().unwrap();
        for left in (0..8_000).step_by(250) {
            let call = async {
                let mut reply = stack.ask(streamed()).await.unwrap();
                let _ = reply.read().await;
            };
            let _ = tokio::time::timeout(Duration::from_millis(left), call).await;
            let seen = provider.seen();
            assert_eq!(provider.in_flight(), 0, "after {left} ms");
            tokio::time::sleep(seconds(30)).await;
            assert_eq!(provider.seen(), seen, "nothing goes on in the background");
        }
        assert!(stack.ask(streamed()).await.unwrap().collect().await.is_ok(), "the permit is back");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_client_of_ones_own_opens_a_stream_by_its_first_content_too() {
    let items = |items: Vec<Result<Item, Error>>| VecItems(items.into_iter());
    let busy = || Error::provider(Kind::Overloaded);
    let error = Reply::opened(items(vec![Ok(Item::Alive), Err(busy())])).await.unwrap_err();
    assert!(error.is_retryable() && !error.is_delivered());
    let error = Reply::opened(items(vec![Ok(Item::Usage(Usage::new(1, 0)))])).await.unwrap_err();
    assert_eq!((error.kind(), error.is_delivered()), (Kind::Transport, false));
    let text = || Ok(Item::Text("Blue.".into()));
    let mut reply = Reply::opened(items(vec![Ok(Item::Usage(Usage::new(9, 1))), text(), Err(busy())])).await.unwrap();
    assert!(reply.is_stream());
    assert!(reply.read().await.unwrap_err().is_delivered());
    assert_eq!((reply.text().as_ref(), reply.usage()), ("Blue.", Some(Usage::new(9, 1))));
}

struct VecItems(std::vec::IntoIter<Result<Item, Error>>);

impl futures_core::Stream for VecItems {
    type Item = Result<Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.next())
    }
}
