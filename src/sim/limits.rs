use crate::Invalid;
use serde::Deserialize;
use std::{num::NonZeroU32, time::Duration};

/// What the provider allows. Nothing said is no limit.
///
/// Requests and tokens a minute are token buckets that refill evenly, as providers' own are: full at the start, and
/// in any time `t` never more than `burst + limit · t / 60 s` are let through. A 429 takes nothing, and the wait it
/// tells is exact: so much later the same request would pass, if nobody else came first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    pub(super) requests_per_minute: Option<NonZeroU32>,
    pub(super) tokens_per_minute: Option<NonZeroU32>,
    pub(super) burst: Option<NonZeroU32>,
    pub(super) concurrency: Option<NonZeroU32>,
}

impl Limits {
    /// Lets so many requests a minute through.
    #[must_use]
    pub fn requests_per_minute(self, limit: NonZeroU32) -> Self {
        Self { requests_per_minute: Some(limit), ..self }
    }

    /// Lets so many tokens a minute through: a quarter of the request's bytes, and `max_tokens`.
    #[must_use]
    pub fn tokens_per_minute(self, limit: NonZeroU32) -> Self {
        Self { tokens_per_minute: Some(limit), ..self }
    }

    /// Lets at most so many requests through at once. By default as many as in a minute.
    #[must_use]
    pub fn burst(self, requests: NonZeroU32) -> Self {
        Self { burst: Some(requests), ..self }
    }

    /// Serves so many requests at a time.
    #[must_use]
    pub fn concurrency(self, limit: NonZeroU32) -> Self {
        Self { concurrency: Some(limit), ..self }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        if self.burst.is_some() && self.requests_per_minute.is_none() {
            return Err(Invalid::new("burst", "has no effect without `requests-per-minute`; add that or leave it out"));
        }
        Ok(())
    }
}

/// Why a request was not let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The bucket is empty, and has enough again after `wait`.
    Empty { bucket: Bucket, requested: u32, wait: Duration },
    /// More than the bucket ever holds.
    TooLarge { bucket: Bucket, requested: u32 },
    /// Too many at a time.
    Concurrency(u32),
}

/// The state of the limits; asked with the time since the start.
#[derive(Clone, Debug, Default)]
pub(super) struct Limiter {
    pub(super) requests: Option<Bucket>,
    pub(super) tokens: Option<Bucket>,
    concurrency: Option<NonZeroU32>,
}

impl Limiter {
    pub(super) fn new(limits: &Limits) -> Self {
        let bucket = |limit, unit| move |per_minute| Bucket::new(per_minute, limit, unit);
        Self {
            requests: limits.requests_per_minute.map(bucket(limits.burst, Unit::Requests)),
            tokens: limits.tokens_per_minute.map(bucket(None, Unit::Tokens)),
            concurrency: limits.concurrency,
        }
    }

