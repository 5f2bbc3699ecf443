use super::{
    Policy, Trip,
    ring::{Counts, Ring},
};
use crate::{Invalid, time::Instant};
use std::time::Duration;

const MOST_CALLS: u32 = 65_536;
/// What the field's breakers need at least before a rate means something.
const MIN_CALLS: u32 = 10;
const CONSECUTIVE: u32 = 10;
const RATE: f64 = 0.5;
const TIME: Duration = Duration::from_secs(60);

/// Opens a circuit by the share of failed calls in a sliding window, by failures in a row, or by the share of slow calls.
///
/// By default:
///
/// | setting | default | because |
/// |---|---|---|
/// | window | [60 s](Self::time) | what lies further back says little of now, and a rate limit's minute fits in |
/// | [`failure_rate`](Self::failure_rate) | 0.5 | below it most calls still pass, and retries help them better than a refusal |
/// | [`min_calls`](Self::min_calls) | 10 | of fewer calls one or two decide; at the pace of models more may never come together |
/// | [`consecutive`](Self::consecutive) | 10 | where calls are so rare that the window never holds ten |
/// | [`slow_calls`](Self::slow_calls) | off | how long a good answer takes depends on the model and on what it is asked |
///
/// Only a call that failed, or was slow, opens a circuit, even if the window is full of failures when a success is the
/// tenth call in it. Each setting stands for itself: failures in a row need no minimum of calls.
///
/// ```
/// use seawall::circuit_breaker::Window;
/// use std::time::Duration;
///
/// let window = Window::calls(100)?.failure_rate(0.3)?.min_calls(20)?.slow_calls(Duration::from_secs(30), 0.8)?;
/// # Ok::<(), seawall::Invalid>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a window counts where a layer is handed it as its policy"]
pub struct Window {
    ring: Ring,
    /// Of a window of calls: no minimum may be above it.
    size: Option<u32>,
    failure_rate: f64,
    min_calls: u32,
    consecutive: u32,
    slow: Option<(Duration, f64)>,
    failed_in_a_row: u32,
}

impl Window {
    /// The last so many calls. They are kept as a byte each.
    ///
    /// # Errors
    /// Refuses zero, and more than 65,536.
    pub fn calls(calls: u32) -> Result<Self, Invalid> {
        if calls == 0 || calls > MOST_CALLS {
            return Err(Invalid::new("calls", "a window holds 1 to 65536 calls; for longer ones take `Window::time`"));
        }
        let min_calls = MIN_CALLS.min(calls);
        Ok(Self { ring: Ring::calls(calls as usize), size: Some(calls), min_calls, ..Self::default() })
    }

    /// The calls that ended in so long a time before now, however many.
    ///
    /// It slides in steps of a tenth, and so holds its last nine to ten tenths.
    ///
    /// # Errors
    /// Refuses zero.
    pub fn time(window: Duration) -> Result<Self, Invalid> {
        match window.is_zero() {
            true => Err(Invalid::new("time", "a window of no time holds no call; set a longer one")),
            false => Ok(Self { ring: Ring::time(window), ..Self::default() }),
        }
    }

    /// Opens at this share of failed calls or above. Default 0.5.
    ///
    /// # Errors
    /// Refuses what is not above 0 and at most 1.
    pub fn failure_rate(mut self, rate: f64) -> Result<Self, Invalid> {
        self.failure_rate = share("failure_rate", rate)?;
        Ok(self)
    }

    /// How many calls the window must hold before a share counts. Default 10, or all of a smaller window of calls.
    ///
    /// # Errors
    /// Refuses zero, and more calls than the window can hold.
    pub fn min_calls(mut self, calls: u32) -> Result<Self, Invalid> {
        if calls == 0 {
            return Err(Invalid::new("min_calls", "without a single call there is no share; set 1 or more"));
        }
        if let Some(size) = self.size.filter(|&size| size < calls) {
            let reason =
                format!("a window of {size} calls never holds {calls}; set at most {size}, or a larger window");
            return Err(Invalid::new("min_calls", reason));
        }
        self.min_calls = calls;
        Ok(self)
    }

