//! Times at both ends of what a clock can hold, and counts at the ends of theirs.
use crate::{ask, fake::*, guarded, seconds, timed, unbroken};
use seawall::{
    Bare, Call, Context, Error, Gate, GaveUp, InCall, Kind, Phase, Sink, Stack,
    chat::{self, Item, Reply},
    retry::{Backoff, Budget, RetryLayer, Schedule},
    timeout::{AttemptTimeoutLayer, DeadlineLayer},
};
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    task::{Context as Cx, Poll},
    time::Duration,
};
use tokio::time::{Instant, advance};
use tower::{Layer, ServiceBuilder};

const FOREVER: Duration = Duration::MAX;

fn call(context: Context) -> Call<u32> {
    Call { context, request: 1 }
}

#[tokio::test(start_paused = true)]
async fn times_beyond_all_time_are_taken_and_never_reached() {
    guarded(async {
        let model = fake(|n, _: u32| if n == 0 { failing(Kind::Server) } else { After(seconds(60), Ok(n)) });
        let stack = Stack::bare(model).deadline(FOREVER).whole(Duration::from_secs(u64::MAX / 2)).build().unwrap();
        assert_eq!(stack.ask(1).await.unwrap(), 1);
        assert_eq!(stack.with(Context::default().with_timeout(FOREVER)).ask(1).await.unwrap(), 2);
        let model = fake(|_, _: u32| After(seconds(3), Ok(1)));
        let attempt = AttemptTimeoutLayer::new().whole(FOREVER).unwrap().idle(FOREVER).unwrap().layer(model);
        assert_eq!(ask(&DeadlineLayer::new(FOREVER).unwrap().layer(attempt), 1).await.unwrap(), 1);
        let gate = Gate::default();
        gate.cool_down(FOREVER);
        assert!(gate.opens_in(None).is_some_and(|wait| wait > seconds(86_400 * 365)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_all_time_ends_the_call_unless_it_is_wanted() {
    guarded(async {
        let model = fake(|_, _: u32| limited::<u32>(FOREVER));
        let error = ask(&RetryLayer::new().layer(model.clone()), 1).await.unwrap_err();
        assert_eq!((error.gave_up(), error.retry_after()), (Some(GaveUp::WaitOverCap(seconds(60))), Some(FOREVER)));
        // Whoever sets such a cap waits, and can still leave.
        let patient = RetryLayer::new().max_wait(FOREVER).unwrap().patience(FOREVER);
        let patient = patient.layer(model.clone());
        assert!(tokio::time::timeout(seconds(1000), ask(&patient, 1)).await.is_err());
        let refusing = fake(|_, _: u32| Now::<u32>(Err(Error::refusal(Kind::CoolingDown).with_retry_after(FOREVER))));
        let service = RetryLayer::new().patience(FOREVER).layer(refusing);
        assert_eq!(ask(&service, 1).await.unwrap_err().gave_up(), Some(GaveUp::WaitOverCap(seconds(60))));
        assert_eq!(model.live(), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn retries_without_number_are_bounded_by_the_budget_the_sends_or_the_deadline() {
    guarded(async {
        let schedules = |_: u32| Duration::ZERO;
        let layer = || RetryLayer::new().max_retries(u32::MAX).schedule(schedules);
        let model = fake(|_, _: u32| failing::<u32>(Kind::Server));
        let error = ask(&layer().layer(model.clone()), 1).await.unwrap_err();
        assert_eq!((error.gave_up(), model.sends()), (Some(GaveUp::BudgetSpent), 11));

        // No budget binds here, as one call pays for ten retries only: the reserve is what lets it on.
        let endless = Budget::with_reserve(10.0, u32::MAX, 1).unwrap();
        let layer = || layer().budget(&endless).shape(InCall(Bare));
        let model = fake(|_, _: Call<u32>| failing::<u32>(Kind::Server));
        let capped = Context::default().with_sends_left(100_000);
        let error = ask(&layer().layer(model.clone()), call(capped)).await.unwrap_err();
        assert_eq!((error.gave_up(), error.sends(), model.sends()), (Some(GaveUp::SendsSpent), 100_000, 100_000));
        assert_eq!(error.trail().attempts().len(), 64, "what is kept of it is bounded");

        let model = fake(|_, _: Call<u32>| After::<u32>(Duration::from_millis(1), Err(Error::provider(Kind::Server))));
        let ends = Context::default().with_timeout(seconds(5)).with_sends_left(u32::MAX);
        let (result, took) = timed(ask(&layer().layer(model.clone()), call(ends))).await;
        assert_eq!(result.unwrap_err().gave_up(), Some(GaveUp::WaitPastDeadline));
        assert!(took <= seconds(5) && model.sends() <= 5000);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_holds_for_no_time_is_not_asked_for_ever() {
    guarded(async {
        let model =
            fake(|_, _: u32| Now::<u32>(Err(Error::refusal(Kind::LocalLimit).with_retry_after(Duration::ZERO))));
        let tiny = Backoff::new(Duration::from_nanos(1), seconds(60)).unwrap();
        let layer = RetryLayer::new().max_retries(u32::MAX).schedule(tiny).patience(seconds(1));
        let error = ask(&layer.layer(model.clone()), 1).await.unwrap_err();
        assert_eq!(error.gave_up(), Some(GaveUp::PatienceSpent(seconds(1))));
        assert!(model.sends() <= 1001, "{}", model.sends());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_by_hours_ends_what_is_over_and_nothing_else() {
    let model = fake(|n, _: u32| if n == 0 { limited(seconds(30)) } else { Now(Ok(n)) });
    let stack = Stack::bare(model.clone()).deadline(seconds(3600 * 24)).build().unwrap();
    let call = tokio::spawn(stack.ask(1));
    tokio::task::yield_now().await;
    advance(seconds(3600 * 5)).await;
    assert_eq!(call.await.unwrap().unwrap(), 1, "the wait is over, the day is not");

    let model = fake(|_, _: u32| limited::<u32>(seconds(30)));
    let stack = Stack::bare(model.clone()).deadline(seconds(3600)).build().unwrap();
    let call = tokio::spawn(stack.ask(1));
    tokio::task::yield_now().await;
    advance(seconds(3600 * 5)).await;
    let error = call.await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.sends(), model.sends()), (Kind::Deadline, 1, 1), "nothing is sent late");

    let silent = fake(|_, _: u32| Never::<u32>);
    let stack = Stack::bare(silent.clone()).deadline(seconds(3600)).build().unwrap();
    let call = tokio::spawn(stack.ask(1));
    tokio::task::yield_now().await;
    advance(seconds(3600 * 5)).await;
    let error = call.await.unwrap().unwrap_err();
    assert_eq!((error.phase(), silent.live()), (Some(Phase::FirstByte), 0));
}

#[derive(Clone)]
struct Nothing;

impl Schedule for Nothing {
    fn delay(&mut self, _: u32, _: &seawall::Rng) -> Option<Duration> {
        None
    }
}

#[tokio::test(start_paused = true)]
async fn a_schedule_that_gives_nothing_still_lets_told_waits_be_kept() {
    guarded(async {
        let model = fake(|n, _: u32| if n == 0 { limited(seconds(1)) } else { failing::<u32>(Kind::Server) });
        let error = ask(&RetryLayer::new().schedule(Nothing).layer(model.clone()), 1).await.unwrap_err();
        assert_eq!((model.sends(), error.gave_up()), (2, Some(GaveUp::AttemptsSpent)));
    })
    .await;
}

/// Real time and real threads: a count that is off by one shows in the sum.
#[test]
fn many_threads_share_one_stack_and_every_count_is_exact() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap();
    runtime.block_on(async {
        let events = Arc::new(AtomicU32::new(0));
        let told = Arc::clone(&events);
        let sink = Sink::new(move |event| {
            if matches!(event.what, seawall::What::Retrying { .. }) {
                told.fetch_add(1, Relaxed);
            }
        });
        let budget = Budget::with_reserve(0.0, 500, 0).unwrap();
        let model = fake(|n, _: u32| match n % 3 {
            0 => failing(Kind::Server),
            1 => After(Duration::from_millis(1), Err(Error::provider(Kind::Transport))),
            _ => Now(Ok(n)),
        });
        let tiny = Backoff::new(Duration::from_micros(10), Duration::from_millis(2)).unwrap();
        let build = || {
            Stack::bare(model.clone())
                .gate(&unbroken())
                .backoff(tiny)
                .budget(&budget)
                .sink(sink.clone())
                .seed(1)
                .build()
        };
        let stacks = [build().unwrap(), build().unwrap()];
        let calls: Vec<_> = (0..4000).map(|n| tokio::spawn(stacks[n % 2].ask(1))).collect();
        let (mut sends, mut retried) = (0, 0);
        for call in calls {
            match call.await.unwrap() {
                Ok(_) => sends += 1,
                Err(error) => {
                    sends += error.sends();
                    retried += error.trail().attempts().len() as u32;
                }
            }
        }
        assert_eq!(events.load(Relaxed), 500, "the reserve, and not one more");
        // What a success sent before it is not told by a bare answer.
        let answered_after_retries = 500 - retried;
        assert_eq!((sends + answered_after_retries, model.live()), (model.sends(), 0));
    });
}

#[tokio::test(start_paused = true)]
async fn nested_stacks_keep_the_earliest_deadline_whoever_set_it() {
    guarded(async {
        for (outer, inner) in [(5, 50), (50, 5)] {
            let model = fake(|_, _: chat::Request| Never::<Reply>);
            let within = Stack::chat(model.clone()).deadline(seconds(inner)).max_retries(0).build().unwrap();
            let around = Stack::chat(within).deadline(seconds(outer)).max_retries(0).build().unwrap();
            let (result, took) = timed(around.ask(chat::Request::new("m"))).await;
            let error = result.unwrap_err();
            assert_eq!((error.phase(), error.sends(), took), (Some(Phase::Total), 1, seconds(5)), "{outer} {inner}");
            assert_eq!(model.live(), 0);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_deadline_just_now_sends_nothing_wherever_it_stands() {
    guarded(async {
        let now = Context::default().with_deadline(Instant::now());
        let model = fake(|_, _: Call<u32>| Now(Ok(1)));
        let shape = || InCall(Bare);
        let retry = RetryLayer::new().shape(shape()).layer(model.clone());
        assert_eq!(ask(&retry, call(now)).await.unwrap_err().kind(), Kind::Deadline);
        let attempt = AttemptTimeoutLayer::new().shape(shape()).layer(model.clone());
        assert_eq!(ask(&attempt, call(now)).await.unwrap_err().kind(), Kind::Deadline);
        let deadline = DeadlineLayer::inherited().shape(shape());
        let all = ServiceBuilder::new().layer(deadline).layer(RetryLayer::new().shape(shape())).service(model.clone());
        let error = ask(&all, call(now)).await.unwrap_err();
        assert_eq!((error.kind(), error.sends(), model.sends()), (Kind::Deadline, 0, 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_of_a_chat_ends_after_its_own_limit_and_is_let_go() {
    guarded(async {
        let held = Arc::new(());
        let within = Arc::clone(&held);
        let model = fake(move |_, _: chat::Request| {
            let (mut left, held) = (2, Arc::clone(&within));
            Now(Ok(Reply::stream(poll_stream(move || {
                let _ = &held;
                left -= 1;
                if left < 0 { Poll::Pending } else { Poll::Ready(Some(Ok(Item::Text("Blue.".into())))) }
            }))))
        });
        let stack = Stack::chat(model).deadline(seconds(9)).build().unwrap();
        let mut reply = stack.ask(chat::Request::new("m")).await.unwrap();
        drop(stack);
        tokio::time::sleep(seconds(100)).await;
        assert!(reply.next().await.unwrap().is_ok(), "the deadline is for the head, and a slow reader is not silence");
        assert!(reply.next().await.unwrap().is_ok());
        let (item, took) = timed(reply.next()).await;
        let error = item.unwrap().unwrap_err();
        assert_eq!((error.kind(), error.phase(), took), (Kind::Timeout, Some(Phase::Idle), seconds(60)));
        assert!(error.is_delivered() && !error.is_retryable() && reply.next().await.is_none());
        assert_eq!(Arc::strong_count(&held), 1, "the upstream is let go, while the reply is kept");
        assert_eq!(reply.text(), "Blue.Blue.");
    })
    .await;
}

struct PollStream<F>(F);

fn poll_stream<F: FnMut() -> Poll<Option<Result<Item, Error>>> + Unpin>(next: F) -> PollStream<F> {
    PollStream(next)
}

impl<F: FnMut() -> Poll<Option<Result<Item, Error>>> + Unpin> futures_core::Stream for PollStream<F> {
    type Item = Result<Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        (self.0)()
    }
}
