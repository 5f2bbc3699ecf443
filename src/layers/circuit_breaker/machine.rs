//! The states of one circuit. It knows no clock and tells nobody: `now` comes in, changes go out.
use super::{
    Policy, Trip,
    opening::Opening,
    pass::{Change, Door, Ended, Pass, Refused},
    state::{Inner, PROBING, State},
    sync::{AtomicU64, Mutex, MutexGuard, Ordering},
};
use crate::{
    Error, Kind, Phase,
    time::{self, Instant},
};
use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

/// After so many successes in a row a closed circuit is healthy, and its open time starts again at the base.
const HEALTHY: u32 = 10;
/// The lowest bit of the word: open or half open. Those above it count the generations.
const SHUT: u64 = 1;

#[derive(Debug)]
pub(super) struct Machine<P> {
    opening: Opening,
    probes: usize,
    slow: Option<Duration>,
    /// The generation, and in its lowest bit whether the circuit is shut: open or half open.
    word: AtomicU64,
    /// The move of the hand after which it started.
    hand: AtomicU64,
    inner: Mutex<Inner<P>>,
}

impl<P: Policy> Machine<P> {
    pub(super) fn new(policy: P, opening: Opening, probes: usize, hand: u64) -> Self {
        let slow = policy.slow();
        let (word, hand, inner) = (AtomicU64::new(0), AtomicU64::new(hand), Mutex::new(Inner::new(policy)));
        Self { opening, probes, slow, word, hand, inner }
    }

    pub(super) fn slow(&self) -> Option<Duration> {
        self.slow
    }

    /// Lets a call through a closed circuit: two loads, no lock, no clock.
    pub(super) fn enter(&self, hand: u64) -> Option<Pass> {
        // The hand first: whoever sees that it moved sees the generation that began with it.
        let is_same = self.hand.load(Ordering::Acquire) == hand;
        let word = self.word.load(Ordering::Acquire);
        (is_same && word & SHUT == 0).then_some(Pass { word, hand, probe: None })
    }

    /// Lets a call through where [`enter`](Self::enter) did not, if it may be a probe.
    pub(super) fn knock(&self, hand: u64, now: Instant, door: &impl Door) -> Result<(Pass, Option<Change>), Refused> {
        let mut inner = self.lock();
        let mut change = self.renew(&mut inner, hand, door).then_some(Change::Closed);
        match inner.state {
            State::Closed => return Ok((self.pass(None), change)),
            State::Open { until, .. } if until > now => return Err(inner.refused(until - now)),
            State::Open { wait, .. } => {
                inner.state = State::HalfOpen { leases: Vec::with_capacity(self.probes), passed: 0, wait };
                self.shift(SHUT);
                change = Some(Change::HalfOpened);
            }
            State::HalfOpen { .. } => {}
        }
        match inner.lease(self.probes, self.opening.cap, now, door) {
            Some(id) => Ok((self.pass(Some(id)), change)),
            None => Err(inner.refused(PROBING)),
        }
    }

    /// How long it refuses, if it is open.
    pub(super) fn left(&self, hand: u64, now: Instant) -> Option<Refused> {
        if !self.is_shut() {
            return None;
        }
        let inner = self.lock();
        match inner.state {
            State::Open { until, .. } if until > now && self.hand.load(Ordering::Relaxed) == hand => {
                Some(inner.refused(until - now))
            }
            _ => None,
        }
    }

    pub(super) fn succeeded(&self, pass: Pass, ended: Ended, door: &impl Door) -> Option<Change> {
        let mut inner = self.lock();
        if !self.is_current(pass) {
            return None;
        }
        inner.counted(false, ended.now);
        let is_slow = self.slow.zip(ended.took).is_some_and(|(slow, took)| took >= slow);
        match &mut inner.state {
            State::Closed => {
                let trip = inner.policy.success(ended.now, ended.took);
                inner.passed_in_a_row = inner.passed_in_a_row.saturating_add(1);
                if inner.passed_in_a_row >= HEALTHY {
                    inner.opened = 0;
                }
                trip.map(|trip| self.open(&mut inner, trip, ended, slow_call(), door))
            }
            State::HalfOpen { .. } if is_slow => Some(self.open(&mut inner, Trip::new(), ended, slow_call(), door)),
            State::HalfOpen { leases, passed, .. } => {
                leases.retain(|lease| Some(lease.id) != pass.probe);
                *passed += 1;
                (*passed >= self.probes).then(|| {
                    self.close(&mut inner, door);
                    inner.closed_at = Some(ended.now);
                    Change::Closed
                })
            }
            State::Open { .. } => None,
        }
    }