    /// Opens at so many failures in a row, however far apart. Default 10; `u32::MAX` in effect turns it off.
    ///
    /// # Errors
    /// Refuses zero.
    pub fn consecutive(mut self, failures: u32) -> Result<Self, Invalid> {
        if failures == 0 {
            return Err(Invalid::new("consecutive", "no failure at all would open the circuit; set 1 or more"));
        }
        self.consecutive = failures;
        Ok(self)
    }

    /// Opens where this share of calls, or more, took so long to the head of their answer, successes and failures alike.
    /// Off by default.
    ///
    /// The head of a chat stream is its first content. A half-open circuit opens again at a slow probe.
    ///
    /// # Errors
    /// Refuses zero time, and a share that is not above 0 and at most 1.
    pub fn slow_calls(mut self, from: Duration, rate: f64) -> Result<Self, Invalid> {
        if from.is_zero() {
            return Err(Invalid::new("slow_calls", "every call takes longer than no time; set a longer one"));
        }
        self.slow = Some((from, share("slow_calls", rate)?));
        Ok(self)
    }

    fn count(&mut self, failed: bool, now: Instant, took: Option<Duration>) -> Option<Trip> {
        let is_slow = self.slow.zip(took).is_some_and(|((from, _), took)| took >= from);
        let counts = self.ring.push(Counts::one(failed, is_slow), now);
        self.failed_in_a_row = if failed { self.failed_in_a_row.saturating_add(1) } else { 0 };
        let slow_rate = self.slow.filter(|_| is_slow).map(|(_, rate)| rate);
        let many = counts.calls >= u64::from(self.min_calls);
        let trips = failed && self.failed_in_a_row >= self.consecutive
            || many && failed && reaches(counts.failures, counts.calls, self.failure_rate)
            || many && slow_rate.is_some_and(|rate| reaches(counts.slow, counts.calls, rate));
        trips.then(Trip::new)
    }
}

/// Divides, as the nearest number to 7 / 100 is that to 0.07, while 0.07 · 100 is above 7.
fn reaches(part: u64, all: u64, rate: f64) -> bool {
    part as f64 / all as f64 >= rate
}

fn share(setting: &'static str, rate: f64) -> Result<f64, Invalid> {
    match rate > 0.0 && rate <= 1.0 {
        true => Ok(rate),
        false => Err(Invalid::new(setting, "a share is above 0 and at most 1, as 0.5 for one call in two")),
    }
}

impl Default for Window {
    fn default() -> Self {
        Self {
            ring: Ring::time(TIME),
            size: None,
            failure_rate: RATE,
            min_calls: MIN_CALLS,
            consecutive: CONSECUTIVE,
            slow: None,
            failed_in_a_row: 0,
        }
    }
}

impl Policy for Window {
    fn slow(&self) -> Option<Duration> {
        self.slow.map(|(from, _)| from)
    }

    fn success(&mut self, now: Instant, took: Option<Duration>) -> Option<Trip> {
        self.count(false, now, took)
    }

    fn failure(&mut self, now: Instant, took: Option<Duration>) -> Option<Trip> {
        self.count(true, now, took)
    }

