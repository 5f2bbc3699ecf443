use super::{Backoff, Budget, Schedule};
use crate::{Context, Error, GaveUp, Kind, Replay, Rng, time::Instant};
use std::time::Duration;

/// Three attempts: the field's advice is two to three retries, or two to three attempts, and this is both.
const MAX_RETRIES: u32 = 2;
/// Beyond it a caller is better served by an error than by silence.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(60);
/// tokio's timer goes by the millisecond and rounds up, so a sleep must end that much before a deadline.
const TICK: Duration = Duration::from_millis(1);

/// Whether a failed call is asked again, and after what wait.
#[derive(Clone, Debug)]
pub(super) struct Policy<P> {
    pub(super) max_retries: u32,
    pub(super) keep_last: bool,
    pub(super) max_wait: Duration,
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
        let (max_wait, patience) = (MAX_WAIT, PATIENCE);
        Self { max_retries: MAX_RETRIES, keep_last: false, max_wait, patience, schedule, budget, rng }
    }
}

impl<P> Policy<P> {
    /// Whether it never asks again, and so gives nothing up.
    pub(super) fn is_off(&self) -> bool {
        self.max_retries == 0 && self.patience.is_zero() && !self.keep_last
    }

    /// A copy of the request for the attempt after the next, or why there is none: a failure of the next ends the call then.
    pub(super) fn keep<Req, H: Replay<Req>>(
        &self,
        shape: &H,
        request: &Req,
        past: &Past<P>,
        context: Option<&Context>,
    ) -> Result<Req, GaveUp> {
        let last = self.is_last(past, context);
        if !self.waits_at_the_last(context) {
            last?;
        }
        shape.again(request).ok_or_else(|| last.err().unwrap_or(GaveUp::NotReplayable))
    }

    /// Why no failure of the next attempt is followed by another one.
    fn is_last(&self, past: &Past<P>, context: Option<&Context>) -> Result<(), GaveUp> {
        if past.retries >= self.max_retries {
            return Err(GaveUp::AttemptsSpent);
        }
        match context {
            Some(context) if context.sends_left.saturating_sub(past.sends) <= 1 => Err(GaveUp::SendsSpent),
            _ => Ok(()),
        }
    }

    /// Whether a refusal may be waited out that comes when attempts or sends are spent: it spends neither.
    fn waits_at_the_last(&self, context: Option<&Context>) -> bool {
        self.keep_last && !self.patience.is_zero() && !context.is_some_and(|context| context.others)
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
    /// Why a retryable failure ends a call that kept no copy, and for what `reason` it kept none.
    pub(super) fn without_copy(
        &self,
        reason: GaveUp,
        error: &Error,
        past: &mut Past<P>,
        context: Option<&Context>,
        now: Instant,
    ) -> GaveUp {
        if !error.is_refusal() {
            return reason;
        }
        // A copy is missed only by a refusal that it could have waited with.
        match self.wait(error, past, context, now) {
            Err(reason) => reason,
            Ok(_) if reason == GaveUp::NotReplayable || self.keep_last => GaveUp::NotReplayable,
            Ok(_) => GaveUp::NotKept,
        }
    }

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
        if past.retries >= self.max_retries && !error.is_refusal() {
            return Err(GaveUp::AttemptsSpent);
        }
        if past.sends >= context.sends_left {
            return Err(GaveUp::SendsSpent);
        }
        if context.has_another_for(error) && past.retries >= self.beside_others(error, context.wait_at_most) {
            return Err(GaveUp::OthersOpen);
        }
        match error.is_refusal() {
            true => self.wait_out(error, past, room),
            false => self.back_off(error, past, room, now),
        }
    }

