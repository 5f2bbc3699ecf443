use crate::time::{self, Instant};
use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// An instant that only moves on. Nanoseconds since the first closure; zero is open.
#[derive(Debug, Default)]
pub(super) struct Until {
    base: OnceLock<Instant>,
    nanos: AtomicU64,
}

impl Until {
    /// Closes for `wait` from now. A longer closure stays.
    pub(super) fn close(&self, wait: Duration) {
        self.nanos.fetch_max(self.nanos_after(wait), Ordering::AcqRel);
    }

    /// Closes for `wait` from now, however long it was closed before.
    pub(super) fn close_anew(&self, wait: Duration) {
        self.nanos.store(self.nanos_after(wait), Ordering::Release);
    }

    pub(super) fn open(&self) {
        self.nanos.store(0, Ordering::Release);
    }

    /// What it says, without a clock: the same number means that nobody closed it in between.
    pub(super) fn mark(&self) -> u64 {
        self.nanos.load(Ordering::Acquire)
    }

    /// How long is left of the closure that a mark stands for. Reads the clock only if there was one.
    pub(super) fn left(&self, mark: u64) -> Option<Duration> {
        if mark == 0 {
            return None;
        }
        let base = *self.base.get()?;
        let left = Duration::from_nanos(mark).saturating_sub(time::now().saturating_duration_since(base));
        (!left.is_zero()).then_some(left)
    }

    fn nanos_after(&self, wait: Duration) -> u64 {
        let now = time::now();
        let base = *self.base.get_or_init(|| now);
        let until = now.saturating_duration_since(base).saturating_add(wait);
        u64::try_from(until.as_nanos()).unwrap_or(u64::MAX).max(1)
    }
}