    /// Takes from every bucket, or from none.
    pub(super) fn admit(&mut self, elapsed: Duration, in_flight: u64, tokens: u32) -> Result<(), Refusal> {
        if let Some(limit) = self.concurrency
            && in_flight >= u64::from(limit.get())
        {
            return Err(Refusal::Concurrency(limit.get()));
        }
        let mut buckets = [(self.requests.as_mut(), 1), (self.tokens.as_mut(), tokens)];
        let mut refused: Option<(Duration, Refusal)> = None;
        for (bucket, cost) in &mut buckets {
            let Some(bucket) = bucket else { continue };
            bucket.refill(elapsed);
            let refusal = match bucket.wait(*cost) {
                Some(Duration::ZERO) => continue,
                Some(wait) => (wait, Refusal::Empty { bucket: **bucket, requested: *cost, wait }),
                None => (Duration::MAX, Refusal::TooLarge { bucket: **bucket, requested: *cost }),
            };
            refused = refused.filter(|(wait, _)| *wait >= refusal.0).or(Some(refusal));
        }
        if let Some((_, refusal)) = refused {
            return Err(refusal);
        }
        for (bucket, cost) in buckets {
            if let Some(bucket) = bucket {
                bucket.take(cost);
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Requests,
    Tokens,
}

/// A token bucket in whole numbers: a minute's nanoseconds make one unit, so that nothing is ever rounded away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bucket {
    pub(super) unit: Unit,
    pub(super) per_minute: u32,
    capacity: u32,
    level: u128,
    filled_at: Duration,
}

const UNIT: u128 = 60_000_000_000;

impl Bucket {
    fn new(per_minute: NonZeroU32, burst: Option<NonZeroU32>, unit: Unit) -> Self {
        let capacity = burst.unwrap_or(per_minute).get();
        let level = u128::from(capacity) * UNIT;
        Self { unit, per_minute: per_minute.get(), capacity, level, filled_at: Duration::ZERO }
    }

    fn full(&self) -> u128 {
        u128::from(self.capacity) * UNIT
    }

    fn refill(&mut self, elapsed: Duration) {
        let passed = elapsed.saturating_sub(self.filled_at).as_nanos();
        self.level = self.full().min(self.level.saturating_add(passed.saturating_mul(u128::from(self.per_minute))));
        self.filled_at = self.filled_at.max(elapsed);
    }

    /// How long until it holds so much; `None`: never.
    fn wait(&self, cost: u32) -> Option<Duration> {
        (cost <= self.capacity).then(|| self.until(u128::from(cost) * UNIT))
    }

    fn until(&self, level: u128) -> Duration {
        let nanos = level.saturating_sub(self.level).div_ceil(u128::from(self.per_minute));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn take(&mut self, cost: u32) {
        self.level = self.level.saturating_sub(u128::from(cost) * UNIT);
    }

    /// What is left, in whole units.
    pub(super) fn remaining(&self) -> u128 {
        self.level / UNIT
    }

    /// How long until it is full.
    pub(super) fn full_in(&self) -> Duration {
        self.until(self.full())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(per_minute: u32, burst: u32) -> Limiter {
        let limit = |n| NonZeroU32::new(n).unwrap();
        Limiter::new(&Limits::default().requests_per_minute(limit(per_minute)).burst(limit(burst)))
    }

    #[test]
    fn the_told_wait_is_exact_to_the_nanosecond() {
        let mut limiter = limiter(7, 1);
        let mut now = Duration::ZERO;
        limiter.admit(now, 0, 0).unwrap();
        for _ in 0..100 {
            let Err(Refusal::Empty { wait, .. }) = limiter.admit(now, 0, 0) else { panic!("let through") };
            assert!(limiter.clone().admit(now + wait - Duration::from_nanos(1), 0, 0).is_err());
            now += wait;
            limiter.admit(now, 0, 0).unwrap();
        }
        assert_eq!(now.as_nanos(), 100 * UNIT.div_ceil(7), "each to the nanosecond above");
    }

    #[test]
    fn a_minute_lets_the_burst_and_the_rate_through() {
        let mut limiter = limiter(600, 50);
        let through = (0..60_000).filter(|ms| limiter.admit(Duration::from_millis(*ms), 0, 0).is_ok()).count();
        assert_eq!(through, 50 + 599, "the last of the minute comes at its end");
    }

    #[test]
    fn an_idle_hour_saves_no_more_than_the_burst() {
        let mut limiter = limiter(600, 5);
        let hour = Duration::from_secs(3600);
        assert_eq!((0..100).filter(|_| limiter.admit(hour, 0, 0).is_ok()).count(), 5);
    }

    #[test]
    fn a_refusal_takes_from_no_bucket() {
        let limit = |n| NonZeroU32::new(n).unwrap();
        let limits = Limits::default().requests_per_minute(limit(2)).tokens_per_minute(limit(100));
        let mut limiter = Limiter::new(&limits);
        let too_large = limiter.admit(Duration::ZERO, 0, 101);
        assert!(matches!(too_large, Err(Refusal::TooLarge { requested: 101, .. })), "{too_large:?}");
        assert!(limiter.admit(Duration::ZERO, 0, 60).is_ok());
        assert!(matches!(limiter.admit(Duration::ZERO, 0, 60), Err(Refusal::Empty { requested: 60, .. })));
        assert!(limiter.admit(Duration::ZERO, 0, 40).is_ok(), "one request was left");
    }
}
