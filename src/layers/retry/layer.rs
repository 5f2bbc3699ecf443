use super::{
    Backoff, Budget, Retry, Schedule,
    policy::{MAX_WAIT, Policy},
};
use crate::{Bare, Invalid, Rng, Sink};
use std::{sync::Arc, time::Duration};
use tower::Layer;

/// Makes services that retry. See the [module's docs](super) for what is retried, and when.
///
/// Clones of a layer, and of the services it makes, share one budget and one sequence of jitter.
///
/// ```
/// use seawall::{Http, Sink, retry::{Backoff, Budget, RetryLayer}};
/// use std::time::Duration;
///
/// let layer = RetryLayer::new()
///     .max_retries(3)
///     .schedule(Backoff::new(Duration::from_millis(200), Duration::from_secs(10))?)
///     .budget(&Budget::new(0.2)?)
///     .sink(Sink::new(|event| eprintln!("{event:?}")))
///     .shape(Http);
/// # Ok::<(), seawall::Invalid>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a layer does nothing until it wraps a service"]
pub struct RetryLayer<H = Bare, P = Backoff> {
    settings: Settings<P>,
    shape: H,
}

/// What the services of one layer share.
#[derive(Clone, Debug)]
pub(super) struct Settings<P> {
    pub(super) policy: Policy<P>,
    pub(super) sink: Option<Sink>,
}

impl RetryLayer {
    /// The default of [`max_wait`](RetryLayer::max_wait): 60 s.
    pub const MAX_WAIT: Duration = MAX_WAIT;

    /// Two retries after delays of [`Backoff::default`], within a [`Budget::default`] of its own.
    pub fn new() -> Self {
        Self { settings: Settings { policy: Policy::default(), sink: None }, shape: Bare }
    }
}

impl Default for RetryLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<H, P> RetryLayer<H, P> {
    /// Sets how often a call is asked again. Default 2, which makes three attempts.
    ///
    /// With 0 no copy of a request is kept, and refusals are not waited out either, but with [`keep_last`](Self::keep_last).
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.settings.policy.max_retries = retries;
        self
    }

    /// Keeps a copy of the request for the last attempt too, so that a refusal of ours which meets it is waited out.
    ///
    /// Worth its price, one more clone of a request whose other attempts have failed, where something inside refuses: the
    /// stack sets it, as its circuit and its limits do. A refusal spends neither an attempt nor a send, so the call is
    /// bounded by [`patience`](Self::patience) then; failures end it as they would without.
    pub fn keep_last(mut self) -> Self {
        self.settings.policy.keep_last = true;
        self
    }

    /// Sets the longest wait that is sat out, told or scheduled. Default 60 s, beyond which a caller is better served by an
    /// error than by silence.
    ///
    /// A longer wait ends the call at once, with the wait in its error; it is never shortened.
    ///
    /// # Errors
    /// Refuses zero: no wait could ever be sat out.
    pub fn max_wait(mut self, most: Duration) -> Result<Self, Invalid> {
        if most.is_zero() {
            return Err(Invalid::new("max_wait", "zero lets no retry wait; use `max_retries(0)` for no retries"));
        }
        self.settings.policy.max_wait = most;
        Ok(self)
    }

    /// Sets how long a call waits for refusals of ours, all of them together. Default 60 s; zero waits for none.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.settings.policy.patience = patience;
        self
    }

    /// Sets the delays between attempts. Default [`Backoff::default`].
    pub fn schedule<T: Schedule>(self, schedule: T) -> RetryLayer<H, T> {
        let Settings { policy, sink } = self.settings;
        let Policy { max_retries, keep_last, max_wait, patience, budget, rng, .. } = policy;
        let policy = Policy { max_retries, keep_last, max_wait, patience, schedule, budget, rng };
        RetryLayer { settings: Settings { policy, sink }, shape: self.shape }
    }

    /// Shares a budget with every other layer that was handed the same one.
    pub fn budget(mut self, budget: &Budget) -> Self {
        self.settings.policy.budget = budget.clone();
        self
    }

    /// Draws jitter from a generator of this seed, so that a run can be repeated.
    pub fn seed(self, seed: u64) -> Self {
        self.rng(&Rng::seeded(seed))
    }

    /// Draws jitter from this generator. Default: one of the layer's own.
    pub fn rng(mut self, rng: &Rng) -> Self {
        self.settings.policy.rng = rng.clone();
        self
    }

    /// Tells [`What::Retrying`](crate::What::Retrying) and [`What::GaveUp`](crate::What::GaveUp) to `sink`. A failure that does not
    /// know its route is named after that of the sink.
    pub fn sink(mut self, sink: Sink) -> Self {
        self.settings.sink = Some(sink);
        self
    }

    /// Sets how requests and responses are seen. Default [`Bare`]: any request, without a context.
    pub fn shape<T>(self, shape: T) -> RetryLayer<T, P> {
        RetryLayer { settings: self.settings, shape }
    }
}

impl<S, H: Clone, P: Clone> Layer<S> for RetryLayer<H, P> {
    type Service = Retry<S, H, P>;

    fn layer(&self, inner: S) -> Self::Service {
        Retry::new(inner, Arc::new(self.settings.clone()), self.shape.clone())
    }
}
