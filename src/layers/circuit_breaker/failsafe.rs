use super::{Policy, Trip};
use crate::time::Instant;
use ::failsafe::FailurePolicy;
use std::{fmt, time::Duration};

/// A [`FailurePolicy`] of the `failsafe` crate, made anew for each circuit.
///
/// What it returns is how long the circuit is open, with no doubling and no jitter but its own. A failed probe for which
/// it returns nothing opens for as long as the layer is [set](super::CircuitBreakerLayer::open_for) to.
///
/// failsafe's policy of success rates reads the clock of the system, which no paused clock of tokio's drives, and opens
/// nothing before a whole window has passed since it was made, or since the circuit last closed.
/// [`Window`](super::Window) does neither.
///
/// ```
/// use failsafe::{backoff, failure_policy};
/// use seawall::circuit_breaker::{CircuitBreakerLayer, FailsafePolicy};
/// use std::time::Duration;
///
/// let policy = FailsafePolicy::new(|| {
///     failure_policy::consecutive_failures(3, backoff::constant(Duration::from_secs(5)))
/// });
/// let layer = CircuitBreakerLayer::new().policy(policy);
/// ```
pub struct FailsafePolicy<M, P> {
    make: M,
    made: P,
}

impl<M, P> FailsafePolicy<M, P>
where
    M: Fn() -> P + Clone,
    P: FailurePolicy,
{
    /// Takes the policy of each circuit from `make`.
    pub fn new(make: M) -> Self {
        let made = make();
        Self { make, made }
    }
}

impl<M, P> Policy for FailsafePolicy<M, P>
where
    M: Fn() -> P + Clone,
    P: FailurePolicy,
{
    fn success(&mut self, _: Instant, _: Option<Duration>) -> Option<Trip> {
        self.made.record_success();
        None
    }

    fn failure(&mut self, _: Instant, _: Option<Duration>) -> Option<Trip> {
        self.made.mark_dead_on_failure().map(Trip::for_exactly)
    }

    fn reset(&mut self) {
        self.made.revived();
    }
}

// By hand: a clone belongs to another circuit, and starts anew.
impl<M: Fn() -> P + Clone, P> Clone for FailsafePolicy<M, P> {
    fn clone(&self) -> Self {
        Self { make: self.make.clone(), made: (self.make)() }
    }
}

impl<M, P> fmt::Debug for FailsafePolicy<M, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FailsafePolicy").finish_non_exhaustive()
    }
}
