use super::backoff::BASE;
use crate::Rng;
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

    /// The most jitter on top of a wait that the other side asked for. Default 1 s.
    fn spread(&self) -> Duration {
        BASE
    }
}

impl<F: FnMut(u32) -> Duration + Clone> Schedule for F {
    fn delay(&mut self, retry: u32, _: &Rng) -> Option<Duration> {
        Some(self(retry))
    }
}
