//! Promises that hold whatever a provider does: 100,000 calls against seeded faults, in virtual time.
//!
//! A tap between client and provider keeps its own account of every send, and each promise is checked against that.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, unreachable_pub)]

mod property {
    pub mod account;
    pub mod fleet;
    pub mod tap;
}

use std::{
    collections::BTreeMap,
    future::{Future, poll_fn},
    num::NonZeroU32,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use property::{
    account::{Account, End},
    fleet::{DEADLINE, Fleet, asserts_that_sleeps_fit},
    tap::{Send, Tap},
};
use seawall::{
    Context, Error, Rng, Sink, Stack,
    chat::{self, Chat},
    provider::{Client, OpenAi},
    retry::{Budget, RetryLayer},
    sim::{Answer, FaultKind, InProcess, Limits, Phase, Script},
};
use tokio::time::Instant;
use tower::{Layer, ServiceExt};

const RUNS: u64 = 10;
const CALLS: u64 = 10_000;

type Hits = BTreeMap<(FaultKind, Phase), u64>;

#[test]
fn promises_hold_under_a_hundred_thousand_calls_with_random_faults() {
    let (mut hits, mut statuses) = (Hits::new(), BTreeMap::<u16, u64>::new());
    let (mut sends, mut drops, mut answered) = (0, 0, 0);
    let runs: Vec<_> = (0..RUNS).map(|seed| std::thread::spawn(move || run(seed))).collect();
    for run in runs {
        let (account, seen) = run.join().unwrap();
        sends += account.sends();
        for status in account.statuses() {
            *statuses.entry(status).or_default() += 1;
        }
        drops += account.count(|end| matches!(end, End::Dropped));
        answered += account.count(|end| matches!(end, End::Answered { .. }));
        for (fault, count) in seen {
            *hits.entry(fault).or_default() += count;
        }
    }
    println!("{} calls, {answered} answered, {drops} dropped, {sends} sends", RUNS * CALLS);
    for ((kind, phase), count) in &hits {
        println!("  {kind:?} at {phase:?}: {count}");
        assert!(*count >= 100, "{kind:?} at {phase:?} was met {count} times");
    }
    for (status, count) in &statuses {
        println!("  {status}: {count}");
    }
    for status in [200, 400, 401, 404, 409, 429, 500, 503, 529] {
        assert!(statuses.get(&status).is_some_and(|count| *count >= 100), "status {status}");
    }
    for kind in [FaultKind::RateLimit, FaultKind::Concurrency] {
        assert!(hits.keys().any(|(met, _)| *met == kind), "{kind:?}");
    }
    let met = |kind| Phase::ALL.iter().all(|phase| hits.contains_key(&(kind, *phase)));
    for kind in [FaultKind::Delay, FaultKind::Silence, FaultKind::Cut, FaultKind::Reset] {
        assert!(met(kind), "{kind:?} at each phase");
    }
    assert!(drops > 5_000 && answered > 50_000, "all paths are taken");
}

fn run(seed: u64) -> (Account, Hits) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(run_of(seed))
}

/// Two providers, one budget, calls that come and go: each on a stack of its own, or on one that many share. Every second run
/// nests retries and goes in rounds, under a budget that never binds.
async fn run_of(seed: u64) -> (Account, Hits) {
    let nested = seed % 2 == 1;
    let providers = [seed, seed + RUNS].map(|seed| InProcess::new(script(seed)).unwrap());
    let tap = Tap::new(providers[0].clone());
    let budget = if nested { Budget::new(10.0).unwrap() } else { Budget::default() };
    let rng = Rng::seeded(seed);
    let fleet = Arc::new(Fleet::new(&tap, providers.each_ref(), &budget, if nested { 2 } else { 1 }, &rng));
    let calls = (0..CALLS).map(|number| {
        let (tap, fleet, budget, rng) = (tap.clone(), fleet.clone(), budget.clone(), Rng::seeded(rng.bits()));
        tokio::spawn(async move {
            // Twenty a second, so that a run takes some minutes and the budget sees many windows.
            tokio::time::sleep(Duration::from_millis(50 * number)).await;
            call(number, nested, tap, &fleet, &budget, &rng).await
        })
    });
    let calls: Vec<_> = calls.collect();
    let mut account = Account::default();
    for call in calls {
        account.add(call.await.unwrap());
    }
    assert_eq!(providers.each_ref().map(InProcess::in_flight), [0, 0], "nothing is left behind");
    let sends = tap.sends();
    let openings = fleet.settle(&sends);
    assert!(openings > 10, "circuits opened {openings} times");
    account.settle(sends);
    if !nested {
        account.assert_extra_load_within(0.1, 10, 1);
    }
    fleet.assert_nothing_leaks().await;
    let mut hits = Hits::new();
    for (fault, count) in providers.iter().flat_map(InProcess::hits) {
        *hits.entry(fault).or_default() += count;
    }
    (account, hits)
}

