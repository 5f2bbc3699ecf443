//! One value a key, and a bounded number of them.
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

/// Longer keys are no names of models, and not worth their memory.
pub(crate) const LONGEST: usize = 256;

/// One value for requests without a key, one a key, and one for all the keys that find no room.
///
/// A known key costs a read lock and one look-up.
pub(crate) struct Keyed<T> {
    keyless: Arc<T>,
    keyed: RwLock<HashMap<Box<str>, Arc<T>>>,
    others: OnceLock<Arc<T>>,
    most: usize,
}

impl<T> Keyed<T> {
    pub(crate) fn new(most: usize, keyless: T) -> Self {
        Self { keyless: Arc::new(keyless), keyed: RwLock::default(), others: OnceLock::new(), most }
    }

    /// The value of a key, made if it is new. Where there is no room, one that nobody else holds and that `is_idle` makes
    /// room; if none is, the key shares the value that `make` gives for `None`.
    pub(crate) fn get(
        &self,
        key: Option<&str>,
        make: impl Fn(Option<&str>) -> T,
        is_idle: impl Fn(&T) -> bool,
    ) -> Arc<T> {
        let Some(key) = key else { return Arc::clone(&self.keyless) };
        if let Some(found) = self.keyed.read().unwrap_or_else(PoisonError::into_inner).get(key) {
            return Arc::clone(found);
        }
        let others = || Arc::clone(self.others.get_or_init(|| Arc::new(make(None))));
        if key.len() > LONGEST {
            return others();
        }
        let mut keyed = self.keyed.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = keyed.get(key) {
            return Arc::clone(found);
        }
        if keyed.len() >= self.most {
            keyed.retain(|_, value| Arc::strong_count(value) > 1 || !is_idle(value));
        }
        if keyed.len() >= self.most {
            return others();
        }
        let made = Arc::new(make(Some(key)));
        keyed.insert(key.into(), Arc::clone(&made));
        made
    }
}

impl<T> fmt::Debug for Keyed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = self.keyed.read().unwrap_or_else(PoisonError::into_inner).len();
        f.debug_struct("Keyed").field("keys", &len).field("most", &self.most).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_beyond_the_bound_share_one_value_unless_another_is_idle() {
        let keyed = Keyed::new(2, "none".to_owned());
        let make = |key: Option<&str>| key.unwrap_or("others").to_owned();
        let get = |key, idle: bool| keyed.get(key, make, |_| idle).as_str().to_owned();
        assert_eq!([get(None, false), get(Some("a"), false), get(Some("b"), false)], ["none", "a", "b"]);
        assert_eq!([get(Some("c"), false), get(Some("a"), false)], ["others", "a"], "known keys keep theirs");
        let held = keyed.get(Some("a"), make, |_| false);
        assert_eq!([get(Some("c"), true), get(Some("d"), false)], ["c", "others"], "b was idle, a is held");
        assert_eq!((held.as_str(), get(Some(&"x".repeat(LONGEST + 1)), true).as_str()), ("a", "others"));
    }
}
