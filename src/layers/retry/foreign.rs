//! Schedules of other crates.
use super::Schedule;
use crate::{Rng, time};
use std::{fmt, time::Duration};
use tower::{retry::backoff::Backoff as TowerBackoff, util::rng::Rng as TowerRng};

/// Delays by a [`Backoff`](TowerBackoff) of tower's, made anew for each call.
///
/// It must sleep by tokio's [`Sleep`](tokio::time::Sleep), as tower's own does: only this tells its delay before it is
/// over, and a delay that is not known cannot be held against a cap or a deadline.
///
/// tower's maker copies its generator for each backoff, so that all calls sleep the same jitter, unless the generator is
/// [`seawall::Rng`](Rng), whose copies share one sequence.
///
/// ```
/// use seawall::{Rng, retry::{RetryLayer, TowerSchedule}};
/// use std::time::Duration;
/// use tower::retry::backoff::{ExponentialBackoffMaker, MakeBackoff};
///
/// let (min, max) = (Duration::from_millis(50), Duration::from_secs(5));
/// let maker = ExponentialBackoffMaker::new(min, max, 0.5, Rng::seeded(7)).expect("min is below max");
/// let layer = RetryLayer::new().schedule(TowerSchedule::new(move || maker.clone().make_backoff()));
/// ```
pub struct TowerSchedule<M, P> {
    make: M,
    made: Option<P>,
}

impl<M, P> TowerSchedule<M, P>
where
    M: Fn() -> P + Clone,
    P: TowerBackoff<Future = time::Sleep>,
{
    /// Takes the delays of each call from what `make` makes.
    pub fn new(make: M) -> Self {
        Self { make, made: None }
    }
}

impl<M, P> Schedule for TowerSchedule<M, P>
where
    M: Fn() -> P + Clone,
    P: TowerBackoff<Future = time::Sleep>,
{
    fn delay(&mut self, _: u32, _: &Rng) -> Option<Duration> {
        let now = time::now();
        let sleep = self.made.get_or_insert_with(&self.make).next_backoff();
        Some(sleep.deadline().saturating_duration_since(now))
    }
}

// By hand: a clone belongs to another call, and starts anew.
impl<M: Clone, P> Clone for TowerSchedule<M, P> {
    fn clone(&self) -> Self {
        Self { make: self.make.clone(), made: None }
    }
}

impl<M, P> fmt::Debug for TowerSchedule<M, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TowerSchedule").field("started", &self.made.is_some()).finish_non_exhaustive()
    }
}

/// Jitter for tower's backoffs, in which clones draw from one sequence.
impl TowerRng for Rng {
    fn next_u64(&mut self) -> u64 {
        self.bits()
    }
}

/// Delays by a [`Backoff`](::backoff::backoff::Backoff) of the `backoff` crate, made anew and reset for each call.
///
/// Its `None` ends the call. A `max_elapsed_time` counts from the first failure, by the crate's own clock, which does
/// not follow tokio's: prefer a deadline. Its jitter comes from its own generator, which no seed of ours replays.
///
/// ```
/// use backoff::ExponentialBackoff;
/// use seawall::retry::{BackoffSchedule, RetryLayer};
///
/// let layer = RetryLayer::new().schedule(BackoffSchedule::new(ExponentialBackoff::default));
/// ```
#[cfg(feature = "backoff")]
#[cfg_attr(docsrs, doc(cfg(feature = "backoff")))]
pub struct BackoffSchedule<M, P> {
    make: M,
    made: Option<P>,
}

#[cfg(feature = "backoff")]
impl<M, P> BackoffSchedule<M, P>
where
    M: Fn() -> P + Clone,
    P: ::backoff::backoff::Backoff,
{
    /// Takes the delays of each call from what `make` makes.
    pub fn new(make: M) -> Self {
        Self { make, made: None }
    }
}

#[cfg(feature = "backoff")]
impl<M, P> Schedule for BackoffSchedule<M, P>
where
    M: Fn() -> P + Clone,
    P: ::backoff::backoff::Backoff,
{
    fn delay(&mut self, _: u32, _: &Rng) -> Option<Duration> {
        let Self { make, made } = self;
        let fresh = || {
            let mut backoff = make();
            backoff.reset();
            backoff
        };
        made.get_or_insert_with(fresh).next_backoff()
    }
}

// By hand: a clone belongs to another call, and starts anew.
#[cfg(feature = "backoff")]
impl<M: Clone, P> Clone for BackoffSchedule<M, P> {
    fn clone(&self) -> Self {
        Self { make: self.make.clone(), made: None }
    }
}

#[cfg(feature = "backoff")]
impl<M, P> fmt::Debug for BackoffSchedule<M, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackoffSchedule").field("started", &self.made.is_some()).finish_non_exhaustive()
    }
}
