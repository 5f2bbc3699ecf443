use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// The step of SplitMix64: 2^64 divided by the golden ratio.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The one source of chance: small, seedable, and shared by its clones.
///
/// Clones draw from one sequence, so two calls never sleep the same jitter, and a seed replays a whole run as long as
/// its calls are made in the same order.
///
/// The generator is SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
/// It is for spreading load, not for secrets.
#[derive(Clone, Debug)]
pub struct Rng(Arc<AtomicU64>);

impl Rng {
    /// A generator that gives the same sequence for the same seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(AtomicU64::new(seed)))
    }

    /// A generator with a seed of this process.
    #[must_use]
    pub fn new() -> Self {
        Self::seeded(RandomState::new().hash_one(STEP))
    }

    /// The next 64 bits.
    #[must_use]
    pub fn bits(&self) -> u64 {
        let mut x = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// A number in `0.0..1.0`.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A duration in `0..=most`.
    #[must_use]
    pub fn up_to(&self, most: Duration) -> Duration {
        Duration::try_from_secs_f64(most.as_secs_f64() * self.ratio()).unwrap_or(most).min(most)
    }
}

impl Default for Rng {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_published_sequence() {
        let rng = Rng::seeded(1234567);
        let bits: Vec<_> = (0..3).map(|_| rng.bits()).collect();
        assert_eq!(bits, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }

    #[test]
    fn clones_share_the_sequence() {
        let (one, other) = (Rng::seeded(7), Rng::seeded(7));
        let twin = one.clone();
        assert_eq!([one.bits(), twin.bits()], [other.bits(), other.bits()]);
    }

    #[test]
    fn draws_stay_within_bounds_at_the_extremes() {
        let rng = Rng::seeded(3);
        for most in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
            assert!((0..1000).all(|_| rng.up_to(most) <= most));
        }
    }
}
