//! Listeners and maps of others, at every event that a stack of two routes tells.
use super::*;
use crate::{fake::*, guarded, seconds, timed};
use seawall::{CircuitState, Kind, Sink, What};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::advance;

fn word(what: &What<'_>) -> &'static str {
    match what {
        What::Retrying { .. } => "retrying",
        What::GaveUp { .. } => "gave up",
        What::TimedOut { .. } => "timed out",
        What::Switched { .. } => "switched",
        What::CircuitOpened { .. } => "opened",
        What::CircuitHalfOpened { .. } => "half opened",
        What::CircuitClosed { .. } => "closed",
        What::CoolingDown { .. } => "cooling down",
        What::PermitTaken => "permit taken",
        What::PermitReturned => "permit returned",
        What::QueueEntered => "queue entered",
        What::QueueLeft { .. } => "queue left",
        What::AttemptEnded { .. } => "attempt",
        What::OperationEnded { .. } => "operation",
        _ => unreachable!(),
    }
}

/// Fails, is limited, recovers: with these, each event is told at least once.
fn moody() -> Model {
    model(|nth| match nth % 6 {
        0 | 1 => failing(Kind::Server),
        2 => limited(seconds(1)),
        3 => Never,
        _ => After(Duration::from_millis(10), Ok(1)),
    })
}

/// A bug in a listener breaks the call that it was told of. Everything that the call held is free, and once the listener is
/// mended the stack works as if nothing had been.
#[tokio::test(start_paused = true)]
async fn a_listener_that_panics_at_any_event_leaves_no_permit_no_probe_and_no_call_behind() {
    const EVENTS: [&str; 12] = [
        "retrying",
        "gave up",
        "timed out",
        "switched",
        "opened",
        "half opened",
        "closed",
        "cooling down",
        "permit taken",
        "permit returned",
        "attempt",
        "operation",
    ];
    for event in EVENTS {
        guarded(async {
            let (broken, panics) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU32::new(0)));
            let (switch, count) = (broken.clone(), panics.clone());
            let sink = Sink::new(move |told| {
                if word(&told.what) == event && switch.load(Relaxed) {
                    count.fetch_add(1, Relaxed);
                    panic!("a bug in a listener");
                }
            });
            let (first, second, gates) = (moody(), moody(), [Gate::new(), Gate::new()]);
            let stack = two(&first, &second, [&gates[0], &gates[1]]).circuit(brittle()).concurrency(1).rounds(2);
            let stack = stack.whole(seconds(5)).deadline(seconds(9)).sink(sink).build().unwrap();
            for n in 0..40 {
                let _ = tokio::spawn(stack.ask(n)).await;
                assert_eq!((first.live(), second.live()), (0, 0), "{event}");
                tokio::time::sleep(seconds(n % 7)).await;
            }
            assert!(panics.load(Relaxed) > 0, "{event} was told");
            broken.store(false, Relaxed);
            advance(seconds(100)).await;
            for n in 0..12 {
                let (_, took) = timed(tokio::spawn(stack.ask(n))).await;
                assert!(took <= seconds(9), "{event}: {took:?}");
                advance(seconds(100)).await;
            }
            let answered = two(&well(), &well(), [&gates[0], &gates[1]]).build().unwrap();
            assert_eq!(answered.ask(1).await.unwrap(), 2);
        })
        .await;
    }
}

/// Neither a permit nor a place in the line is lost with the call that the listener broke.
#[tokio::test(start_paused = true)]
async fn a_listener_that_panics_at_a_permit_or_in_the_line_keeps_neither() {
    for event in ["permit taken", "permit returned", "queue entered", "queue left"] {
        guarded(async {
            let (broken, panics) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU32::new(0)));
            let (switch, count) = (broken.clone(), panics.clone());
            let counts = Arc::new(Mutex::new([0_i32; 2]));
            let told = counts.clone();
            let sink = Sink::new(move |event_told| {
                let (of, step) = match event_told.what {
                    What::PermitTaken => (0, 1),
                    What::PermitReturned => (0, -1),
                    What::QueueEntered => (1, 1),
                    What::QueueLeft { .. } => (1, -1),
                    _ => return,
                };
                told.lock().unwrap()[of] += step;
                if word(&event_told.what) == event && switch.load(Relaxed) {
                    count.fetch_add(1, Relaxed);
                    panic!("a bug in a listener");
                }
            });
            let slow = model(|_| After(seconds(1), Ok(1)));
            let stack = Stack::bare(slow.clone()).concurrency(2).max_retries(0).sink(sink).build().unwrap();
            let calls: Vec<_> = (0..6).map(|n| tokio::spawn(stack.ask(n))).collect();
            for call in calls {
                let _ = call.await;
            }
            assert!(panics.load(Relaxed) > 0, "{event} was told");
            assert_eq!((slow.live(), *counts.lock().unwrap()), (0, [0, 0]), "{event}");

            broken.store(false, Relaxed);
            let calls: Vec<_> = (0..4).map(|n| tokio::spawn(stack.ask(n))).collect();
            let (answers, took) = timed(async {
                let mut answers = Vec::new();
                for call in calls {
                    answers.push(call.await.unwrap().unwrap());
                }
                answers
            })
            .await;
            assert_eq!((answers, took), (vec![1; 4], seconds(2)), "{event}: two at once");
            assert_eq!(*counts.lock().unwrap(), [0, 0], "{event}");
        })
        .await;
    }
}

