use super::until::Until;
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

const STEP: Duration = Duration::from_secs(1);
const MOST: Duration = Duration::from_secs(60);

/// Until when an account is closed, and how often in a row it was.
#[derive(Debug, Default)]
pub(super) struct Quota {
    pub(super) until: Until,
    in_a_row: AtomicU32,
    /// Keeps those who were limited together from counting each as a further time.
    counting: Mutex<()>,
}

impl Quota {
    /// Closes for the wait that was told, or else for a step that doubles with each time in a row. Says for how long.
    ///
    /// Who was let through before the last closure was limited together with whom it was for: that is not one more time.
    pub(super) fn limited(&self, mark: u64, told: Option<Duration>) -> Duration {
        // Nothing is kept under this lock that a panic could leave half-written.
        let _counting = self.counting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut times = self.in_a_row.load(Ordering::Relaxed);
        if times == 0 || self.until.mark() == mark {
            times = times.saturating_add(1);
            self.in_a_row.store(times, Ordering::Relaxed);
        }
        let wait = told.unwrap_or_else(|| STEP.saturating_mul(1 << (times - 1).min(6)).min(MOST));
        self.until.close(wait);
        wait
    }

    /// Starts again at the first step, if the answer was asked for after the last closure.
    pub(super) fn passed(&self, mark: u64) {
        if self.in_a_row.load(Ordering::Relaxed) > 0 && self.until.mark() == mark {
            self.in_a_row.store(0, Ordering::Relaxed);
        }
    }
}
