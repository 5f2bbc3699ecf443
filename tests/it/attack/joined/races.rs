//! Real threads and real time: circuits trip, hands move, accounts cool down, callers leave. Nothing is asserted of time.
use super::*;
use crate::fake::*;
use seawall::{CircuitState, Kind, Sink, What};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::{sleep, timeout};

const LIMIT: u32 = 16;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// In every way, until it is told to hold its calls.
fn moody(salt: u32, holds: &Arc<AtomicBool>) -> Model {
    let holds = holds.clone();
    model(move |nth| match (nth + salt) % 11 {
        _ if holds.load(Relaxed) => Never,
        0..=3 => failing(Kind::Server),
        4 => limited(ms(2)),
        5 => failing(Kind::Overloaded),
        6 => Never,
        7 => After(ms(1), Ok(7)),
        _ => Now(Ok(8)),
    })
}

#[test]
fn after_thousands_of_calls_on_threads_all_is_counted_and_every_permit_and_probe_is_back() {
    const CALLS: u64 = 4000;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap();
    runtime.block_on(async {
        let counts: [Arc<AtomicU32>; 3] = Default::default();
        let [operations, attempts, openings] = counts.clone();
        let sink = Sink::new(move |event| {
            match event.what {
                What::OperationEnded { .. } => operations.fetch_add(1, Relaxed),
                What::AttemptEnded { .. } => attempts.fetch_add(1, Relaxed),
                What::CircuitOpened { .. } => openings.fetch_add(1, Relaxed),
                _ => 0,
            };
        });
        let holds = Arc::new(AtomicBool::new(false));
        let (first, second, gates) = (moody(0, &holds), moody(5, &holds), [Gate::new(), Gate::new()]);
        let stack = two(&first, &second, [&gates[0], &gates[1]]).circuit(brittle()).open_for(ms(1), ms(4)).rounds(2);
        let stack = stack.concurrency(LIMIT as usize).whole(ms(40)).deadline(ms(400)).sink(sink).build().unwrap();
        let hands = gates.clone().map(|gate| {
            tokio::spawn(async move {
                for n in 0..100 {
                    match n % 5 {
                        0 => gate.force_circuit_open(),
                        1 => gate.cool_down(ms(1)),
                        2 => gate.force_circuit_closed(),
                        3 => gate.open_circuit(None, ms(1)),
                        _ => gate.release_circuit(),
                    }
                    sleep(ms(1)).await;
                }
                gate.release_circuit();
            })
        });
        let started = Arc::new(AtomicU32::new(0));
        let calls: Vec<_> = (0..CALLS)
            .map(|nth| {
                let (stack, started) = (stack.clone(), started.clone());
                tokio::spawn(async move {
                    sleep(ms(nth / 20)).await;
                    started.fetch_add(1, Relaxed);
                    match nth % 10 {
                        0 => drop(timeout(ms(nth % 7), stack.ask(nth)).await),
                        _ => drop(stack.ask(nth).await),
                    }
                })
            })
            .collect();
        for call in calls {
            call.await.unwrap();
        }
        for hand in hands {
            hand.await.unwrap();
        }
        let [operations, attempts, openings] = counts.each_ref().map(|count| count.load(Relaxed));
        assert_eq!((operations, started.load(Relaxed)), (CALLS as u32, CALLS as u32));
        assert_eq!(attempts, first.sends() + second.sends());
        assert_eq!((first.live(), second.live()), (0, 0));
        assert!(openings > 10, "{openings}");
        // Each route by itself: its circuit can be probed, and every permit is there.
        let models = [&first, &second];
        for (here, there) in [(0, 1), (1, 0)] {
            gates[there].force_circuit_open();
            let is_well = || gates[here].circuit(None) == CircuitState::Closed && gates[here].opens_in(None).is_none();
            for _ in 0..10_000 {
                if is_well() {
                    break;
                }
                let _ = stack.ask(1).await;
            }
            assert!(is_well(), "a circuit that can be probed closes");
            holds.store(true, Relaxed);
            gates[here].force_circuit_closed();
            let calls: Vec<_> = (0..2 * LIMIT).map(|n| tokio::spawn(stack.ask(n.into()))).collect();
            let mut most = 0;
            for _ in 0..100_000 {
                most = most.max(models[here].live());
                if most >= LIMIT {
                    break;
                }
                tokio::task::yield_now().await;
            }
            assert_eq!(most, LIMIT);
            for call in calls {
                call.abort();
                let _ = call.await;
            }
            holds.store(false, Relaxed);
            gates[0].release_circuit();
            gates[1].release_circuit();
        }
        assert_eq!((first.live(), second.live()), (0, 0));
    });
}
