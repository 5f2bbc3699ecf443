//! Over real sockets, where the provider sees who leaves.
use super::*;
use seawall::{
    chat::Chat,
    provider::{Client, Reqwest},
    retry::Backoff,
    sim::MockProvider,
    stack::Paved,
};

type Wired = Stack<Paved<Client<OpenAi, Reqwest>, Chat>, Chat>;

fn wired(provider: &MockProvider) -> Wired {
    let client = OpenAi::new("sk-1").base_url(provider.base_url()).client().unwrap();
    let backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(50)).unwrap();
    let budget = Budget::with_reserve(0.0, 1_000_000, 0).unwrap();
    // What the provider refuses, dropped calls among it, may add up to an outage: that is not the matter here.
    Stack::chat(client).gate(&crate::unbroken()).deadline(seconds(30)).backoff(backoff).budget(&budget).build().unwrap()
}

#[tokio::test]
async fn a_call_over_sockets_may_be_dropped_after_any_poll() {
    let provider = MockProvider::start(script()).await.unwrap();
    let stack = wired(&provider);
    for step in 0..24 {
        for _ in 0..4 {
            let _ = polled(stack.ask(question()), step).await;
            // By time as well: most of what happens on a wire wakes nobody.
            let _ = tokio::time::timeout(Duration::from_millis(3 * u64::from(step)), stack.ask(question())).await;
        }
        let reply = stack.ask(question()).await;
        assert!(reply.as_ref().is_ok_and(|reply| !reply.text().is_empty()), "half read after step {step}: {reply:?}");
    }
    tokio::time::timeout(seconds(30), provider.settled()).await.expect("the provider sees that nobody waits");
    assert_eq!(provider.in_flight(), 0);
    let records = provider.shutdown().await.records;
    let count = |end| records.iter().filter(|record| record.end == end).count();
    assert!(count(End::HungUp) > 0 && count(End::Unreadable) == 0, "{}", count(End::HungUp));
}

#[tokio::test]
async fn the_provider_sees_the_hang_up_at_every_phase() {
    for phase in Phase::ALL {
        let silence = Fault::silence(phase);
        let provider = MockProvider::start(Script::seeded(1).fault(When::nth(1), silence)).await.unwrap();
        let stack = wired(&provider);
        let call = tokio::spawn(stack.ask(question()));
        while provider.in_flight() == 0 {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        call.abort();
        tokio::time::timeout(seconds(30), provider.settled()).await.expect("a hang-up is seen");
        assert!(stack.ask(question()).await.is_ok(), "{phase:?}");
        let records = provider.shutdown().await.records;
        let ends: Vec<_> = records.iter().map(|record| record.end).collect();
        assert_eq!(ends, [End::HungUp, End::Answered], "{phase:?}");
    }
}

/// The same where the stack's own time is over, and its future is kept.
#[tokio::test]
async fn the_provider_sees_the_end_of_our_patience() {
    let silence = Fault::silence(Phase::InBody);
    let provider = MockProvider::start(Script::seeded(1).fault(When::always(), silence)).await.unwrap();
    let client = OpenAi::new("sk-1").base_url(provider.base_url()).client().unwrap();
    let stack = Stack::chat(client).deadline(Duration::from_millis(100)).build().unwrap();
    let mut kept = pin!(stack.ask(question()));
    let error = kept.as_mut().await.unwrap_err();
    assert_eq!((error.kind(), error.sends()), (Kind::Timeout, 1));
    tokio::time::timeout(seconds(30), provider.settled()).await.expect("a hang-up is seen");
    assert_eq!(provider.shutdown().await.records[0].end, End::HungUp);
}
