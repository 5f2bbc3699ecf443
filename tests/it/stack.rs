mod routes;
mod streams;
mod told;

use crate::{ask, fake::*, guarded, seconds, timed};
use seawall::{
    Context, Error, GaveUp, Http, Invalid, Kind, Phase, Sink, Stack, What,
    chat::{self, Answer as ChatAnswer, Message, Reply},
    retry::{Backoff, Budget},
    stack::Paved,
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::Instant;
use tower::limit::ConcurrencyLimit;

#[tokio::test(start_paused = true)]
async fn a_failed_attempt_is_followed_by_another_within_the_deadline() {
    guarded(async {
        let model = fake(|n, request: u64| if n == 0 { failing(Kind::Server) } else { Now(Ok(request)) });
        let stack = Stack::bare(model.clone()).deadline(seconds(30)).build().unwrap();
        assert_eq!((stack.ask(7).await.unwrap(), model.sends()), (7, 2));
        let model = fake(|_, _: u64| limited::<u64>(seconds(31)));
        let stack = Stack::bare(model.clone()).deadline(seconds(30)).build().unwrap();
        let (error, waited) = timed(stack.ask(7)).await;
        let error = error.unwrap_err();
        assert_eq!((error.kind(), error.gave_up()), (Kind::RateLimited, Some(GaveUp::WaitPastDeadline)));
        assert_eq!((error.retry_after(), waited, model.sends()), (Some(seconds(31)), Duration::ZERO, 1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn silence_ends_at_the_deadline_and_tells_what_was_sent() {
    guarded(async {
        let model = fake(|n, _: u64| if n == 0 { failing::<u64>(Kind::Server) } else { Never });
        let stack = Stack::bare(model.clone()).deadline(seconds(30)).build().unwrap();
        let (error, waited) = timed(stack.ask(7)).await;
        let error = error.unwrap_err();
        assert_eq!((error.kind(), error.phase(), error.sends()), (Kind::Timeout, Some(Phase::Total), 2));
        assert_eq!((error.trail().attempts().len(), waited, model.live()), (1, seconds(30), 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_stack_in_a_stack_shares_deadline_and_sends() {
    guarded(async {
        let model = fake(|_, _: chat::Request| failing::<Reply>(Kind::Server));
        let inner = Stack::chat(model.clone()).build().unwrap();
        let outer = Stack::chat(inner).build().unwrap();
        let context = Context::default().with_sends_left(4);
        let error = outer.with(context).ask(chat::Request::new("m")).await.unwrap_err();
        assert_eq!((error.sends(), model.sends()), (4, 4));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_context_that_the_request_brings_goes_before_the_stacks_own() {
    guarded(async {
        let model = fake(|_, _: chat::Request| Never::<Reply>);
        let stack = Stack::chat(model).deadline(seconds(60)).build().unwrap();
        let brought = Context::default().with_timeout(seconds(5));
        let (error, waited) = timed(stack.ask(chat::Request::new("m").with_context(brought))).await;
        assert_eq!((error.unwrap_err().kind(), waited), (Kind::Timeout, seconds(5)));
        let past = Context::default().with_deadline(Instant::now());
        assert_eq!(stack.with(past).ask(chat::Request::new("m")).await.unwrap_err().kind(), Kind::Deadline);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_reply_tells_what_failed_before_it() {
    guarded(async {
        let reply = || Reply::whole(ChatAnswer::new(Message::assistant("Blue.")));
        let model = fake(move |n, _: chat::Request| if n == 0 { failing(Kind::Overloaded) } else { Now(Ok(reply())) });
        let stack = Stack::chat(model).build().unwrap();
        let reply = stack.ask(chat::Request::new("m").user("What colour is the sea?")).await.unwrap();
        let kinds: Vec<_> = reply.trail().attempts().iter().map(seawall::Attempt::kind).collect();
        assert_eq!((reply.text().as_ref(), kinds), ("Blue.", vec![Kind::Overloaded]));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_foreign_limit_counts_against_the_deadline() {
    guarded(async {
        let model = ConcurrencyLimit::new(fake(|_, _: u64| Never::<u64>), 1);
        let stack = Stack::bare(model).deadline(seconds(5)).build().unwrap();
        let first = tokio::spawn(ask_one(stack.clone()));
        tokio::task::yield_now().await;
        let (error, waited) = timed(stack.ask(2)).await;
        let error = error.unwrap_err();
        assert_eq!((error.kind(), error.sends(), waited), (Kind::Deadline, 0, seconds(5)), "nothing was sent");
        assert_eq!(first.await.unwrap().unwrap_err().kind(), Kind::Timeout);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_is_never_made_ready_ends_at_the_deadline_and_tells_the_attempts_before() {
    guarded(async {
        // The first call fails while a second one takes the only permit, and keeps it.
        let script = |n, _| if n == 0 { After(seconds(1), Err(Error::provider(Kind::Server))) } else { Never::<u64> };
        let model = fake(script);
        let stack = Stack::bare(ConcurrencyLimit::new(model.clone(), 1)).deadline(seconds(30)).seed(1).build().unwrap();
        let first = tokio::spawn(ask_one(stack.clone()));
        tokio::task::yield_now().await;
        let _second = tokio::spawn(ask_one(stack.clone().with(Context::default().with_timeout(seconds(3600)))));
        let (error, waited) = timed(first).await;
        let error = error.unwrap().unwrap_err();
        assert_eq!((error.kind(), error.sends(), waited), (Kind::Deadline, 1, seconds(30)));
        assert_eq!(error.trail().attempts().len(), 1);
    })
    .await;
}

async fn ask_one<S: tower::Service<u64, Error = Error> + Clone>(stack: S) -> Result<S::Response, Error> {
    ask(&stack, 1).await
}

#[tokio::test(start_paused = true)]
async fn every_layer_tells_its_events_to_one_sink() {
    guarded(async {
        let told = Arc::new(Mutex::new(Vec::new()));
        let sink = Sink::new({
            let told = told.clone();
            move |event| {
                let what = match event.what {
                    What::Retrying { .. } => "retrying",
                    What::GaveUp { .. } => "gave up",
                    What::TimedOut { .. } => "timed out",
                    What::AttemptEnded { .. } => "attempt ended",
                    What::OperationEnded { .. } => "operation ended",
                    _ => "other",
                };
                told.lock().unwrap().push((event.route.map(str::to_owned), what));
            }
        });
        let model = fake(|n, _: u64| if n == 0 { failing::<u64>(Kind::Server) } else { Never });
        let stack = Stack::bare(model).max_retries(1).whole(seconds(5)).sink(sink).build().unwrap();
        stack.ask(1).await.unwrap_err();
        let told = told.lock().unwrap();
        let words: Vec<_> = told.iter().map(|(_, what)| *what).collect();
        let expected = ["attempt ended", "retrying", "timed out", "attempt ended", "gave up", "operation ended"];
        assert_eq!(words, expected);
        assert!(told.iter().all(|(route, what)| route.as_deref() == (*what != "operation ended").then_some("1")));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_seed_replays_the_waits() {
    guarded(async {
        let waits = |seed| async move {
            let model = fake(|_, _: u64| failing::<u64>(Kind::Server));
            let stack = Stack::bare(model).seed(seed).build().unwrap();
            timed(stack.ask(1)).await.1
        };
        assert_eq!(waits(1).await, waits(1).await);
        assert_ne!(waits(1).await, waits(2).await);
    })
    .await;
}

/// A context says what a call still may do, and never that a stack may do more than it was built for.
#[tokio::test(start_paused = true)]
async fn a_cap_of_sends_holds_whatever_context_a_call_comes_with() {
    guarded(async {
        let model = fake(|_, _: chat::Request| failing::<Reply>(Kind::Server));
        let stack = Stack::chat(model.clone()).sends(2).build().unwrap();
        let minute = Context::default().with_timeout(seconds(60));
        let question = || chat::Request::new("m");
        let handed = stack.clone().with(minute).ask(question()).await.unwrap_err();
        let brought = stack.ask(question().with_context(minute)).await.unwrap_err();
        for error in [handed, brought] {
            assert_eq!((error.sends(), error.gave_up()), (2, Some(GaveUp::SendsSpent)));
        }
        let fewer = stack.with(minute.with_sends_left(1)).ask(question()).await.unwrap_err();
        assert_eq!((fewer.sends(), model.sends()), (1, 5));
    })
    .await;
}

#[test]
fn what_makes_no_sense_or_cannot_take_effect_is_not_built() {
    let service = || tower::service_fn(|_: u64| async { Ok::<_, Error>(1u64) });
    let build = || Stack::bare(service());
    let backoff = Backoff::new(seconds(1), seconds(2)).unwrap();
    let slow = Backoff::new(seconds(1), seconds(120)).unwrap();
    let cases: [(Result<Stack<Paved<_>>, Invalid>, &str); 12] = [
        (build().max_wait(Duration::ZERO).build(), "max_wait"),
        (build().backoff(slow).build(), "backoff"),
        (build().deadline(Duration::ZERO).build(), "deadline"),
        (build().whole(Duration::ZERO).build(), "whole"),
        (build().sends(0).build(), "sends"),
        (build().max_retries(6).build(), "max_retries"),
        (build().max_retries(2).sends(2).build(), "max_retries"),
        (build().max_retries(0).backoff(backoff).build(), "backoff"),
        (build().sends(1).backoff(backoff).build(), "backoff"),
        (build().sends(1).budget(&Budget::default()).build(), "budget"),
        (build().max_retries(0).budget(&Budget::default()).build(), "budget"),
        (build().deadline(seconds(5)).whole(seconds(5)).build(), "whole"),
    ];
    for (built, setting) in cases {
        let invalid = built.err().unwrap_or_else(|| panic!("{setting} was built"));
        assert_eq!(invalid.setting(), setting, "{invalid}");
    }
    let zero = Stack::http(service()).first_byte(Duration::ZERO).build();
    assert!(zero.is_err_and(|invalid| invalid.setting() == "first_byte"));
    assert!(Stack::http(service()).idle(Duration::ZERO).build().is_err_and(|invalid| invalid.setting() == "idle"));
    assert!(build().max_retries(6).sends(7).build().is_ok());
    assert!(build().backoff(slow).max_wait(seconds(120)).build().is_ok());
}

#[test]
fn a_stack_has_a_name_that_fits_on_a_line_and_can_be_shared() {
    type Client = Fake<http::Request<String>, http::Response<http_body_util::Full<bytes::Bytes>>>;
    fn shared<T: Clone + Send + Sync + 'static>() {}
    shared::<Stack<Paved<Client, Http>, Http>>();
}

/// What an attempt of the outer stack had sent when its time was over, only the inner one knows.
#[tokio::test(start_paused = true)]
async fn sends_of_a_stack_within_are_counted_although_its_attempt_takes_too_long() {
    guarded(async {
        let model = fake(|n, _: chat::Request| if n % 2 == 0 { failing::<Reply>(Kind::Server) } else { Never });
        let inner = Stack::chat(model.clone()).seed(1).build().unwrap();
        let outer = Stack::chat(inner).whole(seconds(5)).sends(4).build().unwrap();
        let (result, took) = timed(outer.ask(chat::Request::new("m"))).await;
        let error = result.unwrap_err();
        assert_eq!((error.sends(), model.sends(), error.gave_up()), (4, 4, Some(GaveUp::SendsSpent)));
        assert!(took <= seconds(13), "two attempts of five seconds, and a wait: {took:?}");
        assert_eq!((error.trail().attempts().len(), model.live()), (3, 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_default_delays_give_way_to_a_shorter_longest_wait() {
    guarded(async {
        for seed in 0..20 {
            let model = fake(|_, _: u64| failing::<u64>(Kind::Server));
            let stack = Stack::bare(model.clone()).max_wait(seconds(1)).seed(seed).build().unwrap();
            let error = stack.ask(1).await.unwrap_err();
            assert_eq!((error.gave_up(), model.sends()), (Some(GaveUp::AttemptsSpent), 3), "seed {seed}");
        }
    })
    .await;
}
