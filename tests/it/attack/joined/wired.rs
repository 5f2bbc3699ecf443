//! Two routes over real sockets, one of which is cut, reset, silent, or killed: who asks is answered, once.
use super::*;
use crate::seconds;
use seawall::{
    Error, Outcome, Sink, What,
    chat::{self, Chat, Reply},
    provider::{Client, OpenAi, Reqwest},
    retry::Budget,
    sim::{Answer as SimAnswer, End, Fault, MockProvider, Phase, Script, When},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::task::JoinHandle;

type Wired = Builder<Then<One<Client<OpenAi, Reqwest>>, Client<OpenAi, Reqwest>>, Chat>;
type Asking = JoinHandle<Result<Reply, Error>>;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn client(provider: &MockProvider) -> Client<OpenAi, Reqwest> {
    // Asks it as it is on this machine, whatever proxy the environment names.
    let direct = Reqwest::with_client(Reqwest::client_builder().no_proxy().build().unwrap());
    OpenAi::new("sk-1").base_url(provider.base_url()).over(direct)
}

fn wired(first: &MockProvider, second: &MockProvider) -> Wired {
    Stack::chat(client(first)).then(client(second)).on_429().on_failure()
}

fn question() -> chat::Request {
    chat::Request::new("gpt-4o").user("What is a seawall?")
}

/// Counts what is told: operations, those answered, and attempts.
fn counting() -> (Sink, impl Fn() -> [u64; 3]) {
    let counts: [Arc<AtomicU64>; 3] = Default::default();
    let [operations, answered, attempts] = counts.clone();
    let sink = Sink::new(move |event| match event.what {
        What::OperationEnded { outcome, .. } => {
            operations.fetch_add(1, Relaxed);
            answered.fetch_add(u64::from(matches!(outcome, Some(Outcome::Whole))), Relaxed);
        }
        What::AttemptEnded { .. } => _ = attempts.fetch_add(1, Relaxed),
        _ => {}
    });
    (sink, move || counts.each_ref().map(|count| count.load(Relaxed)))
}

/// Every call is answered by one of the two; and each time that one says it answered, some call got that answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_route_that_breaks_in_every_way_no_call_is_lost_and_none_is_answered_twice() {
    let mut script = Script::seeded(3).answer(SimAnswer::default().text("first"));
    for (nth, phase) in (2u64..).zip(Phase::ALL.iter().flat_map(|&phase| [(phase, 0), (phase, 1)])) {
        let (phase, how) = phase;
        script = script.fault(When::every(nth), if how == 0 { Fault::reset(phase) } else { Fault::cut(phase) });
    }
    let script = script.fault(When::every(5), Fault::silence(Phase::InBody)).fault(When::every(7), Fault::status(503));
    let first = MockProvider::start(script).await.unwrap();
    let second = MockProvider::start(Script::seeded(4).answer(SimAnswer::default().text("second"))).await.unwrap();
    let (sink, told) = counting();
    let stack = wired(&first, &second).sink(sink).concurrency(8).whole(seconds(2)).open_for(ms(20), ms(50));
    let stack = stack.budget(&Budget::with_reserve(0.0, 0, 0).unwrap()).build().unwrap();
    const CALLS: u64 = 400;
    let calls: Vec<Asking> = (0..CALLS).map(|_| tokio::spawn(stack.ask(question()))).collect();
    let mut by = [0u64; 2];
    for call in calls {
        let reply = call.await.unwrap().unwrap();
        by[usize::from(reply.text() == "second")] += 1;
    }
    for provider in [&first, &second] {
        tokio::time::timeout(seconds(30), provider.settled()).await.expect("nobody is left behind");
    }
    let [operations, answered, attempts] = told();
    let (first, second) = (first.shutdown().await.records, second.shutdown().await.records);
    assert_eq!((operations, answered), (CALLS, CALLS));
    assert_eq!(by[1], second.iter().filter(|record| record.end == End::Answered).count() as u64);
    assert!(by[0] <= first.iter().filter(|record| record.end == End::Answered).count() as u64);
    // The client may give up a connection that was reset under it, so not every attempt is seen at the other end.
    assert!(attempts >= (first.len() + second.len()) as u64, "{attempts} of {} and {}", first.len(), second.len());
    assert!(by[0] > 0 && by[1] > 0, "{by:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_in_the_middle_of_its_answers_loses_no_call() {
    let slow = Script::seeded(1).answer(SimAnswer::default().text("first").delay(seconds(30)));
    let first = MockProvider::start(slow).await.unwrap();
    let second = MockProvider::start(Script::seeded(2).answer(SimAnswer::default().text("second"))).await.unwrap();
    let (sink, told) = counting();
    let gate = Gate::new();
    let stack = Stack::chat(client(&first)).gate(&gate).then(client(&second)).on_failure().max_retries(0);
    let stack = stack.open_for(seconds(30), seconds(60)).sink(sink).build().unwrap();
    let calls: Vec<Asking> = (0..50).map(|_| tokio::spawn(stack.ask(question()))).collect();
    while first.in_flight() < 50 {
        tokio::time::sleep(ms(1)).await;
    }
    let killed = first.shutdown().await.records;
    for call in calls {
        let reply = call.await.unwrap().unwrap();
        assert_eq!((reply.text().as_ref(), reply.trail().sends()), ("second", 1));
    }
    assert!(killed.iter().all(|record| record.end == End::Shutdown));
    assert_eq!(gate.circuit(Some("gpt-4o")), seawall::CircuitState::Open, "fifty failures, and nobody is there");
    for _ in 0..20 {
        assert_eq!(stack.ask(question()).await.unwrap().trail().sends(), 0, "the dead one is not asked again");
    }
    assert_eq!(told(), [70, 70, 120]);
    assert_eq!(second.shutdown().await.records.len(), 70);
}
