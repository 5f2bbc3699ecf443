//! Calls dropped after each of their polls.
#[cfg(feature = "reqwest")]
mod wired;

use crate::{ask, fake::*, guarded, seconds};
use seawall::{
    Kind, Stack, chat,
    provider::OpenAi,
    retry::Budget,
    sim::{Answer as SimAnswer, End, Fault, InProcess, Phase, Script, When},
};
use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};
use tower::limit::ConcurrencyLimit;

/// Polls a future so often, each time when it was woken, and drops it; what it gave, if that was sooner.
async fn polled<T>(future: impl Future<Output = T>, polls: u32) -> Option<T> {
    let mut left = polls;
    let mut future = pin!(future);
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

fn question() -> chat::Request {
    chat::Request::new("gpt-4o").user("What is a seawall?")
}

/// A day on which every await is met: slow heads, bodies in pieces, told waits, backoff.
fn script() -> Script {
    let ms = Duration::from_millis;
    Script::seeded(1)
        .answer(SimAnswer::default().delay(ms(20)))
        .fault(When::every(4), Fault::delay(Phase::InBody, ms(10)))
        .fault(When::every(3), Fault::status(503))
        .fault(When::every(2), Fault::status(429).header("retry-after-ms", "30"))
}

#[tokio::test(start_paused = true)]
async fn a_call_in_process_may_be_dropped_after_any_poll() {
    guarded(async {
        let provider = InProcess::new(script()).unwrap();
        let limited = ConcurrencyLimit::new(provider.clone(), 1);
        let client = OpenAi::new("sk-1").base_url("http://provider/v1").over(limited);
        let budget = Budget::with_reserve(0.0, 1_000_000, 0).unwrap();
        let stack = Stack::chat(client).deadline(seconds(30)).budget(&budget).seed(1).build().unwrap();
        for polls in 0..40 {
            for _ in 0..12 {
                let ended = polled(stack.ask(question()), polls).await;
                assert_eq!(provider.in_flight(), 0, "after {polls} polls");
                let seen = provider.seen();
                tokio::time::sleep(seconds(5)).await;
                assert_eq!(provider.seen(), seen, "a dropped call sends no more");
                assert!(polls < 30 || ended.is_some(), "it is over by then");
            }
        }
        let ends = provider.log().records;
        let count = |end| ends.iter().filter(|record| record.end == end).count();
        assert!(
            count(End::HungUp) > 20 && count(End::Answered) > 20,
            "{} {}",
            count(End::HungUp),
            count(End::Answered)
        );
        assert!(stack.ask(question()).await.is_ok(), "the one permit is back");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_while_it_waits_for_a_permit_gives_its_place_back() {
    guarded(async {
        let model = fake(|n, wait: u32| match (n, wait) {
            (0, _) => failing(Kind::Server),
            (_, 0) => Now(Ok(0)),
            (_, wait) => After(seconds(wait.into()), Ok(wait)),
        });
        let budget = Budget::with_reserve(0.0, 2, 0).unwrap();
        let stack = Stack::bare(ConcurrencyLimit::new(model.clone(), 1)).budget(&budget).seed(1).build().unwrap();
        // One call waits for its second attempt, and then for the permit that another one took.
        let waiting = tokio::spawn(stack.ask(0));
        tokio::task::yield_now().await;
        let holding = tokio::spawn(stack.ask(20));
        tokio::time::sleep(seconds(5)).await;
        assert_eq!((model.sends(), model.live()), (2, 1), "the one holds, the other waits");
        waiting.abort();
        assert!(waiting.await.unwrap_err().is_cancelled());
        assert_eq!(holding.await.unwrap().unwrap(), 20);
        assert_eq!(ask(&stack, 0).await.unwrap(), 0);
        assert_eq!((model.sends(), model.live()), (3, 0));
    })
    .await;
}

/// The budget is asked before the sleep, and a drop does not refund: two drops in backoff leave it empty, and no more.
#[tokio::test(start_paused = true)]
async fn what_was_drawn_stays_drawn_and_nothing_else_is() {
    guarded(async {
        let model = fake(|_, _: u32| failing::<u32>(Kind::Server));
        let budget = Budget::with_reserve(0.0, 3, 0).unwrap();
        let stack = Stack::bare(model.clone()).budget(&budget).build().unwrap();
        assert!(polled(stack.ask(1), 0).await.is_none(), "not polled, not sent");
        for _ in 0..2 {
            assert!(polled(stack.ask(1), 1).await.is_none());
        }
        assert_eq!(model.sends(), 2);
        let error = stack.ask(1).await.unwrap_err();
        assert_eq!((error.sends(), error.gave_up()), (2, Some(seawall::GaveUp::BudgetSpent)));
    })
    .await;
}
