//! What befell others, from end to end: the whole stack around a client, and a provider that misbehaves.
mod routes;

use crate::{ask, fake, guarded, seconds, timed, unbroken};
use bytes::Bytes;
use http_body_util::Full;
use seawall::{
    Context, Error, Failover, GaveUp, Kind, Phase, Sink, Stack, What,
    chat::{self, Chat},
    classify::ClassifyLayer,
    failover::One,
    provider::{Client, OpenAi, Reqwest},
    retry::Backoff,
    sim::{self, End, Fault, InProcess, MockProvider, Script, When},
    stack::{Builder, Paved},
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::{Duration, SystemTime},
};
use tower::{Layer, buffer::Buffer, limit::ConcurrencyLimit, service_fn};

type Paid = Client<OpenAi, InProcess>;

fn provider(fault: Fault) -> InProcess {
    InProcess::new(Script::seeded(1).fault(When::always(), fault)).unwrap()
}

fn over<T>(inner: T) -> Client<OpenAi, T> {
    OpenAi::new("sk-1").base_url("http://provider/v1").over(inner)
}

fn stack(provider: &InProcess) -> Builder<One<Paid>, Chat> {
    Stack::chat(over(provider.clone())).seed(1)
}

fn question() -> chat::Request {
    chat::Request::new("gpt-4o").user("What is a seawall?")
}

async fn failed(stack: &Stack<Paved<Paid, Chat>, Chat>) -> Error {
    stack.ask(question()).await.unwrap_err()
}

