//! The failures that a call has behind it.
use crate::{
    Error, Failover, Trail,
    time::{self, Instant},
};
use std::{mem, time::Duration};

#[derive(Debug, Default)]
pub(super) struct Past {
    /// Whole, as it becomes the root of the last error.
    first: Option<Error>,
    later: Trail,
    reopening: Reopening,
}

/// When the first of the routes may be asked again.
#[derive(Clone, Copy, Debug, Default)]
struct Reopening {
    at: Option<Instant>,
    /// One of them failed, and did not say when.
    unknown: bool,
    /// Not before this was told of one that is open all the same, so that none but the call itself keeps it.
    kept: Option<Instant>,
}

impl Past {
    pub(super) fn sends(&self) -> u32 {
        let first = self.first.as_ref().map_or(0, Error::sends);
        first.saturating_add(self.later.sends())
    }

    /// A route failed, and another one is asked.
    pub(super) fn push(&mut self, error: Error, now: Instant) {
        self.reopening.told(&error);
        if let Some(wait) = error.retry_after() {
            self.reopening.opens(time::after(now, wait));
        }
        match &self.first {
            None => self.first = Some(error),
            Some(_) => self.later.push(error, Duration::ZERO),
        }
    }

    /// A route is closed and was not asked.
    pub(super) fn skip(&mut self, wait: Duration, now: Instant) {
        if wait != Duration::MAX {
            self.reopening.opens(time::after(now, wait));
        }
    }

    /// A route named a wait and is open: a rate limit closes its gate, and other failures need not.
    pub(super) fn keep(&mut self, wait: Duration, now: Instant) {
        self.reopening.kept = self.reopening.kept.max(Some(time::after(now, wait)));
    }

    /// A route is open and was not asked.
    pub(super) fn spare(&mut self) {
        self.reopening.unknown = true;
    }

    /// The attempts that failed, oldest first.
    pub(super) fn into_trail(self) -> Trail {
        let mut trail = Trail::default();
        if let Some(first) = self.first {
            trail.push(first, Duration::ZERO);
        }
        let mut later = self.later;
        later.prepend(trail);
        later
    }

    /// Ends a call with the error of the last route: it names the first as its root, the others in its trail, and the wait
    /// until any of them may be asked again.
    pub(super) fn end(&mut self, error: Error, now: Instant) -> Error {
        let Self { first, later, mut reopening } = mem::take(self);
        reopening.told(&error);
        let error = match reopening.left(error.retry_after(), now) {
            Some(wait) => error.with_retry_after(wait),
            None => error,
        };
        let Some(first) = first else { return error };
        let mut trail = Trail::default();
        trail.push(first.without_source(), Duration::ZERO);
        error.after(later).after(trail).with_root(first)
    }
}

impl Reopening {
    fn told(&mut self, error: &Error) {
        self.unknown |= error.retry_after().is_none() && error.failover() != Failover::Always;
    }

    fn opens(&mut self, at: Instant) {
        self.at = self.at.into_iter().chain([at]).min();
    }

    /// The earliest time, given what the last route named, but never before what is kept for the call alone.
    fn left(self, last: Option<Duration>, now: Instant) -> Option<Duration> {
        let left = |at: Instant| at.saturating_duration_since(now);
        let known = self.at.filter(|_| !self.unknown).map(left);
        known.into_iter().chain(last).min().max(self.kept.map(left).filter(|wait| !wait.is_zero()))
    }
}
