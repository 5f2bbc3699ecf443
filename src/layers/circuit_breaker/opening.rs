use super::Trip;
use crate::Rng;
use std::time::Duration;

/// How long a circuit stays open.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    pub(super) base: Duration,
    pub(super) cap: Duration,
    pub(super) rng: Rng,
}

impl Opening {
    /// `max(d / 2, told) + random(0 ..= d / 2)` with `d = min(cap, base · 2^times)`.
    pub(super) fn wait(&self, times: u32, trip: Trip, told: Option<Duration>) -> Duration {
        let told = told.unwrap_or_default();
        if let Some(named) = trip.open_for() {
            return named.max(told);
        }
        let half = self.base.saturating_mul(1 << times.min(31)).min(self.cap) / 2;
        half.max(told).saturating_add(self.rng.up_to(half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn opening() -> Opening {
        Opening { base: seconds(5), cap: seconds(60), rng: Rng::seeded(1) }
    }

    #[test]
    fn it_doubles_up_to_the_cap_and_is_spread_even_there() {
        let opening = opening();
        for (times, most) in [(0, 5), (1, 10), (2, 20), (3, 40), (4, 60), (5, 60), (u32::MAX, 60)] {
            let waits: Vec<_> = (0..200).map(|_| opening.wait(times, Trip::new(), None)).collect();
            assert!(waits.iter().all(|&wait| wait >= seconds(most) / 2 && wait <= seconds(most)), "{times}");
            let (least, longest) = (waits.iter().min().unwrap(), waits.iter().max().unwrap());
            assert!(*longest - *least > seconds(most) / 4, "{times}: spread");
        }
    }

    #[test]
    fn a_told_wait_is_never_shortened() {
        let opening = opening();
        for told in [0, 1, 3, 30, 600] {
            let waits = (0..200).map(|_| opening.wait(0, Trip::new(), Some(seconds(told))));
            assert!(waits.clone().all(|wait| wait >= seconds(told) && wait <= seconds(told.max(3)) + seconds(3)));
        }
        assert_eq!(opening.wait(0, Trip::new(), Some(Duration::MAX)), Duration::MAX);
    }

    #[test]
    fn a_named_time_is_kept_to_unless_a_longer_one_was_told() {
        let trip = Trip::for_exactly(seconds(100));
        assert_eq!(opening().wait(9, trip, Some(seconds(7))), seconds(100));
        assert_eq!(opening().wait(9, trip, Some(seconds(700))), seconds(700));
    }
}
