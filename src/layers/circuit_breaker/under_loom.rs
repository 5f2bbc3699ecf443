//! The machine in every interleaving of a few threads: the same file, with loom's lock and atomics.
use super::{Policy, Trip, opening, pass, state};
use crate::{
    Error, Kind, Rng,
    time::{self, Instant},
};
use loom::{sync::Arc, thread};
use machine::Machine;
use opening::Opening;
use pass::{Door, Ended, Pass};
use std::time::Duration;
use sync::{AtomicU64, Ordering};

#[allow(dead_code, clippy::duplicate_mod, reason = "it is compiled once with the locks of std, and once with loom's")]
#[path = "machine.rs"]
mod machine;

mod sync {
    pub(super) use loom::sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    };
}

const HOUR: Duration = Duration::from_secs(3600);
const CLOSED: u64 = 0;
const OPEN: u64 = 1;
const PROBED: u64 = 2;
const ASKABLE: u64 = 3;

/// Trips at the first failure.
#[derive(Clone)]
struct First;

impl Policy for First {
    fn success(&mut self, _: Instant, _: Option<Duration>) -> Option<Trip> {
        None
    }

    fn failure(&mut self, _: Instant, _: Option<Duration>) -> Option<Trip> {
        Some(Trip::new())
    }

    fn reset(&mut self) {}
}

struct Circuit {
    machine: Machine<First>,
    door: AtomicU64,
    start: Instant,
}

impl Door for AtomicU64 {
    fn open(&self, _: Duration) {
        self.store(OPEN, Ordering::Relaxed);
    }

    fn probe(&self, wait: Duration) {
        self.store(if wait.is_zero() { ASKABLE } else { PROBED }, Ordering::Relaxed);
    }

    fn close(&self) {
        self.store(CLOSED, Ordering::Relaxed);
    }
}

impl Circuit {
    fn new(probes: usize, start: Instant) -> Arc<Self> {
        let opening = Opening { base: HOUR, cap: HOUR, rng: Rng::seeded(1) };
        Arc::new(Self { machine: Machine::new(First, opening, probes, 0), door: AtomicU64::new(CLOSED), start })
    }

    /// Opened by its first call, whose time is over.
    fn elapsed(probes: usize, start: Instant) -> Arc<Self> {
        let circuit = Self::new(probes, start);
        let pass = circuit.machine.enter(0).unwrap();
        circuit.fails(pass);
        circuit
    }

    fn enter(&self) -> Option<Pass> {
        let knock = || self.machine.knock(0, self.start + HOUR, &self.door).ok().map(|(pass, _)| pass);
        self.machine.enter(0).or_else(knock)
    }

    fn passes(&self, pass: Pass) {
        self.machine.succeeded(pass, self.ended(), &self.door);
    }

    fn fails(&self, pass: Pass) {
        self.machine.failed(pass, self.ended(), || Error::provider(Kind::Server), &self.door);
    }

    fn ended(&self) -> Ended {
        Ended { now: self.start, took: None, told: None }
    }

    fn door(&self) -> u64 {
        self.door.load(Ordering::Relaxed)
    }

    fn is_shut(&self) -> bool {
        self.machine.is_shut()
    }
}

fn spawn<T: 'static>(circuit: &Arc<Circuit>, work: impl FnOnce(&Circuit) -> T + 'static) -> thread::JoinHandle<T> {
    let circuit = Arc::clone(circuit);
    thread::spawn(move || work(&circuit))
}

#[test]
fn at_half_open_exactly_so_many_get_through() {
    let start = time::now();
    for probes in [1, 2] {
        loom::model(move || {
            let circuit = Circuit::elapsed(probes, start);
            let others: Vec<_> = (0..2).map(|_| spawn(&circuit, |circuit| circuit.enter().is_some())).collect();
            let own = usize::from(circuit.enter().is_some());
            let through = own + others.into_iter().map(|other| usize::from(other.join().unwrap())).sum::<usize>();
            assert_eq!((through, circuit.door()), (probes, PROBED));
        });
    }
}

#[test]
fn a_probe_that_is_dropped_while_others_ask_makes_way_for_one() {
    let start = time::now();
    loom::model(move || {
        let circuit = Circuit::elapsed(1, start);
        let probe = circuit.enter().unwrap();
        let asking = spawn(&circuit, |circuit| circuit.enter().is_some());
        circuit.machine.released(probe, &circuit.door);
        let is_out = asking.join().unwrap();
        assert_eq!(circuit.door(), if is_out { PROBED } else { ASKABLE });
        assert_eq!(circuit.enter().is_some(), !is_out);
    });
}

#[test]
fn what_is_admitted_while_the_circuit_opens_counts_no_more() {
    let start = time::now();
    loom::model(move || {
        let circuit = Circuit::new(1, start);
        let pass = circuit.machine.enter(0).unwrap();
        let entering = spawn(&circuit, |circuit| {
            if let Some(pass) = circuit.machine.enter(0) {
                circuit.passes(pass);
            }
            circuit.machine.enter(0).is_some()
        });
        circuit.fails(pass);
        let _ = entering.join().unwrap();
        assert!(circuit.is_shut() && circuit.machine.enter(0).is_none());
        assert_eq!(circuit.door(), OPEN);
    });
}

#[test]
fn a_late_failure_does_not_open_what_a_probe_closes() {
    let start = time::now();
    loom::model(move || {
        let circuit = Circuit::new(1, start);
        let (first, late) = (circuit.machine.enter(0).unwrap(), circuit.machine.enter(0).unwrap());
        circuit.fails(first);
        let probe = circuit.enter().unwrap();
        let failing = spawn(&circuit, move |circuit| circuit.fails(late));
        circuit.passes(probe);
        failing.join().unwrap();
        assert!(!circuit.is_shut());
        assert_eq!(circuit.door(), CLOSED);
    });
}

#[test]
fn of_two_probes_that_end_together_the_failure_decides() {
    let start = time::now();
    loom::model(move || {
        let circuit = Circuit::elapsed(2, start);
        let (one, other) = (circuit.enter().unwrap(), circuit.enter().unwrap());
        let failing = spawn(&circuit, move |circuit| circuit.fails(other));
        circuit.passes(one);
        failing.join().unwrap();
        assert!(circuit.is_shut());
        assert_eq!(circuit.door(), OPEN);
    });
}

#[test]
fn a_hand_that_moves_ends_what_was_counted() {
    let start = time::now();
    loom::model(move || {
        let circuit = Circuit::new(1, start);
        let pass = circuit.machine.enter(0).unwrap();
        let failing = spawn(&circuit, move |circuit| circuit.fails(pass));
        assert!(circuit.machine.knock(4, start, &circuit.door).is_ok());
        failing.join().unwrap();
        assert!(circuit.machine.enter(4).is_some() && circuit.machine.enter(0).is_none());
        assert_eq!(circuit.door(), CLOSED);
    });
}
