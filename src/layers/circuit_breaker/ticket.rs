use super::{Policy, circuit::Circuit, pass::Pass};
use crate::{
    Error, Guard, Kind, Origin, Outcome, Phase, Seen,
    gate::Mark,
    time::{self, Instant},
};
use std::{fmt, pin::Pin, sync::Arc, time::Duration};

/// One admitted call. It rides in the answer, and says once how that ended.
///
/// Dropped before, it gives its probe back and counts for nothing, unless the call's own deadline had passed before
/// there was an answer.
pub struct Ticket<P: Policy> {
    pub(super) circuit: Arc<Circuit<P>>,
    /// What the circuit still has to hear of. Taken once; `None` from the start while a hand keeps the circuit closed.
    pass: Option<Pass>,
    mark: Mark,
    deadline: Option<Instant>,
    started: Option<Instant>,
    took: Option<Duration>,
    is_sent: bool,
}

impl<P: Policy> Ticket<P> {
    pub(super) fn new(
        circuit: Arc<Circuit<P>>,
        pass: Option<Pass>,
        mark: Mark,
        deadline: Option<Instant>,
        started: Option<Instant>,
    ) -> Self {
        Self { circuit, pass, mark, deadline, started, took: None, is_sent: false }
    }

    /// Somebody waits for the call, so its deadline says something of the provider.
    pub(super) fn sent(&mut self) {
        self.is_sent = true;
    }

    /// The answer is there. Its deadline was the call's: who leaves it from here on is a reader.
    pub(super) fn riding(mut self) -> Self {
        self.took = self.elapsed();
        self.deadline = None;
        self
    }

    /// A rate limit closes the account, and says nothing to the circuit; what is against the provider counts there.
    pub(super) fn failed(&mut self, error: &Error) {
        let told = error.retry_after().filter(|told| !told.is_zero());
        let is_against = error.is_against_provider();
        // A request that fits no bucket is limited alone, however long anybody waits.
        let passes = error.is_retryable() || error.is_delivered();
        if error.kind() == Kind::RateLimited && error.origin() == Origin::Provider && passes {
            self.circuit.cool(self.mark, error, told);
        }
        let Some(pass) = self.pass.take() else { return };
        match is_against {
            true => self.circuit.failed(pass, self.took.or_else(|| self.elapsed()), told, || error.without_source()),
            false => self.circuit.released(pass),
        }
    }

    fn succeeded(&mut self) {
        self.circuit.passed(self.mark);
        if let Some(pass) = self.pass.take() {
            self.circuit.succeeded(pass, self.took);
        }
    }

    fn elapsed(&self) -> Option<Duration> {
        self.started.map(|started| time::now().saturating_duration_since(started))
    }
}

impl<P: Policy> Guard for Ticket<P> {
    /// A probe has passed with the first content, so that a long answer does not keep the circuit half open.
    fn progress(self: Pin<&mut Self>, seen: Seen) {
        let this = self.get_mut();
        if seen != Seen::Alive && this.pass.is_some_and(|pass| pass.is_probe()) {
            this.succeeded();
        }
    }

    fn end(self: Pin<&mut Self>, outcome: Outcome<'_>) {
        match outcome {
            Outcome::Whole => self.get_mut().succeeded(),
            Outcome::Failed(error) => self.get_mut().failed(error),
        }
    }
}

impl<P: Policy> Drop for Ticket<P> {
    fn drop(&mut self) {
        let Some(pass) = self.pass.take() else { return };
        match self.is_sent && self.deadline.is_some_and(|deadline| deadline <= time::now()) {
            true => {
                let late = || Error::provider(Kind::Timeout).with_phase(Phase::Total);
                self.circuit.failed(pass, self.elapsed(), None, late);
            }
            false => self.circuit.released(pass),
        }
    }
}

impl<P: Policy> fmt::Debug for Ticket<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("circuit", &self.circuit).finish_non_exhaustive()
    }
}