    /// `cause` is called where the failure opens the circuit.
    pub(super) fn failed(
        &self,
        pass: Pass,
        ended: Ended,
        cause: impl FnOnce() -> Error,
        door: &impl Door,
    ) -> Option<Change> {
        let mut inner = self.lock();
        if !self.is_current(pass) {
            if self.hand.load(Ordering::Relaxed) == pass.hand {
                inner.extend(ended, door);
            }
            return None;
        }
        inner.counted(true, ended.now);
        inner.passed_in_a_row = 0;
        let trip = inner.policy.failure(ended.now, ended.took);
        let trip = match inner.state {
            State::Closed => trip?,
            _ => trip.unwrap_or_default(),
        };
        Some(self.open(&mut inner, trip, ended, cause(), door))
    }

    /// The call says nothing: its probe may be made by another.
    pub(super) fn released(&self, pass: Pass, door: &impl Door) {
        if !pass.is_probe() {
            return;
        }
        let mut inner = self.lock();
        if let State::HalfOpen { leases, .. } = &mut inner.state
            && self.is_current(pass)
        {
            leases.retain(|lease| Some(lease.id) != pass.probe);
            door.probe(Duration::ZERO);
        }
    }

    /// Whether nothing is lost if it is forgotten.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        let inner = self.lock();
        let quiet = inner.counted_last.is_none_or(|last| now.saturating_duration_since(last) > self.opening.cap);
        match inner.state {
            State::Closed => quiet || !inner.failed_last && inner.opened == 0,
            State::Open { until, .. } => quiet && until <= now,
            State::HalfOpen { .. } => quiet,
        }
    }

    fn open(&self, inner: &mut Inner<P>, trip: Trip, ended: Ended, cause: Error, door: &impl Door) -> Change {
        let Ended { now, told, .. } = ended;
        if inner.closed_at.is_some_and(|at| now.saturating_duration_since(at) >= self.opening.cap) {
            inner.opened = 0;
        }
        let wait = self.opening.wait(inner.opened, trip, told);
        let root = Arc::new(cause);
        inner.opened = inner.opened.saturating_add(1);
        inner.state = State::Open { until: time::after(now, wait), wait };
        inner.root = Some(Arc::clone(&root));
        self.shift(SHUT);
        // The wait of the probes is over; it may have been the longer one.
        door.probe(Duration::ZERO);
        door.open(wait);
        Change::Opened { wait, root }
    }

    fn close(&self, inner: &mut Inner<P>, door: &impl Door) {
        inner.policy.reset();
        inner.state = State::Closed;
        inner.passed_in_a_row = 0;
        inner.root = None;
        self.shift(0);
        door.close();
    }

    /// Starts anew if a hand moved since it began. Says whether that closed it.
    fn renew(&self, inner: &mut Inner<P>, hand: u64, door: &impl Door) -> bool {
        // Above, and not other: somebody may bring what the hand was before.
        if hand <= self.hand.load(Ordering::Relaxed) {
            return false;
        }
        let was_shut = self.is_shut();
        self.close(inner, door);
        (inner.opened, inner.closed_at, inner.failed_last) = (0, None, false);
        self.hand.store(hand, Ordering::Release);
        was_shut
    }

    fn pass(&self, probe: Option<u64>) -> Pass {
        let (word, hand) = (self.word.load(Ordering::Relaxed), self.hand.load(Ordering::Relaxed));
        Pass { word, hand, probe }
    }

    /// Begins the next generation.
    fn shift(&self, shut: u64) {
        let generation = (self.word.load(Ordering::Relaxed) >> 1).wrapping_add(1);
        self.word.store(generation << 1 | shut, Ordering::Release);
    }

    fn is_current(&self, pass: Pass) -> bool {
        self.word.load(Ordering::Relaxed) == pass.word && self.hand.load(Ordering::Relaxed) == pass.hand
    }

    /// Whatever a panicking policy left of its counts, the states are whole: they change after it was asked.
    fn lock(&self) -> MutexGuard<'_, Inner<P>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P> Machine<P> {
    pub(super) fn is_shut(&self) -> bool {
        self.word.load(Ordering::Acquire) & SHUT != 0
    }
}

fn slow_call() -> Error {
    Error::provider(Kind::Timeout).with_phase(Phase::FirstByte).with_code("slow_call")
}
