use super::pass::{Door, Ended, Refused};
use crate::{
    Error,
    time::{self, Instant},
};
use std::{sync::Arc, time::Duration};

/// When to ask again while the probes are out.
pub(super) const PROBING: Duration = Duration::from_secs(1);

/// What the lock of a circuit guards.
#[derive(Debug)]
pub(super) struct Inner<P> {
    pub(super) policy: P,
    pub(super) state: State,
    /// How often it has opened without being healthy in between.
    pub(super) opened: u32,
    pub(super) passed_in_a_row: u32,
    /// When probes closed it last.
    pub(super) closed_at: Option<Instant>,
    /// The failure that opened it.
    pub(super) root: Option<Arc<Error>>,
    pub(super) probes_made: u64,
    /// Whether the last outcome that counted was a failure, and when it came.
    pub(super) failed_last: bool,
    pub(super) counted_last: Option<Instant>,
}

#[derive(Debug)]
pub(super) enum State {
    Closed,
    Open { until: Instant, wait: Duration },
    HalfOpen { leases: Vec<Lease>, passed: usize, wait: Duration },
}

#[derive(Debug)]
pub(super) struct Lease {
    pub(super) id: u64,
    pub(super) until: Instant,
}

impl<P> Inner<P> {
    pub(super) fn new(policy: P) -> Self {
        Self {
            policy,
            state: State::Closed,
            opened: 0,
            passed_in_a_row: 0,
            closed_at: None,
            root: None,
            probes_made: 0,
            failed_last: false,
            counted_last: None,
        }
    }

    pub(super) fn refused(&self, wait: Duration) -> Refused {
        Refused { wait, root: self.root.clone() }
    }

    /// An outcome of this generation counts.
    pub(super) fn counted(&mut self, failed: bool, now: Instant) {
        (self.failed_last, self.counted_last) = (failed, Some(now));
    }

    /// The lease of a probe, if there is room: only as many are out as must still pass. One that takes longer than the
    /// circuit was open makes way.
    pub(super) fn lease(&mut self, most: usize, cap: Duration, now: Instant, door: &impl Door) -> Option<u64> {
        let State::HalfOpen { leases, passed, wait } = &mut self.state else { return None };
        leases.retain(|lease| lease.until > now);
        let room = most.saturating_sub(*passed + leases.len());
        door.probe(if room <= 1 { PROBING } else { Duration::ZERO });
        if room == 0 {
            return None;
        }
        self.probes_made += 1;
        leases.push(Lease { id: self.probes_made, until: time::after(now, (*wait).min(cap)) });
        Some(self.probes_made)
    }

    /// A failure from before it opened counts no more, but what it was told does.
    pub(super) fn extend(&mut self, ended: Ended, door: &impl Door) {
        if let (State::Open { until, .. }, Some(told)) = (&mut self.state, ended.told) {
            *until = time::after(ended.now, told).max(*until);
            door.open(told);
        }
    }
}