/// The probe that a listener was told of is given back with the call that the listener broke.
#[tokio::test(start_paused = true)]
async fn a_listener_that_panics_at_half_open_keeps_no_probe() {
    guarded(async {
        let broken = Arc::new(AtomicBool::new(true));
        let switch = broken.clone();
        let sink = Sink::new(move |told| {
            assert!(
                !matches!(told.what, What::CircuitHalfOpened { .. }) || !switch.load(Relaxed),
                "a bug in a listener"
            );
        });
        let (first, gate) = (model(|nth| if nth == 0 { failing(Kind::Server) } else { Now(Ok(1)) }), Gate::new());
        let stack =
            Stack::bare(first.clone()).gate(&gate).max_retries(0).circuit(brittle()).sink(sink).build().unwrap();
        stack.ask(1).await.unwrap_err();
        advance(gate.opens_in(None).unwrap()).await;
        assert!(tokio::spawn(stack.ask(1)).await.unwrap_err().is_panic());
        broken.store(false, Relaxed);
        assert_eq!((stack.ask(1).await.unwrap(), first.sends(), gate.circuit(None)), (1, 2, CircuitState::Closed));
    })
    .await;
}

/// It is told of the attempt that the deadline ended, panics, is told of the circuit that this opens, and panics again: a
/// panic while another one unwinds would end the process.
#[tokio::test(start_paused = true)]
async fn a_listener_that_always_panics_does_not_end_the_process() {
    guarded(async {
        let gate = Gate::new();
        let stack = Stack::bare(model(|_| Never)).gate(&gate).circuit(brittle()).deadline(seconds(1));
        let stack = stack.sink(Sink::new(|_| panic!("a bug in a listener"))).build().unwrap();
        assert!(tokio::spawn(stack.ask(1)).await.unwrap_err().is_panic());
        assert!(tokio::spawn(stack.ask(1)).await.unwrap_err().is_panic());
        let context = seawall::Context::default().with_timeout(seconds(1));
        let late = tokio::time::timeout(
            seconds(1),
            two(&model(|_| Never), &well(), [&Gate::new(), &Gate::new()])
                .circuit(brittle())
                .sink(Sink::new(|_| panic!("a bug")))
                .build()
                .unwrap()
                .with(context)
                .ask(1),
        );
        assert!(tokio::spawn(late).await.is_err());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_listener_may_move_the_gate_and_call_the_stack_again() {
    guarded(async {
        let (gate, calls) = (Gate::new(), Arc::new(AtomicU32::new(0)));
        let again: Arc<Mutex<Option<Box<dyn Fn() + Send>>>> = Arc::default();
        let (moved, inner, count) = (gate.clone(), again.clone(), calls.clone());
        let sink = Sink::new(move |told| {
            match told.what {
                What::CircuitOpened { .. } => moved.force_circuit_closed(),
                What::CoolingDown { .. } => moved.release_circuit(),
                What::Switched { .. } => moved.close_circuit(None),
                _ => {}
            }
            let _ = (moved.circuit(None), moved.opens_in(Some("m")), format!("{moved:?} {told:?}"));
            if count.fetch_add(1, Relaxed) < 50
                && let Some(ask) = inner.lock().unwrap().as_ref()
            {
                ask();
            }
        });
        let (first, second) = (moody(), moody());
        let stack = two(&first, &second, [&gate, &Gate::new()])
            .circuit(brittle())
            .whole(seconds(2))
            .sink(sink)
            .build()
            .unwrap();
        let handle = stack.clone();
        *again.lock().unwrap() = Some(Box::new(move || drop(tokio::spawn(handle.ask(9)))));
        for n in 0..30 {
            let _ = stack.ask(n).await;
            tokio::time::sleep(seconds(1)).await;
        }
        assert!(calls.load(Relaxed) > 50);
        tokio::time::sleep(seconds(300)).await;
        assert_eq!((first.live(), second.live()), (0, 0));
        *again.lock().unwrap() = None;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_listener_may_drop_the_last_handle_in_the_middle_of_a_call() {
    guarded(async {
        let kept: Arc<Mutex<Option<Box<dyn std::any::Any + Send>>>> = Arc::default();
        let last = kept.clone();
        let sink = Sink::new(move |_| drop(last.lock().unwrap().take()));
        let first = model(|_| failing(Kind::Overloaded));
        let (gates, second) = ([Gate::new(), Gate::new()], well());
        let stack = two(&first, &second, [&gates[0], &gates[1]]).circuit(brittle()).sink(sink).build().unwrap();
        let call = stack.ask(1);
        *kept.lock().unwrap() = Some(Box::new((stack, gates)));
        assert_eq!(call.await.unwrap(), 2);
        assert!(kept.lock().unwrap().is_none());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_map_that_panics_breaks_its_call_and_no_other() {
    guarded(async {
        let (first, second, gates) = (model(|_| limited(seconds(9))), well(), [Gate::new(), Gate::new()]);
        let stack = Stack::bare(first.clone()).gate(&gates[0]).then(second.clone()).gate(&gates[1]);
        let stack = stack.map(|call: u64| if call == 13 { panic!("a bug in a map") } else { call });
        let keys = ["a", "b"];
        let stack =
            stack.on_429().concurrency(1).key_by(move |n: &u64| keys.get(*n as usize % 2).copied()).build().unwrap();
        for round in 0..3 {
            assert!(tokio::spawn(stack.ask(13)).await.unwrap_err().is_panic());
            assert_eq!((stack.ask(1).await.unwrap(), first.live(), second.live()), (2, 0, 0));
            gates[0].open_circuit(Some("b"), seconds(round));
        }
    })
    .await;
}
