use super::{Backoff, Budget, Schedule};
use crate::{Context, Error, Failover, GaveUp, Kind, Replay, Rng, time::Instant};
use std::time::Duration;

/// Three attempts: the field's advice is two to three retries, or two to three attempts, and this is both.
const MAX_RETRIES: u32 = 2;
const PATIENCE: Duration = Duration::from_secs(60);
/// tokio's timer goes by the millisecond and rounds up, so a sleep must end that much before a deadline.
const TICK: Duration = Duration::from_millis(1);

/// Whether a failed call is asked again, and after what wait.
#[derive(Clone, Debug)]
pub(super) struct Policy<P> {
    pub(super) max_retries: u32,
    pub(super) patience: Duration,
    pub(super) schedule: P,
    pub(super) budget: Budget,
    pub(super) rng: Rng,
}

/// What a call has behind it.
#[derive(Debug)]
pub(super) struct Past<P> {
    pub(super) retries: u32,
    pub(super) sends: u32,
    /// Spent on refusals, of the patience.
    waited: Duration,
    /// The delays of this call, once it needs them.
    schedule: Option<P>,
}

impl<P> Default for Past<P> {
    fn default() -> Self {
        Self { retries: 0, sends: 0, waited: Duration::ZERO, schedule: None }
    }
}

impl Default for Policy<Backoff> {
    fn default() -> Self {
        let (schedule, budget, rng) = (Backoff::default(), Budget::default(), Rng::new());
        Self { max_retries: MAX_RETRIES, patience: PATIENCE, schedule, budget, rng }
    }
}

impl<P> Policy<P> {
    /// A copy of the request for the attempt after the next, or why there can be none.
    pub(super) fn keep<Req, H: Replay<Req>>(
        &self,
        shape: &H,
        request: &Req,
        past: &Past<P>,
        context: Option<&Context>,
    ) -> Result<Req, GaveUp> {
        if past.retries >= self.max_retries {
            return Err(GaveUp::AttemptsSpent);
        }
        match context {
            Some(context) if context.sends_left.saturating_sub(past.sends) <= 1 => Err(GaveUp::SendsSpent),
            _ => shape.again(request).ok_or(GaveUp::NotReplayable),
        }
    }

    /// Counts how an attempt ended: the first of a call that was sent pays into the budget.
    pub(super) fn record(&self, past: &mut Past<P>, sends: u32, now: Instant) {
        if past.sends == 0 && sends > 0 {
            self.budget.deposit(now);
        }
        past.sends = past.sends.saturating_add(sends);
    }
}

impl<P: Schedule> Policy<P> {
    /// How long to wait before a retryable failure is asked again; what that costs is spent.
    pub(super) fn wait(
        &self,
        error: &Error,
        past: &mut Past<P>,
        context: Option<&Context>,
        now: Instant,
    ) -> Result<Duration, GaveUp> {
        let context = context.copied().unwrap_or_else(|| Context::default().with_sends_left(u32::MAX));
        let left = context.deadline.map(|deadline| deadline.saturating_duration_since(now));
        let room = left.map_or(Duration::MAX, |left| left.saturating_sub(TICK));
        if past.sends >= context.sends_left {
            return Err(GaveUp::SendsSpent);
        }
        if context.others && past.retries >= self.beside_others(error, context.wait_at_most) {
            return Err(GaveUp::OthersOpen);
        }
        match error.is_refusal() {
            true => self.wait_out(error, past, room),
            false => self.back_off(error, past, room, now),
        }
    }

    /// How often a route is asked again while others are open.
    fn beside_others(&self, error: &Error, wait_at_most: Duration) -> u32 {
        match error.kind() {
            Kind::RateLimited if told(error).is_some_and(|told| told <= wait_at_most) => self.max_retries,
            Kind::Server | Kind::Transport | Kind::Overloaded => 1,
            _ if error.failover() == Failover::Never => self.max_retries,
            _ => 0,
        }
    }

    fn wait_out(&self, error: &Error, past: &mut Past<P>, room: Duration) -> Result<Duration, GaveUp> {
        // A refusal that names no time at all would be asked for ever.
        let told = error.retry_after().unwrap_or_default().max(TICK);
        self.fits(told, room)?;
        let patience = self.patience.saturating_sub(past.waited);
        if told > patience {
            return Err(GaveUp::PatienceSpent(self.patience));
        }
        let wait = self.with_jitter(told, room.min(patience));
        past.waited = past.waited.saturating_add(wait);
        Ok(wait)
    }

    fn back_off(&self, error: &Error, past: &mut Past<P>, room: Duration, now: Instant) -> Result<Duration, GaveUp> {
        let wait = match told(error) {
            Some(told) => {
                self.fits(told, room)?;
                self.with_jitter(told, room)
            }
            None => {
                let schedule = past.schedule.get_or_insert_with(|| self.schedule.clone());
                let delay = schedule.delay(past.retries.saturating_add(1), &self.rng).ok_or(GaveUp::AttemptsSpent)?;
                self.fits(delay, room)?;
                if !self.budget.draw(now) {
                    return Err(GaveUp::BudgetSpent);
                }
                delay
            }
        };
        past.retries = past.retries.saturating_add(1);
        Ok(wait)
    }

    fn fits(&self, wait: Duration, room: Duration) -> Result<(), GaveUp> {
        match self.schedule.cap() {
            cap if wait > cap => Err(GaveUp::WaitOverCap(cap)),
            _ if wait > room => Err(GaveUp::WaitPastDeadline),
            _ => Ok(()),
        }
    }

    /// Jitter goes on top of a told wait, so that those who were told the same do not come back together.
    fn with_jitter(&self, told: Duration, room: Duration) -> Duration {
        told.saturating_add(self.rng.up_to(self.schedule.spread().min(room.saturating_sub(told))))
    }
}

/// A wait that was asked for. One of zero names no time, and leaves it to the schedule and the budget.
fn told(error: &Error) -> Option<Duration> {
    error.retry_after().filter(|told| !told.is_zero())
}
