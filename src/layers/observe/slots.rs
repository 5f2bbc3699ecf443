use crate::keyed::Keyed;
use std::{fmt, sync::OnceLock};

/// More than there are words of ours.
const MOST: usize = 64;

/// Handles that are kept, by a word of ours such as an `error.type`; that without a word is the cheapest.
pub(super) struct Slots<T>(Keyed<OnceLock<T>>);

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self(Keyed::new(MOST, OnceLock::new()))
    }
}

impl<T> Slots<T> {
    /// Uses what is kept for a word, made if it is new.
    pub(super) fn with(&self, word: Option<&'static str>, make: impl FnOnce() -> T, each: impl FnOnce(&T)) {
        // Made in the slot, and not under the lock, as a recorder is somebody else's code.
        each(self.0.get(word, |_| OnceLock::new(), |_| false).get_or_init(make));
    }
}

impl<T> fmt::Debug for Slots<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
