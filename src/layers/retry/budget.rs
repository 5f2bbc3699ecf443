use crate::{Invalid, time::Instant};
use std::{
    fmt,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// How many seconds a call pays for.
const WINDOW: u64 = 60;
/// One more than the window, so that what is spent is counted a full minute, its broken second included.
const SLOTS: usize = WINDOW as usize + 1;
const MILLION: u64 = 1_000_000;
const RATIO: f64 = 0.1;
const SAVED: u32 = 10;
const PER_SECOND: u32 = 1;

/// Bounds the extra load that retries put on a provider.
///
/// A limit of attempts bounds what one call does, and still lets an outage triple the load of all of them together.
/// The budget bounds the sum. A retry is let through if, over the last minute,
///
/// ```text
/// retries paid by calls + 1  ≤  ratio × calls sent
/// ```
///
/// or else if the reserve holds one: it saves up to 10, refilled at one a second, so that a quiet service may retry at
/// all. In any minute, retries are therefore at most `ratio × calls + saved + 60 × per_second`; the default ratio is
/// 0.1. Both sides are counted over the same minute: a healthy hour long ago pays for nothing now.
///
/// A retry that waited what the provider asked for draws nothing, since it comes when it is expected. The budget is asked
/// before the sleep, and what a call has drawn is not given back when it is dropped.
///
/// Clones are one budget. Every [`RetryLayer`](super::RetryLayer) starts with its own; hand one to several
/// [by name](super::RetryLayer::budget) where they send to one provider. Where layers that share one stand inside each
/// other, each of them counts its calls.
///
/// The window is that of finagle's `RetryBudget`, which tower's `TpsBudget` follows, with the reserve as a token
/// bucket: theirs counts a whole window of its floor as there at once.
///
/// A call costs one atomic update and one reading of the clock, a retry also a short lock. It takes a kilobyte, however
/// many calls are made.
///
/// ```
/// use seawall::retry::{Budget, RetryLayer};
///
/// let budget = Budget::new(0.2)?;
/// let (chat, embeddings) = (RetryLayer::new().budget(&budget), RetryLayer::new().budget(&budget));
/// assert!(Budget::new(f64::NAN).is_err());
/// # Ok::<(), seawall::Invalid>(())
/// ```
#[derive(Clone)]
pub struct Budget(Arc<Shared>);

struct Shared {
    /// In millionths, so that ten percent of ten calls is one retry and not nearly one.
    ratio: u64,
    saved: u32,
    per_second: u32,
    start: OnceLock<Instant>,
    calls: [Slot; SLOTS],
    spent: Mutex<Spent>,
}

/// What one second counted: the second above, the count below.
#[derive(Default)]
struct Slot(AtomicU64);

struct Spent {
    retries: [Slot; SLOTS],
    /// Of the reserve, in millionths of a retry, at `refilled` since the start.
    reserve: u64,
    refilled: Duration,
}

impl Budget {
    /// A budget that lets retries add `ratio` to the load, next to the default reserve.
    ///
    /// # Errors
    /// If `ratio` is not a number from 0 to 10 (which is ten retries a call).
    pub fn new(ratio: f64) -> Result<Self, Invalid> {
        Self::with_reserve(ratio, SAVED, PER_SECOND)
    }

    /// A budget whose reserve saves up to `saved` retries and is refilled at `per_second`.
    ///
    /// # Errors
    /// If `ratio` is not a number from 0 to 10, or the reserve is refilled but saves nothing.
    pub fn with_reserve(ratio: f64, saved: u32, per_second: u32) -> Result<Self, Invalid> {
        if !(0.0..=10.0).contains(&ratio) {
            return Err(Invalid::new(
                "ratio",
                format!("{ratio} is no share of extra load; use 0.1 for ten percent, 10 at most"),
            ));
        }
        if saved == 0 && per_second > 0 {
            return Err(Invalid::new("saved", "a reserve that saves nothing cannot be refilled; save 1, or refill 0"));
        }
        Ok(Self::made(ratio, saved, per_second))
    }

    fn made(ratio: f64, saved: u32, per_second: u32) -> Self {
        let slots = || std::array::from_fn(|_| Slot::default());
        let reserve = u64::from(saved) * MILLION;
        Self(Arc::new(Shared {
            ratio: (ratio * MILLION as f64).round() as u64,
            saved,
            per_second,
            start: OnceLock::new(),
            calls: slots(),
            spent: Mutex::new(Spent { retries: slots(), reserve, refilled: Duration::ZERO }),
        }))
    }

    /// Counts a call that was sent.
    pub(super) fn deposit(&self, now: Instant) {
        count(&self.0.calls, self.0.since_start(now).as_secs());
    }

    /// Takes one retry out, if there is one.
    pub(super) fn draw(&self, now: Instant) -> bool {
        let Shared { ratio, calls, .. } = &*self.0;
        let elapsed = self.0.since_start(now);
        let second = elapsed.as_secs();
        let earned = sum(calls, second, WINDOW).saturating_mul(*ratio);
        // A panic elsewhere cannot leave these counts half-written.
        let mut spent = self.0.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = sum(&spent.retries, second, WINDOW + 1).saturating_add(1).saturating_mul(MILLION);
        if wanted <= earned {
            count(&spent.retries, second);
            return true;
        }
        spent.refill(elapsed, self.0.saved, self.0.per_second);
        match spent.reserve.checked_sub(MILLION) {
            Some(left) => spent.reserve = left,
            None => return false,
        }
        true
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::made(RATIO, SAVED, PER_SECOND)
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { ratio, saved, per_second, .. } = &*self.0;
        let ratio = *ratio as f64 / MILLION as f64;
        let mut shown = f.debug_struct("Budget");
        shown.field("ratio", &ratio).field("saved", saved).field("per_second", per_second).finish_non_exhaustive()
    }
}

impl Shared {
    fn since_start(&self, now: Instant) -> Duration {
        now.saturating_duration_since(*self.start.get_or_init(|| now))
    }
}

impl Spent {
    fn refill(&mut self, elapsed: Duration, saved: u32, per_second: u32) {
        let micros = elapsed.saturating_sub(self.refilled).as_micros();
        let refilled = u64::try_from(micros).unwrap_or(u64::MAX).saturating_mul(per_second.into());
        self.reserve = self.reserve.saturating_add(refilled).min(u64::from(saved) * MILLION);
        self.refilled = self.refilled.max(elapsed);
    }
}

/// Adds one to `second`. A slot of an older minute starts anew; a late comer for a minute gone is not counted.
fn count(slots: &[Slot; SLOTS], second: u64) {
    let update = |packed| match unpack(packed) {
        (of, count) if of == second => (count < u32::MAX).then_some(packed + 1),
        (of, _) => (of < second).then_some(second << 32 | 1),
    };
    let slot = &slots[second as usize % SLOTS].0;
    // A refused update is one that must not count.
    let _ = slot.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update);
}

