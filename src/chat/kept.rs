//! Encodings that stay with what they are of.
use bytes::Bytes;
use std::{
    any::Any,
    fmt,
    hash::{Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// So many are kept, those used last: one for each of two dialects.
const MOST: usize = 2;

/// What an immutable part of a conversation was encoded to, by whoever did it. It is no part of what is said: a copy begins
/// without, and it is never compared or stored.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Vec<(Arc<dyn Any + Send + Sync>, Bytes)>>);

impl Kept {
    /// The encoding whose key of this type satisfies `is_it`.
    pub(crate) fn find<K: Any>(&self, is_it: impl Fn(&K) -> bool) -> Option<Bytes> {
        let mut kept = self.lock();
        let at = kept.iter().position(|(key, _)| key.downcast_ref().is_some_and(&is_it))?;
        kept[at..].rotate_left(1);
        kept.last().map(|(_, bytes)| bytes.clone())
    }

    /// Keeps an encoding, in place of the one that was used longest ago where there are too many.
    pub(crate) fn keep(&self, key: Arc<dyn Any + Send + Sync>, bytes: Bytes) {
        let mut kept = self.lock();
        if kept.len() == MOST {
            kept.remove(0);
        }
        kept.push((key, bytes));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Arc<dyn Any + Send + Sync>, Bytes)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for Kept {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Kept {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Kept {}

impl Hash for Kept {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept(…)")
    }
}
