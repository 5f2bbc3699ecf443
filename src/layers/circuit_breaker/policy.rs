use crate::time::Instant;
use std::time::Duration;

/// What may open a circuit: a pure decision over how calls ended, one for each circuit.
///
/// It is asked under the circuit's lock, so it must be quick, and must not ask the circuit or its gate. Calls that say
/// nothing of the provider's health (a rate limit, a bad request, a caller who left) are not told.
///
/// ```
/// use seawall::circuit_breaker::{CircuitBreakerLayer, Policy, Trip};
/// use std::time::Duration;
/// use tokio::time::Instant;
///
/// /// Opens at the first failure, for a minute.
/// #[derive(Clone)]
/// struct Strict;
///
/// impl Policy for Strict {
///     fn success(&mut self, _: Instant, _: Option<Duration>) -> Option<Trip> {
///         None
///     }
///
///     fn failure(&mut self, _: Instant, _: Option<Duration>) -> Option<Trip> {
///         Some(Trip::for_exactly(Duration::from_secs(60)))
///     }
///
///     fn reset(&mut self) {}
/// }
///
/// let layer = CircuitBreakerLayer::new().policy(Strict);
/// ```
pub trait Policy: Clone {
    /// From how long on a call is slow. Only then is time taken, and `took` is there; a slow probe opens the circuit
    /// again. Default `None`. Asked once a circuit.
    fn slow(&self) -> Option<Duration> {
        None
    }

    /// A call to the closed circuit succeeded; `took` is its time to the head.
    fn success(&mut self, now: Instant, took: Option<Duration>) -> Option<Trip>;

    /// A call to the closed circuit, or a probe, failed. A failed probe opens the circuit whatever this says.
    fn failure(&mut self, now: Instant, took: Option<Duration>) -> Option<Trip>;

    /// The circuit has closed: what was counted before is over.
    fn reset(&mut self);
}

/// A policy's word that the circuit should open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trip {
    open_for: Option<Duration>,
}

impl Trip {
    /// Opens it for as long as the layer is [set](super::CircuitBreakerLayer::open_for) to.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it for this time: not doubled, and without jitter. Only a longer wait that the provider told goes before.
    #[must_use]
    pub fn for_exactly(wait: Duration) -> Self {
        Self { open_for: Some(wait) }
    }

    pub(super) fn open_for(self) -> Option<Duration> {
        self.open_for
    }
}
