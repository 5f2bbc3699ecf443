//! Until when a route is closed: the one word between circuit breakers, cool-downs and failover.
mod places;
mod quota;
mod until;

use places::Places;
use quota::Quota;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::watch;

pub use places::CircuitState;

const FORCED_OPEN: u64 = 1;
const FORCED_CLOSED: u64 = 2;
/// The bits of the above; those over them count how often a hand moved, so that a breaker notices.
const FORCED: u64 = 3;

/// Until when a route is closed: written by its circuit breaker and cool-down, read by failover, and by you.
///
/// It has one place for the cool-down of the account, which routes may [share](Self::same_quota), and one for each
/// circuit: a circuit that closes must not end a cool-down. Circuits are told apart by the [key](crate::Shape::key) of
/// the request, where it has one: **those of chats by the model that the route is sent**, so `gate.circuit(Some("gpt-4o"))` tells
/// of one, and `None` of none. Without a key (`Bare`, `Http`) `None` is the circuit.
///
/// Clones are one gate. An open one costs a few atomic loads and no clock.
///
/// ```
/// use seawall::{CircuitState, Gate};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let gate = Gate::new(); // hand it to `CircuitBreakerLayer::gate`, and to the route in a failover or a stack
/// gate.cool_down(Duration::from_secs(20));
/// assert!(gate.opens_in(None).is_some());
/// assert_eq!(gate.circuit(None), CircuitState::Closed);
///
/// gate.force_circuit_open(); // takes the route out by hand
/// assert_eq!(gate.circuit(None), CircuitState::Open);
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Gate(Arc<Inner>);

#[derive(Default)]
struct Inner {
    places: Places,
    quota: Arc<Quota>,
    hand: AtomicU64,
    changes: watch::Sender<()>,
}

impl Gate {
    /// An open gate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A gate with circuits of its own, which cools down together with every route of the same account.
    #[must_use]
    pub fn same_quota(&self) -> Self {
        Self(Arc::new(Inner { quota: Arc::clone(&self.0.quota), ..Inner::default() }))
    }

    /// How long until the route may be asked with this key; `None`: now. `Duration::MAX` where a hand keeps it closed.
    #[must_use]
    pub fn opens_in(&self, key: Option<&str>) -> Option<Duration> {
        let circuit = match self.hand().forced() {
            Some(CircuitState::Open) => Some(Duration::MAX),
            Some(_) => None,
            None => self.0.places.left(key),
        };
        circuit.max(self.cools_for())
    }

    /// What the circuit of this key does. One that no call was made for is closed.
    #[must_use]
    pub fn circuit(&self, key: Option<&str>) -> CircuitState {
        self.hand().forced().unwrap_or_else(|| self.0.places.state(key))
    }

    /// Told of each change of a circuit, whatever its key; ask [`circuit`](Self::circuit) which state one is in now.
    ///
    /// ```
    /// # async fn example(gate: seawall::Gate) {
    /// let mut changes = gate.changes();
    /// while changes.changed().await.is_ok() {
    ///     println!("{:?} {gate:?}", gate.circuit(Some("gpt-4o")));
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.0.changes.subscribe()
    }

    /// Keeps every circuit of this gate open until [`release_circuit`](Self::release_circuit): takes the route out of use.
    pub fn force_circuit_open(&self) {
        self.force(FORCED_OPEN);
    }

    /// Keeps every circuit of this gate closed until [`release_circuit`](Self::release_circuit), whatever fails. Cool-downs go
    /// on.
    pub fn force_circuit_closed(&self) {
        self.force(FORCED_CLOSED);
    }

    /// Leaves the circuits to themselves again. Each starts closed, with nothing counted.
    pub fn release_circuit(&self) {
        self.force(0);
    }

    /// Closes it, and every gate of the same account, for `wait` from now. A longer closure stays.
    pub fn cool_down(&self, wait: Duration) {
        self.0.quota.until.close(wait);
    }

    /// Ends the cool-down of the account by hand, as after a wait that was a mistake.
    pub fn end_cool_down(&self) {
        self.0.quota.until.open();
    }

    /// How long the account still cools down; `None`: not at all.
    #[must_use]
    pub fn cools_for(&self) -> Option<Duration> {
        self.0.quota.until.left(self.0.quota.until.mark())
    }

    /// Closes it for this key and `wait` from now, for a breaker of yours. A longer closure stays.
    pub fn open_circuit(&self, key: Option<&str>, wait: Duration) {
        self.0.places.open(key, wait);
        self.tell();
    }

    /// Ends what [`open_circuit`](Self::open_circuit) began; a cool-down goes on.
    pub fn close_circuit(&self, key: Option<&str>) {
        self.0.places.close(key);
        self.tell();
    }

    fn force(&self, forced: u64) {
        let moved = |hand: u64| Some((hand & !FORCED).wrapping_add(FORCED + 1) | forced);
        // The closure always gives a value.
        let _ = self.0.hand.fetch_update(Ordering::AcqRel, Ordering::Acquire, moved);
        self.0.places.clear();
        self.tell();
    }
}

/// What it says now: its circuits by their keys, with those that are not closed.
impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut gate = f.debug_struct("Gate");
        gate.field("forced", &self.hand().forced()).field("circuits", &self.0.places);
        gate.field("cools_for", &self.cools_for()).finish()
    }
}

/// For the breaker, which tells of changes only when it holds no lock.
impl Gate {
    /// What a hand did: a breaker that remembers another value starts anew.
    pub(crate) fn hand(&self) -> Hand {
        Hand(self.0.hand.load(Ordering::Acquire))
    }

    /// Lets a call through with a mark of its time, or says how long the account cools down.
    pub(crate) fn admit(&self) -> Result<Mark, Duration> {
        let mark = self.0.quota.until.mark();
        self.0.quota.until.left(mark).map_or(Ok(Mark(mark)), Err)
    }

    /// A call of this mark was rate limited. Says for how long the account cools down.
    pub(crate) fn limited(&self, mark: Mark, told: Option<Duration>) -> Duration {
        self.0.quota.limited(mark.0, told)
    }

    /// A call of this mark was not rate limited.
    pub(crate) fn passed(&self, mark: Mark) {
        self.0.quota.passed(mark.0);
    }

    pub(crate) fn set_open(&self, key: Option<&str>, wait: Duration) {
        self.0.places.open(key, wait);
    }

    /// A probe is out: for `wait`, failover need not ask.
    pub(crate) fn set_probing(&self, key: Option<&str>, wait: Duration) {
        self.0.places.probe(key, wait);
    }

    pub(crate) fn set_closed(&self, key: Option<&str>) {
        self.0.places.close(key);
    }

    /// Tells of a change.
    pub(crate) fn tell(&self) {
        self.0.changes.send_replace(());
    }

    /// Whether both are the same gate.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether some circuit with a key is not closed, so that the key of a request matters.
    pub(crate) fn has_keys(&self) -> bool {
        self.0.places.has_keys()
    }
}

/// See [`Gate::admit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(u64);

/// See [`Gate::hand`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hand(u64);

impl Hand {
    /// Grows with each move.
    pub(crate) fn moves(self) -> u64 {
        self.0
    }

    /// Kept closed, or kept open.
    pub(crate) fn forced(self) -> Option<CircuitState> {
        match self.0 & FORCED {
            FORCED_OPEN => Some(CircuitState::Open),
            FORCED_CLOSED => Some(CircuitState::Closed),
            _ => None,
        }
    }
}
