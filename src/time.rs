//! The only clocks of the crate. Waits follow tokio's time, so that a paused clock drives every layer.
#![allow(clippy::disallowed_methods)]

use std::time::{Duration, SystemTime};

pub(crate) use tokio::time::{Instant, Sleep};

pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The wall clock, for dates that others wrote; it may step.
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}

pub(crate) fn sleep(wait: Duration) -> Sleep {
    tokio::time::sleep(wait)
}

pub(crate) fn sleep_until(deadline: Instant) -> Sleep {
    tokio::time::sleep_until(deadline)
}

/// An instant so far away that tokio's own arithmetic would overflow becomes the farthest that it takes.
pub(crate) fn after(now: Instant, wait: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);
    now.checked_add(wait).unwrap_or_else(|| now + FAR)
}