/// Every third run also meets limits that are truly enforced.
fn script(seed: u64) -> Script {
    let many = |n: u32| NonZeroU32::new(n).unwrap();
    let script = Script::chaos(seed).answer(Answer::default().delay(Duration::ZERO..Duration::from_secs(4)));
    let limits = Limits::default().requests_per_minute(many(1200)).burst(many(20)).concurrency(many(140));
    if (seed % RUNS).is_multiple_of(3) { script.limits(limits) } else { script }
}

type Asking = Pin<Box<dyn Future<Output = Result<chat::Reply, Error>> + std::marker::Send>>;

/// What a call may do is drawn anew for each.
async fn call(
    number: u64,
    nested: bool,
    tap: Tap,
    fleet: &Fleet,
    budget: &Budget,
    rng: &Rng,
) -> property::account::Call {
    let pick = |most: u64| rng.bits() % most;
    let (retries, cap) = (pick(4) as usize, 1 + pick(8) as u32);
    let deadline = (pick(2) == 0).then(|| Instant::now() + Duration::from_millis(1 + pick(60_000)));
    let mut context = Context::default().with_sends_left(cap);
    context.deadline = deadline;

    let request = chat::Request::new(number.to_string()).user("hello").with_context(context);
    let retry = RetryLayer::new().max_retries(if nested { 2 } else { 0 }).shape(Chat).seed(rng.bits());
    let future: Asking = match pick(2) {
        0 => {
            let stack = retry.layer(fleet.stacks[retries].stack.clone());
            Box::pin(DEADLINE.scope(deadline, stack.oneshot(request)))
        }
        _ => {
            let client: Client<OpenAi, Tap> = OpenAi::new("key").base_url("http://provider/v1").over(tap);
            let sink = Sink::new(move |event| asserts_that_sleeps_fit(event, deadline));
            let stack = Stack::chat(client).sends(9).max_retries(retries as u32).seed(rng.bits()).sink(sink);
            let stack = if retries == 0 { stack } else { stack.budget(budget) }.build().unwrap();
            Box::pin(retry.layer(stack).oneshot(request))
        }
    };

    // One in five is dropped: after some polls, at any of its awaits, or after some time.
    let end = match pick(10) {
        0 => dropped_after_polls(future, 1 + pick(4)).await,
        1 => tokio::time::timeout(Duration::from_millis(pick(5_000)), future).await.ok(),
        _ => Some(future.await),
    };
    property::account::Call { number, cap, deadline, ended: Instant::now(), end: End::of(end) }
}

async fn dropped_after_polls<T>(future: impl Future<Output = T>, mut polls: u64) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|cx| {
        if polls == 0 {
            return Poll::Ready(None);
        }
        polls -= 1;
        future.as_mut().poll(cx).map(Some)
    })
    .await
}

impl End {
    fn of(result: Option<Result<chat::Reply, Error>>) -> Self {
        match result {
            None => Self::Dropped,
            Some(Ok(reply)) => Self::Answered { failed: reply.trail().sends() },
            Some(Err(error)) => Self::Failed { sends: error.sends(), text: error.to_string() },
        }
    }
}

impl Send {
    /// What a plain reader of the status would say, with no help of the crate's.
    fn may_be_repeated(&self) -> bool {
        !matches!(self.status, Some(400..=404))
    }
}