    /// How often a route is asked again while another is open that would be asked after this failure.
    fn beside_others(&self, error: &Error, wait_at_most: Duration) -> u32 {
        match error.kind() {
            Kind::RateLimited if told(error).is_some_and(|told| told <= wait_at_most) => self.max_retries,
            Kind::Server | Kind::Transport | Kind::Overloaded => 1,
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
        match self.max_wait {
            cap if wait > cap => Err(GaveUp::WaitOverCap(cap)),
            _ if wait > room || room.is_zero() => Err(GaveUp::WaitPastDeadline),
            _ => Ok(()),
        }
    }

    /// Jitter goes on top of a told wait, so that those who were told the same do not come back together.
    fn with_jitter(&self, told: Duration, room: Duration) -> Duration {
        let most = self.schedule.spread().min(self.max_wait).min(room.saturating_sub(told));
        told.saturating_add(self.rng.up_to(most))
    }
}

/// A wait that was asked for. One of zero names no time, and leaves it to the schedule and the budget.
fn told(error: &Error) -> Option<Duration> {
    error.retry_after().filter(|told| !told.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time;
    use GaveUp::{AttemptsSpent, BudgetSpent, OthersOpen, PatienceSpent, SendsSpent, WaitOverCap, WaitPastDeadline};

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn limited(wait: u64) -> Error {
        Error::provider(Kind::RateLimited).with_retry_after(seconds(wait))
    }

    fn cooling(wait: u64) -> Error {
        Error::refusal(Kind::CoolingDown).with_retry_after(seconds(wait))
    }

    fn asked(error: &Error, retries: u32, context: Context) -> Result<Duration, GaveUp> {
        let mut past = Past { retries, sends: retries + 1, ..Past::default() };
        Policy::default().wait(error, &mut past, Some(&context), time::now())
    }

    #[test]
    fn others_change_how_often_a_route_is_asked() {
        use Kind::{Conflict, Overloaded, RateLimited, Server, Timeout, Transport};
        let beside = Context::default().with_others(true);
        for (kind, times) in
            [(RateLimited, 0), (Timeout, 0), (Server, 1), (Transport, 1), (Overloaded, 1), (Conflict, 2)]
        {
            let error = Error::provider(kind);
            let asks = (0..2).take_while(|&retries| asked(&error, retries, beside).is_ok()).count();
            assert_eq!(asks, times, "{kind:?}");
            assert!((0..2).all(|retries| asked(&error, retries, Context::default()).is_ok()), "{kind:?} alone");
        }
        assert_eq!(asked(&Error::provider(Server), 1, beside), Err(OthersOpen));
        assert_eq!(asked(&cooling(1), 0, beside), Err(OthersOpen));
    }

    #[test]
    fn a_wait_that_is_short_enough_is_worth_more_than_a_switch() {
        let beside = Context::default().with_others(true).with_wait_at_most(seconds(3));
        assert!(asked(&limited(3), 1, beside).is_ok_and(|wait| wait >= seconds(3)));
        assert_eq!(asked(&limited(4), 0, beside), Err(OthersOpen));
        assert_eq!(asked(&Error::provider(Kind::RateLimited), 0, beside), Err(OthersOpen), "names no wait");
        assert_eq!(asked(&limited(0), 0, Context::default().with_others(true)), Err(OthersOpen), "nor does this");
    }

    #[test]
    fn told_waits_are_kept_in_full_with_jitter_on_top_or_end_the_call() {
        let alone = Context::default();
        let waits: Vec<_> = (0..100).filter_map(|_| asked(&limited(60), 0, alone).ok()).collect();
        assert!(waits.len() == 100 && waits.iter().all(|&wait| (seconds(60)..=seconds(61)).contains(&wait)));
        assert!(waits.iter().max() > waits.iter().min());
        assert_eq!(asked(&limited(61), 0, alone), Err(WaitOverCap(seconds(60))));
    }

    #[test]
    fn jitter_gives_way_to_the_deadline_and_the_told_wait_does_not() {
        let (now, policy) = (time::now(), Policy::default());
        let context = Context::default().with_deadline(now + seconds(5));
        let wait = |error: Error| policy.wait(&error, &mut Past::default(), Some(&context), now);
        let almost = Error::provider(Kind::RateLimited).with_retry_after(Duration::from_millis(4990));
        for _ in 0..100 {
            let wait = policy.wait(&almost, &mut Past::default(), Some(&context), now).unwrap();
            assert!((Duration::from_millis(4990)..=Duration::from_millis(4999)).contains(&wait), "{wait:?}");
        }
        assert_eq!(wait(limited(5)), Err(WaitPastDeadline));
        assert_eq!(wait(cooling(30)), Err(WaitPastDeadline));
    }

    #[test]
    fn refusals_are_waited_out_for_a_minute_and_spend_no_attempt() {
        let (policy, mut past) = (Policy::default(), Past::default());
        let waits = std::iter::from_fn(|| policy.wait(&cooling(20), &mut past, None, time::now()).ok());
        let (sum, count) = waits.take(9).fold((Duration::ZERO, 0), |(sum, count), wait| (sum + wait, count + 1));
        assert!((2..=3).contains(&count) && sum <= seconds(60), "{count} waits of {sum:?}");
        assert_eq!(policy.wait(&cooling(20), &mut past, None, time::now()), Err(PatienceSpent(seconds(60))));
        assert_eq!((past.retries, past.sends), (0, 0));
        assert_eq!(policy.wait(&cooling(61), &mut Past::default(), None, time::now()), Err(WaitOverCap(seconds(60))));
        let whole = policy.wait(&cooling(60), &mut Past::default(), None, time::now());
        assert_eq!(whole, Ok(seconds(60)), "jitter gives way to patience");
    }

    #[test]
    fn a_refusal_that_never_ends_is_not_asked_for_ever() {
        let (schedule, mut past) = (Backoff::new(TICK / 1000, seconds(1)).unwrap(), Past::default());
        let policy = Policy { schedule, patience: seconds(1), ..Policy::default() };
        let asks = (0..10_000).take_while(|_| policy.wait(&cooling(0), &mut past, None, time::now()).is_ok()).count();
        assert!(asks <= 1000, "{asks}");
    }

    #[test]
    fn only_waits_that_nobody_told_draw_from_the_budget() {
        let budget = Budget::with_reserve(0.0, 1, 0).unwrap();
        let policy = Policy { budget, ..Policy::default() };
        let wait = |error: Error| policy.wait(&error, &mut Past::default(), None, time::now());
        assert!(wait(limited(1)).is_ok() && wait(cooling(1)).is_ok() && wait(Error::provider(Kind::Server)).is_ok());
        assert_eq!(wait(Error::provider(Kind::Server)), Err(BudgetSpent));
        assert_eq!(wait(limited(0)), Err(BudgetSpent), "no time at all is no wait");
        assert!(wait(limited(1)).is_ok());
    }

    #[test]
    fn a_schedule_may_end_the_call_and_is_not_shortened() {
        let schedule = |retry: u32| seconds(if retry == 1 { 60 } else { 61 });
        let policy = Policy {
            schedule,
            max_retries: 9,
            keep_last: false,
            max_wait: MAX_WAIT,
            patience: PATIENCE,
            budget: Budget::default(),
            rng: Rng::seeded(1),
        };
        let mut past = Past::default();
        let mut wait = || policy.wait(&Error::provider(Kind::Server), &mut past, None, time::now());
        assert_eq!((wait(), wait()), (Ok(seconds(60)), Err(WaitOverCap(seconds(60)))));
    }

    #[test]
    fn a_copy_is_kept_only_while_something_can_follow() {
        let policy = Policy::default();
        let keep = |retries, sends, context: Option<Context>| {
            policy.keep(&crate::Bare, &(), &Past { retries, sends, ..Past::default() }, context.as_ref())
        };
        let capped = Some(Context::default().with_sends_left(2));
        assert_eq!((keep(1, 1, None), keep(2, 2, None)), (Ok(()), Err(AttemptsSpent)));
        assert_eq!((keep(0, 0, capped), keep(1, 1, capped)), (Ok(()), Err(SendsSpent)));
        assert_eq!(asked(&Error::provider(Kind::Server), 1, Context::default().with_sends_left(2)), Err(SendsSpent));
    }

    #[test]
    fn a_copy_is_kept_for_the_last_attempt_only_where_it_was_asked_for_and_can_be_waited_with() {
        let keeping = Policy { keep_last: true, ..Policy::default() };
        let keep = |policy: &Policy<_>, retries, context: Context| {
            policy.keep(&crate::Bare, &(), &Past { retries, sends: retries, ..Past::default() }, Some(&context))
        };
        let one = Context::default().with_sends_left(1);
        for (retries, context) in [(0, one), (2, Context::default()), (9, one)] {
            assert_eq!(keep(&keeping, retries, context), Ok(()));
            assert!(keep(&Policy::default(), retries, context).is_err());
            assert!(keep(&keeping, retries, context.with_others(true)).is_err(), "a switch is better than the wait");
            let hasty = Policy { patience: Duration::ZERO, ..keeping.clone() };
            assert!(keep(&hasty, retries, context).is_err(), "no refusal is waited out");
        }
    }

    #[test]
    fn a_copy_beyond_the_last_attempt_is_for_refusals_alone() {
        let policy = Policy { keep_last: true, ..Policy::default() };
        let wait = |error: &Error, retries, sends| {
            let mut past = Past { retries, sends, ..Past::default() };
            policy.wait(error, &mut past, Some(&Context::default()), time::now())
        };
        let failure = Error::provider(Kind::Server);
        assert_eq!((wait(&failure, 2, 3), wait(&failure, 1, 6)), (Err(AttemptsSpent), Err(SendsSpent)));
        assert!(wait(&cooling(1), 2, 3).is_ok());
        assert_eq!(wait(&cooling(1), 2, 6), Err(SendsSpent), "sent by retries further in");
    }
}
