use super::Schedule;
use crate::{Invalid, Rng};
use std::time::Duration;

pub(super) const BASE: Duration = Duration::from_secs(1);
const CAP: Duration = Duration::from_secs(60);

/// Exponential backoff with full jitter: before retry `n`, anything from zero to `min(cap, base × 2ⁿ⁻¹)`.
///
/// The default has a base of 1 s and a cap of 60 s. The jitter is drawn below the ceiling and not added to it, so no
/// delay passes the cap, and delays stay spread once the ceiling has reached it. Of the known variants this one sends
/// the fewest requests for the same work (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
///
/// ```
/// use seawall::retry::{Backoff, RetryLayer};
/// use std::time::Duration;
///
/// let backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(20))?;
/// let layer = RetryLayer::new().schedule(backoff).seed(7);
/// # Ok::<(), seawall::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    base: Duration,
    cap: Duration,
}

impl Backoff {
    /// A backoff whose ceiling starts at `base` and doubles up to `cap`.
    ///
    /// It shapes these delays alone: a wait that a provider asks for is kept in full, up to the layer's
    /// [`max_wait`](super::RetryLayer::max_wait).
    ///
    /// # Errors
    /// If `base` is zero, which would send every retry at once, or `cap` is shorter than `base`.
    pub fn new(base: Duration, cap: Duration) -> Result<Self, Invalid> {
        if base.is_zero() {
            return Err(Invalid::new("base", "a base of zero never grows; use a millisecond or more"));
        }
        if cap < base {
            let reason =
                format!("the cap of {cap:?} is shorter than the base of {base:?}; raise the cap or lower the base");
            return Err(Invalid::new("cap", reason));
        }
        Ok(Self { base, cap })
    }

    /// What the first delay does not pass.
    #[must_use]
    pub fn base(&self) -> Duration {
        self.base
    }

    /// What no delay passes.
    #[must_use]
    pub fn cap(&self) -> Duration {
        self.cap
    }

    fn ceiling(self, retry: u32) -> Duration {
        let mut ceiling = self.base;
        for _ in 1..retry {
            if ceiling >= self.cap {
                break;
            }
            ceiling = ceiling.saturating_mul(2);
        }
        ceiling.min(self.cap)
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self { base: BASE, cap: CAP }
    }
}

impl Schedule for Backoff {
    fn delay(&mut self, retry: u32, rng: &Rng) -> Option<Duration> {
        Some(rng.up_to(self.ceiling(retry)))
    }

    fn spread(&self) -> Duration {
        self.base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn the_ceiling_doubles_up_to_the_cap() {
        let backoff = Backoff::default();
        let ceilings: Vec<_> = (1..=8).map(|retry| backoff.ceiling(retry).as_secs()).collect();
        assert_eq!(ceilings, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(backoff.ceiling(u32::MAX), seconds(60));
        let tiny = Backoff::new(Duration::from_nanos(1), Duration::MAX).unwrap();
        assert_eq!(tiny.ceiling(u32::MAX), Duration::MAX);
    }

    #[test]
    fn delays_are_spread_below_the_cap_even_at_the_cap() {
        let (mut backoff, rng) = (Backoff::new(seconds(1), seconds(2)).unwrap(), Rng::seeded(1));
        let delays: Vec<_> = (0..1000).filter_map(|_| backoff.delay(9, &rng)).collect();
        assert!(delays.iter().all(|&delay| delay <= seconds(2)));
        let below = |most| delays.iter().filter(|&&delay| delay < most).count();
        assert!((400..600).contains(&below(seconds(1))), "{}", below(seconds(1)));
        assert!(below(Duration::from_millis(200)) > 50 && below(Duration::from_millis(1800)) < 950);
    }

    #[test]
    fn what_makes_no_sense_says_what_to_change() {
        let zero = Backoff::new(Duration::ZERO, seconds(1)).unwrap_err();
        assert_eq!((zero.setting(), zero.to_string().contains("millisecond")), ("base", true));
        let under = Backoff::new(seconds(2), seconds(1)).unwrap_err();
        assert_eq!(
            under.to_string(),
            "cap: the cap of 1s is shorter than the base of 2s; raise the cap or lower the base"
        );
        assert!(Backoff::new(seconds(1), seconds(1)).is_ok());
    }
}
