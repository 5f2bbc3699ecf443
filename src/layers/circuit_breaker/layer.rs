use super::{CircuitBreaker, Policy, Window, circuit::Circuits, opening::Opening};
use crate::{Bare, Gate, Invalid, Rng, Sink};
use std::{sync::Arc, time::Duration};
use tower::Layer;

const BASE: Duration = Duration::from_secs(5);
const CAP: Duration = Duration::from_secs(60);
const KEYS: usize = 64;

/// Makes services that stop asking a provider that fails, or an account that was rate limited. See the
/// [module's docs](super) for when.
///
/// All services that one layer makes share their circuits; so do clones of the layer, until a setting is changed.
///
/// ```
/// use seawall::{Gate, Http, Sink, circuit_breaker::{CircuitBreakerLayer, Window}};
/// use std::time::Duration;
///
/// let gate = Gate::new();
/// let layer = CircuitBreakerLayer::new()
///     .gate(&gate)
///     .policy(Window::calls(100)?.failure_rate(0.5)?)
///     .probes(1)?
///     .open_for(Duration::from_secs(5), Duration::from_secs(60))?
///     .sink(Sink::new(|event| eprintln!("{event:?}")))
///     .shape(Http);
/// # Ok::<(), seawall::Invalid>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a layer does nothing until it wraps a service"]
pub struct CircuitBreakerLayer<H = Bare, P = Window> {
    circuits: Arc<Circuits<P>>,
    shape: H,
}

/// What each circuit is made of.
#[derive(Clone, Debug)]
pub(super) struct Settings<P> {
    pub(super) gate: Gate,
    pub(super) policy: P,
    pub(super) opening: Opening,
    pub(super) probes: usize,
    pub(super) keys: usize,
    pub(super) sink: Option<Sink>,
}

impl CircuitBreakerLayer {
    /// With [`Window::default`], and a gate of its own.
    pub fn new() -> Self {
        let opening = Opening { base: BASE, cap: CAP, rng: Rng::new() };
        let (gate, policy) = (Gate::new(), Window::default());
        Self::of(Settings { gate, policy, opening, probes: 1, keys: KEYS, sink: None }, Bare)
    }
}

impl Default for CircuitBreakerLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<H, P: Policy> CircuitBreakerLayer<H, P> {
    fn of(settings: Settings<P>, shape: H) -> Self {
        Self { circuits: Arc::new(Circuits::new(settings)), shape }
    }

    fn with(self, change: impl FnOnce(&mut Settings<P>)) -> Self {
        let mut settings = self.circuits.settings.clone();
        change(&mut settings);
        Self::of(settings, self.shape)
    }

    /// Writes to this gate, for a failover to read, and follows its hand. Default: one of its own.
    ///
    /// Each gate belongs to one layer: two would write over each other. For two routes of one account, see
    /// [`Gate::same_quota`].
    pub fn gate(self, gate: &Gate) -> Self {
        self.with(|settings| settings.gate = gate.clone())
    }

    /// Sets what may open a circuit. Each gets a clone. Default [`Window::default`].
    pub fn policy<T: Policy>(self, policy: T) -> CircuitBreakerLayer<H, T> {
        let Settings { gate, opening, probes, keys, sink, .. } = self.circuits.settings.clone();
        CircuitBreakerLayer::of(Settings { gate, policy, opening, probes, keys, sink }, self.shape)
    }

    /// Sets how many probes a half-open circuit lets through at once, all of which must pass to close it. Default 1: a
    /// provider that comes back is not met by a crowd, and one answer of a model says much.
    ///
    /// # Errors
    /// Refuses zero: the circuit would never close.
    pub fn probes(self, probes: u16) -> Result<Self, Invalid> {
        if probes == 0 {
            return Err(Invalid::new("probes", "without a probe an open circuit never closes; set 1 or more"));
        }
        Ok(self.with(|settings| settings.probes = probes.into()))
    }

    /// Sets how long a circuit is open: `base` at first, twice as long with each time that follows, at most `cap`. Default
    /// 5 s and 60 s: an overload that passes is not sat out for long, and an outage costs a probe a minute.
    ///
    /// Half of it is jitter, so that the breakers of many processes do not probe together. See the
    /// [module's docs](super#open-time) for the formula.
    ///
    /// # Errors
    /// Refuses zero, and a cap below the base.
    pub fn open_for(self, base: Duration, cap: Duration) -> Result<Self, Invalid> {
        if base.is_zero() {
            return Err(Invalid::new(
                "open_for",
                "a circuit that opens for no time refuses nothing; set a longer base",
            ));
        }
        if cap < base {
            return Err(Invalid::new("open_for", "the cap is below the base; set it to the base or above"));
        }
        Ok(self.with(|settings| (settings.opening.base, settings.opening.cap) = (base, cap)))
    }

    /// Sets for how many [keys](crate::Shape::key) circuits are kept apart. Default 64, more than a route has models.
    ///
    /// Where there is no room, a circuit that is closed and well makes way for a new key. If there is none, the keys beyond
    /// share one more circuit, which the gate does not show.
    ///
    /// # Errors
    /// Refuses zero: every key would share one circuit; a shape without keys says so plainly.
    pub fn keys(self, keys: usize) -> Result<Self, Invalid> {
        if keys == 0 {
            let reason =
                "no key would have a circuit of its own; set 1 or more, or `KeyBy` a closure that gives `None`";
            return Err(Invalid::new("keys", reason));
        }
        Ok(self.with(|settings| settings.keys = keys))
    }

    /// Draws jitter from a generator of this seed, so that a run can be repeated.
    pub fn seed(self, seed: u64) -> Self {
        self.rng(&Rng::seeded(seed))
    }

    /// Draws jitter from this generator. Default: one of the layer's own.
    pub fn rng(self, rng: &Rng) -> Self {
        self.with(|settings| settings.opening.rng = rng.clone())
    }

    /// Tells [`What::CircuitOpened`](crate::What::CircuitOpened), [`What::CircuitHalfOpened`](crate::What::CircuitHalfOpened),
    /// [`What::CircuitClosed`](crate::What::CircuitClosed) and [`What::CoolingDown`](crate::What::CoolingDown) to `sink`.
    pub fn sink(self, sink: Sink) -> Self {
        self.with(|settings| settings.sink = Some(sink))
    }

    /// Sets how requests and responses are seen. Default [`Bare`]: any request, one circuit, judged at the head.
    pub fn shape<T>(self, shape: T) -> CircuitBreakerLayer<T, P> {
        CircuitBreakerLayer { circuits: self.circuits, shape }
    }
}

impl<S, H: Clone, P> Layer<S> for CircuitBreakerLayer<H, P> {
    type Service = CircuitBreaker<S, H, P>;

    fn layer(&self, inner: S) -> Self::Service {
        CircuitBreaker::new(inner, Arc::clone(&self.circuits), self.shape.clone())
    }
}
