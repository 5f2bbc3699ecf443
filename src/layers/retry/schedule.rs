use super::backoff::{BASE, CAP};
use crate::{Invalid, Rng};
use std::time::Duration;

/// Says how long to wait before each retry of a call.
///
/// [`Backoff`](super::Backoff) is the default. A closure from the number of the retry, counted from 1, to a delay is a
/// schedule too; those of tower and of the `backoff` crate come in through [`TowerSchedule`](super::TowerSchedule) and
/// `BackoffSchedule`.
///
/// Each call works on a clone of its own, made when its first attempt has failed, so what changes from retry to retry
/// lives in the fields. Chance does not: a generator that is copied by `Clone` makes all calls sleep the same jitter.
/// Take it from the `rng` that is handed in, whose clones share one sequence and which the layer's seed replays.
///
/// ```
/// use seawall::{Rng, retry::{RetryLayer, Schedule}};
/// use std::time::Duration;
///
/// /// One second, two, three, and then no more.
/// #[derive(Clone)]
/// struct Linear;
///
/// impl Schedule for Linear {
///     fn delay(&mut self, retry: u32, _: &Rng) -> Option<Duration> {
///         (retry <= 3).then(|| Duration::from_secs(retry.into()))
///     }
/// }
///
/// let layer = RetryLayer::new().max_retries(5).schedule(Linear);
/// let same = RetryLayer::new().max_retries(3).schedule(|retry: u32| Duration::from_secs(retry.into()));
/// ```
pub trait Schedule: Clone {
    /// The delay before retry `retry`, counted from 1; `None` ends the call.
    ///
    /// A retry that waits what the other side asked for is not scheduled, so a number may be left out.
    fn delay(&mut self, retry: u32, rng: &Rng) -> Option<Duration>;

    /// The longest wait worth sitting out. A longer one, told or scheduled, ends the call and is never shortened.
    /// Default 60 s, beyond which a caller is better served by an error than by silence.
    fn cap(&self) -> Duration {
        CAP
    }

    /// The most jitter on top of a wait that the other side asked for. Default 1 s.
    fn spread(&self) -> Duration {
        BASE
    }

    /// The same delays with another [`cap`](Self::cap).
    ///
    /// # Errors
    /// If `cap` is zero: no wait could ever be sat out.
    fn with_cap(self, cap: Duration) -> Result<WithCap<Self>, Invalid> {
        match cap.is_zero() {
            true => {
                Err(Invalid::new("with_cap", "a cap of zero lets no retry wait; use `max_retries(0)` for no retries"))
            }
            false => Ok(WithCap { schedule: self, cap }),
        }
    }
}

impl<F: FnMut(u32) -> Duration + Clone> Schedule for F {
    fn delay(&mut self, retry: u32, _: &Rng) -> Option<Duration> {
        Some(self(retry))
    }
}

/// A schedule with a cap of its own, made by [`Schedule::with_cap`].
#[derive(Clone, Copy, Debug)]
pub struct WithCap<P> {
    schedule: P,
    cap: Duration,
}

impl<P: Schedule> Schedule for WithCap<P> {
    fn delay(&mut self, retry: u32, rng: &Rng) -> Option<Duration> {
        self.schedule.delay(retry, rng)
    }

    fn cap(&self) -> Duration {
        self.cap
    }

    fn spread(&self) -> Duration {
        self.schedule.spread().min(self.cap)
    }
}
