//! Waits, sends and deadlines at their ends, over several routes and stacks within stacks.
use super::*;
use crate::{fake::*, guarded, seconds, timed};
use seawall::{
    Bare, CircuitState, Context, Gate, GaveUp, Kind, Sink, Stack, What,
    chat::{self, Answer as ChatAnswer, Message, Reply},
    failover::Route,
};
use std::{
    future::Future,
    sync::{Arc, atomic::AtomicU32, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::time::{advance, sleep};

const DAY: Duration = Duration::from_secs(86_400);

/// As `guarded`, where days pass.
async fn within_years(test: impl Future<Output = ()>) {
    tokio::time::timeout(1000 * DAY, test).await.expect("the test hangs");
}

fn gates() -> [Gate; 2] {
    [Gate::new(), Gate::new()]
}

/// Limits its first calls, then answers.
fn limited_at_first(times: u32, wait: Duration) -> Model {
    model(move |nth| if nth < times { limited(wait) } else { Now(Ok(nth.into())) })
}

#[tokio::test(start_paused = true)]
async fn the_earliest_of_many_waits_is_told_and_is_true() {
    guarded(async {
        for (first, second) in [(5, 40), (40, 5), (7, 7), (1, 60)] {
            let models = [first, second].map(|wait| limited_at_first(1, seconds(wait)));
            let gates = gates();
            let stack = two(&models[0], &models[1], [&gates[0], &gates[1]]).max_retries(0).build().unwrap();
            let error = stack.ask(1).await.unwrap_err();
            assert_eq!(error.retry_after(), Some(seconds(first.min(second))), "{first} {second}");
            sleep(error.retry_after().unwrap() - seconds(1)).await;
            let early = stack.ask(1).await.unwrap_err();
            assert_eq!((early.kind(), early.retry_after(), early.sends()), (Kind::CoolingDown, Some(seconds(1)), 0));
            sleep(seconds(1)).await;
            assert_eq!(stack.ask(1).await.unwrap(), 1, "who comes when it was told is answered");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn rounds_wait_within_the_deadline_or_not_at_all() {
    guarded(async {
        for (deadline, answered) in [(4, false), (8, true)] {
            let models = [30, 5].map(|wait| limited_at_first(1, seconds(wait)));
            let gates = gates();
            let stack = two(&models[0], &models[1], [&gates[0], &gates[1]]).max_retries(0).rounds(2);
            let stack = stack.deadline(seconds(deadline)).build().unwrap();
            let (result, took) = timed(stack.ask(1)).await;
            match result {
                Ok(_) => assert!(answered && (seconds(5)..seconds(8)).contains(&took), "{took:?}"),
                Err(error) => {
                    assert!(!answered && took.is_zero(), "nobody waits for what comes too late: {took:?}");
                    assert_eq!((error.gave_up(), error.sends()), (Some(GaveUp::WaitPastDeadline), 2));
                    assert_eq!(error.retry_after(), Some(seconds(5)));
                }
            }
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_without_end_closes_one_route_and_no_other() {
    within_years(async {
        for told in [Duration::MAX, Duration::from_secs(u64::MAX), 400_000 * DAY] {
            for kind in [Kind::RateLimited, Kind::Overloaded] {
                let first = model(move |_| Now(Err(Error::provider(kind).with_retry_after(told))));
                let gates = gates();
                let stack = two(&first, &well(), [&gates[0], &gates[1]]).circuit(brittle()).max_retries(0);
                let stack = stack.rounds(2).build().unwrap();
                for _ in 0..3 {
                    assert_eq!(stack.ask(1).await.unwrap(), 2);
                    advance(DAY).await;
                }
                assert_eq!(first.sends(), 1, "{kind:?}");
                let alone = Stack::bare(first.clone()).gate(&gates[0].same_quota()).build().unwrap();
                let (error, took) = timed(alone.ask(1)).await;
                let error = error.unwrap_err();
                assert!(took < seconds(5), "nobody sits that out: {took:?}");
                assert!(error.retry_after().is_some_and(|wait| wait > 200_000 * DAY), "{error}");
                assert!(format!("{error} {error:?} {:?}", gates[0]).len() < 5000);
            }
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn days_later_every_route_is_asked_again() {
    within_years(async {
        let (first, second) =
            (limited_at_first(1, seconds(50)), model(|nth| if nth < 2 { failing(Kind::Server) } else { Now(Ok(7)) }));
        let gates = gates();
        let stack = two(&first, &second, [&gates[0], &gates[1]]).circuit(brittle()).max_retries(0).build().unwrap();
        stack.ask(1).await.unwrap_err();
        assert_eq!(gates[1].circuit(None), CircuitState::Open);
        advance(40 * DAY).await;
        assert_eq!((gates[0].opens_in(None), gates[1].circuit(None)), (None, CircuitState::HalfOpen));
        assert_eq!(stack.ask(1).await.unwrap(), 1);
        gates[0].force_circuit_open();
        advance(40 * DAY).await;
        assert_eq!(stack.ask(1).await.unwrap_err().kind(), Kind::Server, "the probe fails");
        advance(40 * DAY).await;
        assert_eq!(stack.ask(1).await.unwrap(), 7);
        gates[0].release_circuit();
        assert_eq!(stack.ask(1).await.unwrap(), 2);
    })
    .await;
}

/// Taken out by hand, it has nothing to say of a failure of another one, and does not keep that from being asked again.
#[tokio::test(start_paused = true)]
async fn a_route_that_a_hand_keeps_closed_is_not_where_a_failure_goes() {
    guarded(async {
        let (out, kept) = (well(), model(|nth| if nth < 3 { failing(Kind::Server) } else { Now(Ok(nth.into())) }));
        let gates = gates();
        gates[0].force_circuit_open();
        let stack = two(&out, &kept, [&gates[0], &gates[1]]).rounds(2).build().unwrap();
        assert_eq!(stack.ask(1).await.unwrap(), 3, "a round more, as if it were alone");
        let failed = model(|_| failing(Kind::Server));
        let stack = two(&out, &failed, [&gates[0], &Gate::new()]).build().unwrap();
        let error = stack.ask(1).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.route(), error.gave_up()),
            (Kind::Server, Some("2"), Some(GaveUp::AttemptsSpent))
        );
        assert_eq!((error.is_retryable(), error.sends(), out.sends()), (true, 3, 0));
    })
    .await;
}

/// The cool-down of one account and the circuit of one route, closed together: each ends by itself.
#[tokio::test(start_paused = true)]
async fn a_circuit_that_opens_in_a_cool_down_outlives_it_and_the_other_way_round() {
    guarded(async {
        for (cool, answers_at) in [(2, 5), (50, 50)] {
            let model = model(move |nth| match nth {
                0 => After(seconds(1), Err(Error::provider(Kind::Server))),
                1 => limited(seconds(cool + 1)),
                _ => Now(Ok(3)),
            });
            let gate = Gate::new();
            let stack =
                Stack::bare(model.clone()).gate(&gate).circuit(brittle()).seed(1).max_retries(1).build().unwrap();
            let failing = tokio::spawn(stack.clone().with(Context::default().with_sends_left(1)).ask(1));
            tokio::task::yield_now().await;
            let limited = stack.clone().with(Context::default().with_sends_left(1)).ask(1).await.unwrap_err();
            assert_eq!((limited.kind(), failing.await.unwrap().unwrap_err().kind()), (Kind::RateLimited, Kind::Server));
            let left = gate.opens_in(None).unwrap();
            assert_eq!(gate.cools_for(), Some(seconds(cool)));
            assert!(left >= seconds(cool) && left <= seconds(answers_at), "{left:?}");
            let (answer, took) = timed(stack.ask(1)).await;
            assert_eq!((answer.unwrap(), model.sends()), (3, 3));
            assert!(took >= left && took <= left + seconds(1), "{took:?}, {left:?} left");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn few_sends_reach_the_second_route_only_with_what_the_first_left() {
    guarded(async {
        for (sends, expected) in [(1, [1, 0]), (2, [2, 0]), (3, [2, 1]), (4, [2, 2]), (9, [2, 3])] {
            let models = [(); 2].map(|()| model(|_| failing(Kind::Server)));
            let gates = gates();
            let stack = two(&models[0], &models[1], [&gates[0], &gates[1]]).sends(9).build().unwrap();
            let error = stack.with(Context::default().with_sends_left(sends)).ask(1).await.unwrap_err();
            assert_eq!(models.map(|model| model.sends()), expected);
            assert_eq!(error.sends(), expected[0] + expected[1]);
        }
        let (first, second, gates) = (model(|_| limited(seconds(9))), well(), gates());
        let stack = two(&first, &second, [&gates[0], &gates[1]]).build().unwrap();
        let error = stack.clone().with(Context::default().with_sends_left(1)).ask(1).await.unwrap_err();
        assert_eq!((error.kind(), error.gave_up(), second.sends()), (Kind::RateLimited, Some(GaveUp::SendsSpent), 0));
        advance(seconds(9)).await;
        assert_eq!(stack.with(Context::default().with_sends_left(2)).ask(1).await.unwrap(), 2);
    })
    .await;
}

/// A refusal spends no send: the only one goes to the route that is open.
#[tokio::test(start_paused = true)]
async fn one_send_goes_to_the_first_route_that_does_not_refuse() {
    guarded(async {
        let (first, second, gates) = (well(), model(|_| Now(Ok(7))), gates());
        let stack =
            two(&first, &second, [&gates[0], &gates[1]]).build().unwrap().with(Context::default().with_sends_left(1));
        gates[0].force_circuit_open();
        assert_eq!(stack.ask(1).await.unwrap(), 7);
        gates[0].release_circuit();
        gates[0].cool_down(seconds(9));
        assert_eq!((stack.ask(1).await.unwrap(), first.sends()), (7, 0));
        gates[1].cool_down(seconds(3));
        let (answer, took) = timed(stack.ask(1)).await;
        assert_eq!(answer.unwrap(), 7);
        assert!((seconds(3)..=seconds(4)).contains(&took), "{took:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_deadline_shorter_than_everything_ends_the_call_on_time_wherever_it_is() {
    guarded(async {
        let ms = Duration::from_millis;
        let answers: [fn(u32) -> Answer<u64>; 4] =
            [|_| Never, |_| limited(seconds(1)), |_| failing(Kind::Overloaded), |_| After(seconds(3), Ok(1))];
        for first in answers {
            for second in answers {
                for deadline in [1, 2, 7] {
                    let (models, gates) = ([model(first), model(second)], gates());
                    let stack = two(&models[0], &models[1], [&gates[0], &gates[1]]).rounds(3).concurrency(1);
                    let stack = stack.deadline(ms(deadline)).build().unwrap();
                    let calls: Vec<_> = (0..3).map(|n| tokio::spawn(timed(stack.ask(n)))).collect();
                    let mut sends = 0;
                    for call in calls {
                        let (result, took) = call.await.unwrap();
                        sends += result.unwrap_err().sends();
                        assert!(took <= ms(deadline + 1), "{took:?}");
                    }
                    assert_eq!(sends, models[0].sends() + models[1].sends());
                    assert_eq!((models[0].live(), models[1].live()), (0, 0));
                }
            }
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_limits_every_other_call_is_left_for_a_second_and_no_more() {
    guarded(async {
        let (first, second, gates) =
            (model(|nth| if nth % 2 == 0 { failing(Kind::RateLimited) } else { Now(Ok(1)) }), well(), gates());
        let stack = two(&first, &second, [&gates[0], &gates[1]]).build().unwrap();
        for n in 0..20 {
            assert_eq!(stack.ask(n).await.unwrap(), 2, "limited, and then answered by the other");
            assert_eq!(gates[0].cools_for(), Some(seconds(1)), "a success between them starts anew");
            advance(seconds(1)).await;
            assert_eq!(stack.ask(n).await.unwrap(), 1);
        }
        assert_eq!(gates[0].circuit(None), CircuitState::Closed);
    })
    .await;
}

/// The last of 64 is reached, each is asked once, and the trail tells of all.
#[tokio::test(start_paused = true)]
async fn sixty_four_routes_are_asked_in_their_order_each_once() {
    guarded(async {
        let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
        let models: Vec<_> = (0..64)
            .map(|name| {
                let asked = asked.clone();
                model(move |_| {
                    asked.lock().unwrap().push(name);
                    if name < 63 { failing(Kind::RateLimited) } else { Now(Ok(name)) }
                })
            })
            .collect();
        let routes = || models.iter().map(|model| Route::new(model.clone()).map(|n: u64| n + 1)).collect();
        let stack = Stack::list(Bare, routes()).on_429().sends(70).rounds(3).deadline(seconds(5)).build().unwrap();
        assert_eq!(tokio::spawn(stack.ask(1)).await.unwrap().unwrap(), 63);
        assert_eq!(*asked.lock().unwrap(), (0..64).collect::<Vec<_>>());
        assert_eq!(stack.ask(1).await.unwrap(), 63, "and then the last at once");
        assert_eq!(asked.lock().unwrap().len(), 65);
        let few = Stack::list(Bare, routes()).on_429().build().unwrap().ask(1).await.unwrap_err();
        assert_eq!((few.sends(), few.gave_up(), few.trail().attempts().len()), (6, Some(GaveUp::SendsSpent), 5));
        assert!(format!("{stack:?}").len() < 1000);
    })
    .await;
}

type ChatModel = Fake<chat::Request, Reply>;

fn chatting(answer: impl Fn(u32) -> Option<Error> + Send + Sync + 'static) -> ChatModel {
    fake(move |nth, _| match answer(nth) {
        Some(error) => Now(Err(error)),
        None => Now(Ok(Reply::whole(ChatAnswer::new(Message::assistant("Blue."))))),
    })
}

/// What the outer failover knows of its other routes, the retry of a stack within knows too.
#[tokio::test(start_paused = true)]
async fn a_stack_as_a_route_shares_sends_and_deadline_and_leaves_when_the_outer_one_would() {
    guarded(async {
        let [a, b, c] =
            [(); 3].map(|()| chatting(|_| Some(Error::provider(Kind::RateLimited).with_retry_after(seconds(20)))));
        let inner = Stack::chat(a.clone()).name("a").then(b.clone()).name("b").on_429().build().unwrap();
        let stack =
            Stack::chat(inner).name("inner").then(c.clone()).name("c").on_429().deadline(seconds(10)).build().unwrap();
        let question = || chat::Request::new("m").user("?");
        let (result, took) = timed(stack.ask(question())).await;
        let error = result.unwrap_err();
        assert_eq!((took, error.sends(), error.gave_up()), (Duration::ZERO, 3, Some(GaveUp::WaitPastDeadline)));
        assert_eq!([a.sends(), b.sends(), c.sends()], [1, 1, 1]);
        assert_eq!((error.retry_after(), kinds(&error)), (Some(seconds(20)), vec![Kind::RateLimited; 2]));
        let well = chatting(|_| None);
        let inner = Stack::chat(a.clone()).then(b.clone()).on_429().build().unwrap();
        let stack = Stack::chat(inner).then(well).on_429().build().unwrap();
        let (reply, took) = timed(stack.clone().with(Context::default().with_sends_left(3)).ask(question())).await;
        let reply = reply.unwrap();
        assert_eq!(
            (took, reply.trail().sends()),
            (Duration::ZERO, 2),
            "the last of the inner routes does not wait either"
        );
        let spent = stack.with(Context::default().with_sends_left(2));
        advance(seconds(21)).await;
        assert_eq!(spent.ask(question()).await.unwrap_err().sends(), 2);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_longer_patience_of_two_stacks_holds() {
    guarded(async {
        let slow =
            || chatting(|nth| (nth == 0).then(|| Error::provider(Kind::RateLimited).with_retry_after(seconds(3))));
        for (outer, inner, waits) in [(0, 5, true), (5, 0, true), (2, 2, false), (3, 0, true)] {
            let (first, second) = (slow(), chatting(|_| None));
            let within = Stack::chat(first.clone())
                .then(chatting(|_| None))
                .on_429()
                .wait_at_most(seconds(inner))
                .build()
                .unwrap();
            let stack = Stack::chat(within).then(second.clone()).on_429().wait_at_most(seconds(outer)).build().unwrap();
            let (reply, took) = timed(stack.ask(chat::Request::new("m").user("?"))).await;
            assert!(reply.is_ok());
            assert_eq!((took >= seconds(3), first.sends()), (waits, 1 + u32::from(waits)), "{outer} {inner}: {took:?}");
        }
    })
    .await;
}

/// Never ready: passed by in its time, by calls at once, and nobody's deadline is missed.
#[tokio::test(start_paused = true)]
async fn a_route_that_is_never_ready_costs_each_call_a_second_and_keeps_nothing() {
    guarded(async {
        let stuck = tower::limit::ConcurrencyLimit::new(model(|_| Never), 1);
        let switches = Arc::new(AtomicU32::new(0));
        let count = switches.clone();
        let sink = Sink::new(move |event| {
            if let What::Switched { .. } = event.what {
                count.fetch_add(1, Relaxed);
            }
        });
        let stack = Stack::bare(stuck).then(well()).on_failure().sink(sink).build().unwrap();
        let holding = tokio::spawn(stack.ask(1));
        tokio::task::yield_now().await;
        for deadline in [seconds(9), Duration::from_millis(500)] {
            let calls: Vec<_> = (0..20)
                .map(|n| {
                    let stack = stack.clone().with(Context::default().with_timeout(deadline));
                    tokio::spawn(timed(async move { stack.ask(n).await }))
                })
                .collect();
            for call in calls {
                let (result, took) = call.await.unwrap();
                match deadline > seconds(1) {
                    true => assert_eq!((result.unwrap(), took), (2, seconds(1))),
                    false => assert_eq!((result.unwrap_err().kind(), took), (Kind::Deadline, deadline)),
                }
            }
        }
        assert_eq!(switches.load(Relaxed), 20);
        holding.abort();
    })
    .await;
}

/// One seed, one run: the same events at the same times, twice.
#[test]
fn a_seed_replays_a_whole_run_of_two_routes() {
    fn run(seed: u64) -> Vec<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let start = tokio::time::Instant::now();
            let told = Arc::new(std::sync::Mutex::new(Vec::new()));
            let log = told.clone();
            let sink = Sink::new(move |event| log.lock().unwrap().push(format!("{:?} {event:?}", start.elapsed())));
            let moody = |salt: u64| {
                model(move |nth| match (u64::from(nth) * 7 + salt) % 9 {
                    0 | 1 => failing(Kind::Server),
                    2 => limited(seconds(2)),
                    3 => Never,
                    4 => failing(Kind::RateLimited),
                    more => After(Duration::from_millis(more * 100), Ok(more)),
                })
            };
            let gates = gates();
            let stack = two(&moody(1), &moody(4), [&gates[0], &gates[1]])
                .seed(seed)
                .concurrency(2)
                .rounds(2)
                .circuit(brittle());
            let stack = stack.whole(seconds(2)).deadline(seconds(20)).sink(sink).build().unwrap();
            let calls: Vec<_> = (0..100)
                .map(|n| {
                    let stack = stack.clone();
                    tokio::spawn(async move {
                        sleep(Duration::from_millis(n * 150)).await;
                        let _ = stack.ask(n).await;
                    })
                })
                .collect();
            for call in calls {
                call.await.unwrap();
            }
            Arc::try_unwrap(told).map_or_else(|told| told.lock().unwrap().clone(), |told| told.into_inner().unwrap())
        })
    }
    let first = run(7);
    assert!(first.len() > 300, "{}", first.len());
    assert_eq!(first, run(7));
    assert_ne!(first, run(8));
}