/// When the provider was asked, each time counted from the one before.
fn gaps(provider: &InProcess) -> Vec<Duration> {
    let at: Vec<_> = provider.log().records.iter().map(|record| record.at).collect();
    at.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn refusal(status: u16, error: &str) -> Fault {
    Fault::status(status).body(format!(r#"{{"error":{error}}}"#))
}

/// A client over sockets, and the provider at their other end.
async fn over_the_wire(script: Script) -> (MockProvider, Stack<Paved<Client<OpenAi, Reqwest>, Chat>, Chat>) {
    let provider = MockProvider::start(script).await.unwrap();
    let client = OpenAi::new("sk-1").base_url(provider.base_url()).client().unwrap();
    let backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(2)).unwrap();
    (provider, Stack::chat(client).backoff(backoff).build().unwrap())
}

// calls 1
#[tokio::test]
async fn an_empty_account_is_asked_once() {
    let empty = refusal(429, r#"{"type":"insufficient_quota","code":"insufficient_quota","message":"Out of credit."}"#);
    let (provider, stack) = over_the_wire(Script::seeded(1).fault(When::always(), empty)).await;
    let error = stack.ask(question()).await.unwrap_err();
    assert_eq!((error.kind(), error.sends(), error.gave_up()), (Kind::QuotaExhausted, 1, None));
    assert_eq!(provider.shutdown().await.records.len(), 1);
}

// calls 2
#[tokio::test(start_paused = true)]
async fn an_empty_account_is_final_to_every_loop_around_it() {
    guarded(async {
        let provider = provider(refusal(429, r#"{"code":"insufficient_quota"}"#));
        let inner = stack(&provider).build().unwrap();
        let outer = Stack::chat(Stack::chat(inner).build().unwrap()).build().unwrap();
        let error = outer.ask(question()).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable(), provider.seen()), (Kind::QuotaExhausted, false, 1));
    })
    .await;
}

// calls 4, layers 35
#[tokio::test(start_paused = true)]
async fn every_word_for_an_empty_account_is_known_in_either_field_and_no_other_is() {
    guarded(async {
        let words = [
            "insufficient_quota",
            "billing_hard_limit_reached",
            "project_spend_limit_exceeded",
            "organization_usage_limit_exceeded",
        ];
        for word in words {
            for field in ["type", "code"] {
                let provider = provider(refusal(429, &format!(r#"{{"{field}":"{word}"}}"#)));
                let error = failed(&stack(&provider).build().unwrap()).await;
                assert_eq!((error.kind(), provider.seen()), (Kind::QuotaExhausted, 1), "{field} {word}");
                assert_eq!(error.failover(), Failover::ByName, "where that is asked for");
            }
        }
        let provider = provider(refusal(429, r#"{"type":"some_new_word","code":"some_new_word"}"#));
        let error = failed(&stack(&provider).build().unwrap()).await;
        assert_eq!((error.kind(), provider.seen()), (Kind::RateLimited, 3));
    })
    .await;
}

// calls 6, calls 7
#[tokio::test(start_paused = true)]
async fn a_prompt_that_is_too_long_is_known_as_such_to_the_outermost_caller() {
    guarded(async {
        for fault in [
            refusal(400, r#"{"code":"context_length_exceeded","type":"invalid_request_error"}"#),
            refusal(
                400,
                r#"{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}"#,
            ),
            refusal(
                400,
                r#"{"message":"This model's maximum context length is 8192 tokens. However, you requested 9000."}"#,
            ),
            refusal(500, r#"{"message":"prompt is too long: 210000 tokens > 200000 maximum"}"#),
        ] {
            let shown = format!("{fault:?}");
            let provider = provider(fault);
            let outer = Stack::chat(stack(&provider).build().unwrap()).build().unwrap();
            let error = outer.ask(question()).await.unwrap_err();
            assert_eq!((error.kind(), error.gave_up()), (Kind::ContextLength, None), "{shown}");
            assert!(error.trail().is_empty() && provider.seen() == 1, "{shown}");
        }
    })
    .await;
}

// calls 11
#[tokio::test(start_paused = true)]
async fn vendors_disagree_and_the_stack_asks_as_often_as_makes_sense() {
    guarded(async {
        for (status, error, kind, sends) in [
            (400, r#"{"code":400,"status":"INVALID_ARGUMENT","message":"API key not valid. Please pass a valid API key."}"#, Kind::Auth, 1),
            (400, r#"{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}"#, Kind::QuotaExhausted, 1),
            (402, r#"{"message":"Insufficient Balance"}"#, Kind::QuotaExhausted, 1),
            (404, r#"{"code":"model_not_found","message":"The model does not exist."}"#, Kind::NotFound, 1),
            (400, r#"{"code":"unsupported_parameter","param":"max_tokens"}"#, Kind::UnsupportedParameter, 1),
            (400, r#"{"code":"content_filter"}"#, Kind::ContentFiltered, 1),
            (413, r#"{"type":"request_too_large"}"#, Kind::PayloadTooLarge, 1),
            (529, r#"{"type":"overloaded_error"}"#, Kind::Overloaded, 3),
            (503, r#"{"message":"The model is overloaded. Please try again later."}"#, Kind::Overloaded, 3),
            (500, r#"{"type":"server_error"}"#, Kind::Server, 3),
        ] {
            let provider = provider(refusal(status, error));
            let found = failed(&stack(&provider).build().unwrap()).await;
            assert_eq!((found.kind(), provider.seen()), (kind, sends), "{status} {error}");
        }
    })
    .await;
}

// calls 14
#[tokio::test]
async fn a_connection_lost_after_the_headers_is_never_an_answer() {
    for phase in [sim::Phase::BeforeBody, sim::Phase::InBody] {
        for fault in [Fault::reset(phase), Fault::cut(phase)] {
            let (provider, stack) = over_the_wire(Script::seeded(1).fault(When::always(), fault)).await;
            let error = stack.ask(question()).await.unwrap_err();
            assert_eq!((error.kind(), error.phase(), error.sends()), (Kind::Transport, Some(Phase::Body), 3));
            let records = provider.shutdown().await.records;
            assert!(records.iter().all(|record| record.status == Some(200) && record.end == End::Broken));
        }
    }
}

// calls 15
#[tokio::test(start_paused = true)]
async fn a_wait_that_cannot_be_read_is_as_if_there_were_none() {
    guarded(async {
        let waits = async |value: Option<&str>| {
            let fault = Fault::status(429);
            let provider = provider(match value {
                Some(value) => fault.header("retry-after", value),
                None => fault,
            });
            let error = failed(&stack(&provider).build().unwrap()).await;
            assert_eq!((error.retry_after(), provider.seen()), (None, 3), "{value:?}");
            gaps(&provider)
        };
        let backoff = waits(None).await;
        assert!(backoff.iter().all(|wait| !wait.is_zero()), "{backoff:?}");
        // calls 17
        for value in ["soon", "NaN", "-5", "Thu, 99 Foo 2026 00:00:00 GMT", ""] {
            assert_eq!(waits(Some(value)).await, backoff, "{value}");
        }
    })
    .await;
}

// calls 17
#[tokio::test(start_paused = true)]
async fn a_date_is_waited_for() {
    guarded(async {
        let date = httpdate::fmt_http_date(SystemTime::now() + seconds(30));
        let provider = provider(Fault::status(429).header("retry-after", date));
        failed(&stack(&provider).max_retries(1).build().unwrap()).await;
        // The clock on the wall goes on, a date has no fractions, and a second of jitter comes on top.
        assert!((seconds(20)..=seconds(31)).contains(&gaps(&provider)[0]), "{:?}", gaps(&provider));
    })
    .await;
}

// calls 23
#[tokio::test(start_paused = true)]
async fn a_wait_in_the_body_is_kept_in_full() {
    guarded(async {
        let info = r#"{"code":429,"status":"RESOURCE_EXHAUSTED","details":[
            {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"5s"}]}"#;
        let provider = provider(refusal(429, info));
        let error = failed(&stack(&provider).build().unwrap()).await;
        assert_eq!((error.retry_after(), provider.seen()), (Some(seconds(5)), 3));
        assert!(gaps(&provider).iter().all(|gap| (seconds(5)..=seconds(6)).contains(gap)), "{:?}", gaps(&provider));
    })
    .await;
}

// calls 24, layers 18
#[tokio::test(start_paused = true)]
async fn a_wait_of_an_hour_ends_the_call_at_once_and_is_told_in_full() {
    guarded(async {
        let provider = provider(Fault::status(429).header("retry-after", "3600"));
        let stack = stack(&provider).build().unwrap();
        let (error, took) = timed(failed(&stack)).await;
        assert_eq!((provider.seen(), took), (1, Duration::ZERO));
        assert_eq!(error.retry_after(), Some(seconds(3600)));
        assert_eq!(error.gave_up(), Some(GaveUp::WaitOverCap(seconds(60))));
    })
    .await;
}

// calls 25, layers 18
#[tokio::test(start_paused = true)]
async fn a_wait_past_the_deadline_ends_the_call_at_once() {
    guarded(async {
        let provider = provider(Fault::status(429).header("retry-after", "30"));
        let stack = stack(&provider).deadline(seconds(5)).build().unwrap();
        let (error, took) = timed(failed(&stack)).await;
        assert_eq!((provider.seen(), took), (1, Duration::ZERO));
        assert_eq!((error.retry_after(), error.gave_up()), (Some(seconds(30)), Some(GaveUp::WaitPastDeadline)));
    })
    .await;
}

// calls 70
#[tokio::test(start_paused = true)]
async fn every_attempt_is_made_ready_through_limits_and_buffers() {
    guarded(async {
        let provider = provider(Fault::status(503));
        let limited = Stack::chat(over(ConcurrencyLimit::new(provider.clone(), 1))).build().unwrap();
        assert_eq!(limited.ask(question()).await.unwrap_err().sends(), 3);
        let buffered = Stack::chat(over(Buffer::new(provider.clone(), 1))).build().unwrap();
        assert_eq!(buffered.ask(question()).await.unwrap_err().sends(), 3);
        assert_eq!(provider.seen(), 6);
    })
    .await;
}

// calls 72
#[tokio::test(start_paused = true)]
async fn retries_take_effect_on_every_path() {
    guarded(async {
        let provider = provider(Fault::status(503));
        failed(&stack(&provider).max_retries(4).build().unwrap()).await;
        failed(&stack(&provider).max_retries(0).build().unwrap()).await;
        assert_eq!(provider.seen(), 5 + 1);
        let http = Stack::http(ClassifyLayer::http().layer(provider.clone())).max_retries(4).build().unwrap();
        let request = http::Request::post("/v1/chat/completions").body(Full::<Bytes>::from("{}")).unwrap();
        assert_eq!(http.ask(request).await.unwrap_err().sends(), 5);
        let model = fake::fake(|_, _: u32| fake::failing::<u32>(Kind::Server));
        Stack::bare(model.clone()).max_retries(4).build().unwrap().ask(1).await.unwrap_err();
        assert_eq!((provider.seen(), model.sends()), (11, 5));
        assert!(stack(&provider).max_retries(6).build().is_err_and(|invalid| invalid.setting() == "max_retries"));
    })
    .await;
}

// layers 15, layers 16
#[tokio::test(start_paused = true)]
async fn no_two_calls_sleep_the_same_and_none_longer_than_the_cap() {
    guarded(async {
        let run = async |seed| {
            let provider = provider(Fault::status(500));
            let backoff = Backoff::new(seconds(1), Duration::from_millis(1500)).unwrap();
            let stack = stack(&provider).gate(&unbroken()).seed(seed).max_retries(5).backoff(backoff).build().unwrap();
            let mut waits = Vec::new();
            for _ in 0..4 {
                let error = failed(&stack).await;
                waits.extend(error.trail().attempts().iter().map(seawall::Attempt::waited));
            }
            waits
        };
        let mut waits = run(1).await;
        assert_eq!(waits, run(1).await, "a seed replays the run");
        assert!(waits.iter().all(|&wait| wait <= Duration::from_millis(1500)), "{waits:?}");
        let count = waits.len();
        waits.sort_unstable();
        waits.dedup();
        assert_eq!((waits.len(), count > 10), (count, true), "spread even at the cap");
    })
    .await;
}

// layers 17
#[tokio::test(start_paused = true)]
async fn a_request_is_copied_only_where_a_retry_can_follow() {
    struct Counted(Arc<AtomicU32>);
    impl Clone for Counted {
        fn clone(&self) -> Self {
            self.0.fetch_add(1, Relaxed);
            Self(Arc::clone(&self.0))
        }
    }
    guarded(async {
        let builder = || Stack::bare(fake::fake(|_, _: Counted| fake::failing::<u32>(Kind::Server)));
        // The third copy is for a refusal of ours that meets the last attempt; a lone retry layer keeps none.
        for (built, copies) in [(builder(), 3), (builder().sends(1), 0), (builder().max_retries(0), 0)] {
            let count = Arc::new(AtomicU32::new(0));
            built.build().unwrap().ask(Counted(Arc::clone(&count))).await.unwrap_err();
            assert_eq!(count.load(Relaxed), copies);
        }
    })
    .await;
}

// layers 19
#[tokio::test(start_paused = true)]
async fn each_attempt_comes_after_its_own_wait() {
    guarded(async {
        let waits = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&waits);
        let sink = Sink::new(move |event| {
            if let What::Retrying { wait, .. } = event.what {
                log.lock().unwrap().push(wait);
            }
        });
        let provider = provider(Fault::status(500));
        failed(&stack(&provider).sink(sink).build().unwrap()).await;
        let (gaps, waits) = (gaps(&provider), waits.lock().unwrap());
        assert_eq!((gaps.len(), provider.log().records[0].at), (2, Duration::ZERO));
        for (gap, &wait) in gaps.iter().zip(&*waits) {
            assert!((wait..=wait + Duration::from_millis(2)).contains(gap), "{gaps:?} after {waits:?}");
        }
    })
    .await;
}

// layers 20
#[tokio::test(start_paused = true)]
async fn a_refusal_of_ours_below_a_client_is_not_hammered() {
    guarded(async {
        async fn full(_: http::Request<Full<Bytes>>) -> Result<http::Response<Full<Bytes>>, Error> {
            Err(Error::refusal(Kind::LocalLimit))
        }
        let (result, took) = timed(Stack::chat(over(service_fn(full))).build().unwrap().ask(question())).await;
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.sends(), error.gave_up(), took), (Kind::LocalLimit, 0, None, Duration::ZERO));
    })
    .await;
}

// layers 21
#[tokio::test(start_paused = true)]
async fn a_minute_of_failure_adds_a_tenth_and_the_reserve() {
    guarded(async {
        let provider = provider(Fault::status(503));
        let stack = stack(&provider).gate(&unbroken()).build().unwrap();
        let mut calls = Vec::new();
        for _ in 0..6000 {
            let stack = stack.clone();
            calls.push(tokio::spawn(async move { failed(&stack).await }));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for call in calls {
            call.await.unwrap();
        }
        let extra = provider.seen() - 6000;
        assert!((600..=600 + 10 + 70).contains(&extra), "{extra} more");
    })
    .await;
}

// layers 28
#[tokio::test(start_paused = true)]
async fn a_panic_of_the_transport_is_a_panic() {
    guarded(async {
        async fn buggy(_: http::Request<Full<Bytes>>) -> Result<http::Response<Full<Bytes>>, Error> {
            tokio::time::sleep(seconds(1)).await;
            panic!("a bug")
        }
        let stack = Stack::chat(over(service_fn(buggy))).deadline(seconds(9)).build().unwrap();
        let (result, took) = timed(tokio::spawn(stack.ask(question()))).await;
        assert!(result.unwrap_err().is_panic() && took == seconds(1));
        let short = Context::default().with_timeout(Duration::from_millis(500));
        let error = ask(&stack.with(short), question()).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Timeout, "and the stack goes on");
    })
    .await;
}
