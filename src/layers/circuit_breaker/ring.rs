use crate::time::Instant;
use std::time::Duration;

/// In how many steps a window of time slides.
const STEPS: usize = 10;

/// How calls ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) calls: u64,
    pub(super) failures: u64,
    pub(super) slow: u64,
}

impl Counts {
    pub(super) fn one(failed: bool, slow: bool) -> Self {
        Self { calls: 1, failures: failed.into(), slow: slow.into() }
    }

    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.failures += other.failures;
        self.slow += other.slow;
    }

    fn subtract(&mut self, other: Self) {
        self.calls -= other.calls;
        self.failures -= other.failures;
        self.slow -= other.slow;
    }
}

/// The last calls, by number or by time. An outcome costs the same however many it holds.
#[derive(Clone, Debug)]
pub(super) enum Ring {
    Calls(Calls),
    Time(Time),
}

impl Ring {
    pub(super) fn calls(most: usize) -> Self {
        Self::Calls(Calls { ended: vec![Counts::default().packed(); most].into(), next: 0, sum: Counts::default() })
    }

    pub(super) fn time(window: Duration) -> Self {
        let width = (window / STEPS as u32).max(Duration::from_nanos(1));
        Self::Time(Time { width, origin: None, step: 0, ended: Box::default(), sum: Counts::default() })
    }

    /// Adds a call and says what the window holds with it.
    pub(super) fn push(&mut self, one: Counts, now: Instant) -> Counts {
        match self {
            Self::Calls(calls) => calls.push(one),
            Self::Time(time) => time.push(one, now),
        }
    }

    pub(super) fn clear(&mut self) {
        match self {
            Self::Calls(calls) => {
                calls.ended.fill(Counts::default().packed());
                (calls.next, calls.sum) = (0, Counts::default());
            }
            Self::Time(time) => (*time.ended, time.sum) = ([Counts::default(); STEPS], Counts::default()),
        }
    }
}

/// A byte for each of the last calls.
#[derive(Clone, Debug)]
pub(super) struct Calls {
    ended: Box<[u8]>,
    next: usize,
    sum: Counts,
}

const CALLED: u8 = 1;
const FAILED: u8 = 2;
const SLOW: u8 = 4;

impl Counts {
    fn packed(self) -> u8 {
        let bit = |count, bit| if count > 0 { bit } else { 0 };
        bit(self.calls, CALLED) | bit(self.failures, FAILED) | bit(self.slow, SLOW)
    }

    fn unpacked(byte: u8) -> Self {
        let count = |bit| u64::from(byte & bit != 0);
        Self { calls: count(CALLED), failures: count(FAILED), slow: count(SLOW) }
    }
}

impl Calls {
    fn push(&mut self, one: Counts) -> Counts {
        if let Some(oldest) = self.ended.get_mut(self.next) {
            self.sum.subtract(Counts::unpacked(std::mem::replace(oldest, one.packed())));
            self.sum.add(one);
        }
        self.next = (self.next + 1) % self.ended.len().max(1);
        self.sum
    }
}

/// Buckets of time: the window slides by a tenth of itself, and holds its last nine to ten tenths.
#[derive(Clone, Debug)]
pub(super) struct Time {
    width: Duration,
    origin: Option<Instant>,
    step: u128,
    ended: Box<[Counts; STEPS]>,
    sum: Counts,
}

impl Time {
    fn push(&mut self, one: Counts, now: Instant) -> Counts {
        let origin = *self.origin.get_or_insert(now);
        // Calls that end together may come in another order: the newest bucket takes them all.
        let step = now.saturating_duration_since(origin).as_nanos() / self.width.as_nanos();
        let passed = step.saturating_sub(self.step).min(STEPS as u128) as usize;
        self.step = self.step.max(step);
        for ago in 0..passed {
            let at = self.bucket(ago);
            self.sum.subtract(std::mem::take(&mut self.ended[at]));
        }
        let at = self.bucket(0);
        self.ended[at].add(one);
        self.sum.add(one);
        self.sum
    }

    fn bucket(&self, ago: usize) -> usize {
        ((self.step % STEPS as u128) as usize + STEPS - ago) % STEPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_window_of_calls_is_the_sum_of_its_last(most in 1usize..20, ended in prop::collection::vec((any::<bool>(), any::<bool>()), 0..100)) {
            let (mut ring, now) = (Ring::calls(most), time::now());
            for (at, &(failed, slow)) in ended.iter().enumerate() {
                let counts = ring.push(Counts::one(failed, slow), now);
                let last = &ended[(at + 1).saturating_sub(most)..=at];
                prop_assert_eq!(counts.calls, last.len() as u64);
                prop_assert_eq!(counts.failures, last.iter().filter(|one| one.0).count() as u64);
                prop_assert_eq!(counts.slow, last.iter().filter(|one| one.1).count() as u64);
            }
        }

        #[test]
        fn a_window_of_time_is_the_sum_of_its_last_ten_steps(ended in prop::collection::vec((0u64..25, any::<bool>()), 0..100)) {
            let (mut ring, start) = (Ring::time(Duration::from_secs(10)), time::now());
            let (mut at, mut past) = (0, Vec::new());
            ring.push(Counts::default(), start); // its steps begin with its first call
            for (wait, failed) in ended {
                at += wait * 500; // half a step
                past.push((at / 1000, failed));
                let counts = ring.push(Counts::one(failed, false), start + Duration::from_millis(at));
                let last: Vec<_> = past.iter().filter(|(step, _)| step + STEPS as u64 > at / 1000).collect();
                prop_assert_eq!(counts.calls, last.len() as u64);
                prop_assert_eq!(counts.failures, last.iter().filter(|one| one.1).count() as u64);
            }
        }
    }

    #[test]
    fn a_clock_that_seems_to_step_back_counts_in_the_newest_bucket() {
        let (mut ring, start) = (Ring::time(Duration::from_secs(10)), time::now());
        ring.push(Counts::one(true, false), start + Duration::from_secs(5));
        assert_eq!(ring.push(Counts::one(true, false), start).failures, 2);
    }

    #[test]
    fn nothing_is_left_after_clearing() {
        for mut ring in [Ring::calls(3), Ring::time(Duration::from_nanos(1)), Ring::time(Duration::MAX)] {
            (0..10).for_each(|_| _ = ring.push(Counts::one(true, true), time::now()));
            ring.clear();
            assert_eq!(ring.push(Counts::one(false, false), time::now()), Counts::one(false, false));
        }
    }
}
