use super::until::Until;
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

/// How many keys may be closed at once. Beyond, a breaker still refuses; failover only finds out by asking.
const MOST: usize = 1024;

/// What a circuit does.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CircuitState {
    /// Lets every call through, and counts how they end.
    Closed,
    /// Refuses every call until its time is over.
    Open,
    /// Lets probes through, and closes or opens by how they end.
    HalfOpen,
}

impl CircuitState {
    /// The state in snake case, as logs and metrics write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// What a gate shows of its circuits: a place for each that is not closed, and one for that without a key, always at hand.
#[derive(Default)]
pub(super) struct Places {
    keyless: Place,
    keyed: RwLock<HashMap<Box<str>, Place>>,
    /// Saves the lock while there is none.
    len: AtomicUsize,
}

#[derive(Default)]
struct Place {
    until: Until,
    half_open: AtomicBool,
}

impl Places {
    pub(super) fn left(&self, key: Option<&str>) -> Option<Duration> {
        self.find(key, |place| place.until.left(place.until.mark())).flatten()
    }

    pub(super) fn state(&self, key: Option<&str>) -> CircuitState {
        self.find(key, Place::state).unwrap_or(CircuitState::Closed)
    }

    pub(super) fn open(&self, key: Option<&str>, wait: Duration) {
        self.change(key, |place| {
            place.half_open.store(false, Ordering::Release);
            place.until.close(wait);
        });
    }

    /// Half open, and for so long nobody need ask.
    pub(super) fn probe(&self, key: Option<&str>, wait: Duration) {
        self.change(key, |place| {
            place.half_open.store(true, Ordering::Release);
            place.until.close_anew(wait);
        });
    }

    pub(super) fn close(&self, key: Option<&str>) {
        match key {
            None => self.keyless.close(),
            Some(key) => {
                let mut keyed = self.keyed.write().unwrap_or_else(PoisonError::into_inner);
                keyed.remove(key);
                self.len.store(keyed.len(), Ordering::Release);
            }
        }
    }

    pub(super) fn clear(&self) {
        self.keyless.close();
        let mut keyed = self.keyed.write().unwrap_or_else(PoisonError::into_inner);
        keyed.clear();
        self.len.store(0, Ordering::Release);
    }

    pub(super) fn has_keys(&self) -> bool {
        self.len.load(Ordering::Acquire) > 0
    }

    fn find<T>(&self, key: Option<&str>, look: impl FnOnce(&Place) -> T) -> Option<T> {
        match key {
            None => Some(look(&self.keyless)),
            Some(_) if !self.has_keys() => None,
            Some(key) => self.keyed.read().unwrap_or_else(PoisonError::into_inner).get(key).map(look),
        }
    }

    fn change(&self, key: Option<&str>, change: impl FnOnce(&Place)) {
        let Some(key) = key else { return change(&self.keyless) };
        let mut keyed = self.keyed.write().unwrap_or_else(PoisonError::into_inner);
        if keyed.len() >= MOST && !keyed.contains_key(key) {
            keyed.retain(|_, place| place.state() == CircuitState::Open);
        }
        if keyed.len() < MOST || keyed.contains_key(key) {
            change(keyed.entry(key.into()).or_default());
        }
        self.len.store(keyed.len(), Ordering::Release);
    }
}

impl Place {
    fn state(&self) -> CircuitState {
        match self.until.mark() {
            0 => CircuitState::Closed,
            _ if self.half_open.load(Ordering::Acquire) => CircuitState::HalfOpen,
            mark if self.until.left(mark).is_some() => CircuitState::Open,
            _ => CircuitState::HalfOpen,
        }
    }

    fn close(&self) {
        self.half_open.store(false, Ordering::Release);
        self.until.open();
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keyed = self.keyed.read().unwrap_or_else(PoisonError::into_inner);
        let mut states: BTreeMap<_, _> = keyed.iter().map(|(key, place)| (Some(&**key), place.state())).collect();
        states.insert(None, self.keyless.state());
        f.debug_map().entries(states).finish()
    }
}