    fn reset(&mut self) {
        self.ring.clear();
        self.failed_in_a_row = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    /// After how many failures it trips.
    fn failures(window: &mut Window, now: Instant) -> usize {
        1 + (0..).take_while(|_| window.failure(now, None).is_none()).count()
    }

    #[test]
    fn a_share_of_the_window_opens_after_any_healthy_past() {
        let now = time::now();
        for rate in [0.07, 0.1, 0.3, 0.5, 0.9, 1.0] {
            let mut window = Window::calls(100).unwrap().failure_rate(rate).unwrap().consecutive(u32::MAX).unwrap();
            assert!((0..5000).all(|_| window.success(now, None).is_none()));
            assert_eq!(failures(&mut window, now), (rate * 100.0).round() as usize, "{rate}");
        }
    }

    #[test]
    fn the_minimum_of_calls_is_its_own_setting() {
        let now = time::now();
        for min in [1, 2, 10, 37, 100] {
            let of_calls = Window::calls(100).unwrap();
            for window in [of_calls, Window::time(seconds(60)).unwrap()] {
                let mut window = window.min_calls(min).unwrap().consecutive(u32::MAX).unwrap();
                assert_eq!(failures(&mut window, now), min as usize);
            }
        }
    }

    #[test]
    fn failures_in_a_row_open_however_far_apart() {
        let (mut window, now) = (Window::default(), time::now());
        for n in 0..9 {
            assert_eq!(window.failure(now + seconds(1000 * n), None), None);
        }
        assert_eq!(window.success(now + seconds(9500), None), None);
        for n in 10..19 {
            assert_eq!(window.failure(now + seconds(1000 * n), None), None);
        }
        assert_eq!(window.failure(now + seconds(19_000), None), Some(Trip::new()));
    }

    #[test]
    fn a_window_of_time_sees_from_the_first_call_and_forgets() {
        let (mut window, now) = (Window::time(seconds(10)).unwrap().consecutive(u32::MAX).unwrap(), time::now());
        assert_eq!(failures(&mut window, now), 10, "not blind at first");
        window.reset();
        assert_eq!(failures(&mut window, now), 10, "nor after a reset");
        window.reset();
        assert!((0..9).all(|_| window.failure(now, None).is_none()));
        assert_eq!(failures(&mut window, now + seconds(11)), 10, "what is older than the window is gone");
    }

    #[test]
    fn slow_calls_open_whether_or_not_they_fail() {
        let now = time::now();
        let window = || Window::calls(10).unwrap().slow_calls(seconds(3), 0.8).unwrap().consecutive(u32::MAX).unwrap();
        let (mut all, mut some) = (window(), window());
        assert!((0..9).all(|_| all.success(now, Some(seconds(3))).is_none()));
        assert!(all.success(now, Some(seconds(3))).is_some(), "at exactly the minimum");
        assert!((0..3).all(|_| some.success(now, Some(seconds(2))).is_none()));
        assert!((0..7).all(|_| some.success(now, Some(seconds(9))).is_none()), "7 of 10");
        assert!(some.success(now, Some(seconds(9))).is_some(), "8 of 10");
        assert_eq!((all.slow(), Window::default().slow()), (Some(seconds(3)), None));
    }

    #[test]
    fn a_success_opens_nothing() {
        let (mut window, now) = (Window::default(), time::now());
        assert!((0..9).all(|_| window.failure(now, None).is_none()));
        assert_eq!(window.success(now, None), None);
        assert!(window.failure(now, None).is_some());
    }

    #[test]
    fn what_makes_no_sense_cannot_be_set() {
        let window = || Window::calls(5).unwrap();
        let nan = f64::NAN;
        for (setting, invalid) in [
            ("calls", Window::calls(0)),
            ("calls", Window::calls(MOST_CALLS + 1)),
            ("time", Window::time(Duration::ZERO)),
            ("failure_rate", window().failure_rate(0.0)),
            ("failure_rate", window().failure_rate(1.1)),
            ("failure_rate", window().failure_rate(nan)),
            ("min_calls", window().min_calls(0)),
            ("min_calls", window().min_calls(6)),
            ("consecutive", window().consecutive(0)),
            ("slow_calls", window().slow_calls(Duration::ZERO, 0.5)),
            ("slow_calls", window().slow_calls(seconds(1), 0.0)),
        ] {
            assert_eq!(invalid.unwrap_err().setting(), setting);
        }
    }
}