/// What the last `window` seconds counted, the broken one that runs included.
fn sum(slots: &[Slot; SLOTS], second: u64, window: u64) -> u64 {
    let counted = slots.iter().map(|slot| unpack(slot.0.load(Ordering::Relaxed)));
    counted.filter(|(of, _)| of + window > second).map(|(_, count)| u64::from(count)).sum()
}

/// Thirty-two bits of seconds last for 136 years.
fn unpack(packed: u64) -> (u64, u32) {
    (packed >> 32, packed as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time;

    /// A clock to step by hand.
    fn seconds(start: Instant, seconds: f64) -> Instant {
        start + Duration::from_secs_f64(seconds)
    }

    fn drawn(budget: &Budget, now: Instant) -> usize {
        (0..1000).take_while(|_| budget.draw(now)).count()
    }

    #[test]
    fn ten_calls_pay_for_one_retry() {
        let (budget, now) = (Budget::with_reserve(0.1, 0, 0).unwrap(), time::now());
        (0..9).for_each(|_| budget.deposit(now));
        assert!(!budget.draw(now));
        budget.deposit(now);
        assert!(budget.draw(now) && !budget.draw(now));
    }

    #[test]
    fn the_reserve_saves_ten_and_is_refilled_at_one_a_second() {
        let (budget, now) = (Budget::default(), time::now());
        assert_eq!(drawn(&budget, now), 10);
        assert!(!budget.draw(seconds(now, 0.9)) && budget.draw(seconds(now, 1.0)) && !budget.draw(seconds(now, 1.9)));
        assert_eq!(drawn(&budget, seconds(now, 5.0)), 4);
        assert_eq!(drawn(&budget, seconds(now, 86_400.0)), 10, "it saves no more, however long it rests");
    }

    #[test]
    fn a_healthy_hour_long_ago_pays_for_nothing_now() {
        let (budget, start) = (Budget::with_reserve(0.1, 0, 0).unwrap(), time::now());
        (0..3600).for_each(|second| (0..100).for_each(|_| budget.deposit(seconds(start, second.into()))));
        assert_eq!(drawn(&budget, seconds(start, 3600.0)), 590, "fifty-nine seconds of it are in the last minute");
        assert_eq!(drawn(&budget, seconds(start, 7200.0)), 0);
    }

    #[test]
    fn no_minute_holds_more_than_its_share() {
        let (budget, start) = (Budget::with_reserve(0.1, 0, 0).unwrap(), time::now());
        let mut retries = Vec::new();
        for tick in 0..3000 {
            let now = seconds(start, f64::from(tick) * 0.1);
            budget.deposit(now);
            retries.extend(std::iter::repeat_n(tick, drawn(&budget, now)));
        }
        let within = |end: i32| retries.iter().filter(|&&tick| tick > end - 600 && tick <= end).count();
        assert!((600..3000).all(|end| (50..=60).contains(&within(end))), "600 calls a minute");
    }

    #[test]
    fn clones_and_threads_share_one_count() {
        let (budget, now) = (Budget::with_reserve(0.5, 0, 0).unwrap(), time::now());
        let work = |budget: Budget| {
            move || {
                (0..1000).for_each(|_| budget.deposit(now));
                drawn(&budget, now)
            }
        };
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(work(budget.clone()))).collect();
        let before: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(before + drawn(&budget, now) + drawn(&budget, now), 2000, "no call is lost, no retry is paid twice");
    }

    #[test]
    fn a_clock_that_stands_elsewhere_neither_panics_nor_pays_twice() {
        let (budget, now) = (Budget::default(), time::now());
        budget.deposit(seconds(now, 1000.0));
        budget.deposit(now);
        assert_eq!(drawn(&budget, now), 10);
        assert_eq!(drawn(&budget, seconds(now, 86_400.0 * 365.0 * 200.0)), 10);
    }

    #[test]
    fn what_makes_no_sense_says_what_to_change() {
        for ratio in [f64::NAN, -0.1, 10.1, f64::INFINITY] {
            let invalid = Budget::new(ratio).unwrap_err();
            assert!(invalid.setting() == "ratio" && invalid.to_string().contains("0.1 for ten percent"), "{invalid}");
        }
        assert_eq!(Budget::with_reserve(0.1, 0, 1).unwrap_err().setting(), "saved");
        assert!(Budget::with_reserve(0.0, 0, 0).is_ok() && Budget::new(10.0).is_ok());
    }
}
