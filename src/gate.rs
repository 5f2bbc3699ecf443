use crate::time::{self, Instant};
use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// Until when a route is closed: written by its breaker and its cool-down, read by failover.
///
/// Those layers are to come; until then it is for such layers of yours.
///
/// An open gate costs two atomic loads and no clock.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<Closed>);

/// Two words: a circuit that closes must not end a cool-down, and routes may share an account.
#[derive(Debug, Default)]
struct Closed {
    circuit: Until,
    quota: Arc<Until>,
}

impl Gate {
    /// A gate with a circuit of its own, which cools down together with every route of the same account.
    #[must_use]
    pub fn same_quota(&self) -> Self {
        Self(Arc::new(Closed { circuit: Until::default(), quota: Arc::clone(&self.0.quota) }))
    }

    /// How long until the route may be asked; `None`: now.
    #[must_use]
    pub fn opens_in(&self) -> Option<Duration> {
        self.0.circuit.left().max(self.0.quota.left())
    }

    /// Closes it, and every gate of the same account, for `wait` from now. A longer closure stays.
    pub fn cool_down(&self, wait: Duration) {
        self.0.quota.close(wait);
    }

    /// Closes it alone for `wait` from now. A longer closure stays.
    pub fn open_circuit(&self, wait: Duration) {
        self.0.circuit.close(wait);
    }

    /// Ends what [`open_circuit`](Self::open_circuit) began; a cool-down goes on.
    pub fn close_circuit(&self) {
        self.0.circuit.nanos.store(0, Ordering::Release);
    }
}

/// Nanoseconds since the first closure; zero is open.
#[derive(Debug, Default)]
struct Until {
    base: OnceLock<Instant>,
    nanos: AtomicU64,
}

impl Until {
    fn close(&self, wait: Duration) {
        let now = time::now();
        let base = *self.base.get_or_init(|| now);
        let until = now.saturating_duration_since(base).saturating_add(wait);
        self.nanos.fetch_max(u64::try_from(until.as_nanos()).unwrap_or(u64::MAX), Ordering::AcqRel);
    }

    fn left(&self) -> Option<Duration> {
        let until = match self.nanos.load(Ordering::Acquire) {
            0 => return None,
            nanos => Duration::from_nanos(nanos),
        };
        let left = until.saturating_sub(time::now().saturating_duration_since(*self.base.get()?));
        (!left.is_zero()).then_some(left)
    }
}
