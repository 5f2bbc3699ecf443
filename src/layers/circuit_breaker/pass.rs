//! What goes into the machine of a circuit, and what comes out.
use crate::{Error, time::Instant};
use std::{sync::Arc, time::Duration};

/// A call that was let through: its outcome counts as long as nothing has changed since.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// The machine's word at the time: the generation, and whether the circuit was shut.
    pub(super) word: u64,
    /// How often a hand had moved the gate.
    pub(super) hand: u64,
    /// The lease's id, of a probe.
    pub(super) probe: Option<u64>,
}

impl Pass {
    pub(super) fn is_probe(&self) -> bool {
        self.probe.is_some()
    }
}

/// For how long, and because of what.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) wait: Duration,
    pub(super) root: Option<Arc<Error>>,
}

/// For whoever listens, once the lock is free.
#[derive(Debug)]
pub(super) enum Change {
    Opened { wait: Duration, root: Arc<Error> },
    HalfOpened,
    Closed,
}

/// When a call ended, how long it took, and the wait that the provider told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) now: Instant,
    pub(super) took: Option<Duration>,
    pub(super) told: Option<Duration>,
}

/// Where a circuit writes what others read: its place in the gate. `open` and `close` are the circuit's words, so `open`
/// closes the route. Called under the lock, so that it is written in order.
pub(super) trait Door {
    fn open(&self, wait: Duration);
    fn probe(&self, wait: Duration);
    fn close(&self);
}
