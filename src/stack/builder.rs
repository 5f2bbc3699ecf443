//! What a builder can be told of the whole stack; `phases.rs` has what it is told of streams, `routes.rs` of its routes, and `build`.
use super::Settings;
use crate::{
    Bare, KeyBy, Rng, Sink,
    circuit_breaker::Window,
    retry::{Backoff, Budget},
};
use std::time::Duration;

/// Builds a [`Stack`](super::Stack), of one route or several. What is not set has the default of its layer.
///
/// The methods that set something of a route, from `name` to `larger`, act on the route named last; all others on every
/// route alike.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct Builder<R, H = Bare> {
    pub(super) routes: R,
    pub(super) shape: H,
    pub(super) settings: Settings,
}

impl<R, H> Builder<R, H> {
    pub(super) fn new(routes: R, shape: H) -> Self {
        Self { routes, shape, settings: Settings::default() }
    }

    /// Gives a call so long in all, with its retries and waits. Default: no limit but that of a request's own context.
    pub fn deadline(mut self, total: Duration) -> Self {
        self.settings.deadline = Some(total);
        self
    }

    /// Caps the requests that one call may send, nested stacks and retries included, whatever context it comes with.
    /// Default: what its context says, which is 6 where nobody said otherwise.
    pub fn sends(mut self, most: u32) -> Self {
        self.settings.sends = Some(most);
        self
    }

    /// Sets how often a failed attempt on one route is followed by another. Default 2; beside other open routes
    /// [fewer](crate::retry).
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.settings.max_retries = Some(retries);
        self
    }

    /// Sets the longest wait that is sat out, told or scheduled; a longer one ends the call at once. Default 60 s.
    pub fn max_wait(mut self, most: Duration) -> Self {
        self.settings.max_wait = Some(most);
        self
    }

    /// Sets the delays between attempts that nobody told to wait. Default: a random part of 1 s, then of 2 s, up to 60 s.
    ///
    /// Another [`Schedule`](crate::retry::Schedule) goes into a [`RetryLayer`](crate::retry::RetryLayer) of your own, in a plain `ServiceBuilder`.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.settings.backoff = Some(backoff);
        self
    }

    /// Shares one retry budget among the routes, and with other stacks that ask the same provider. Default: one a route.
    pub fn budget(mut self, budget: &Budget) -> Self {
        self.settings.budget = Some(budget.clone());
        self
    }

    /// Seeds all chance, so that a run can be replayed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.rng = Some(Rng::seeded(seed));
        self
    }

    /// Limits the wait for a whole reply. Default 600 s: nothing comes before the last word is written. The first token of a stream
    /// has as long, where [`first_token`](Self::first_token) does not say otherwise.
    pub fn whole(mut self, most: Duration) -> Self {
        self.settings.whole = Some(most);
        self
    }

    /// Sets what opens the circuit of a route. Default [`Window::default`].
    ///
    /// Another [`Policy`](crate::circuit_breaker::Policy) goes into a
    /// [`CircuitBreakerLayer`](crate::circuit_breaker::CircuitBreakerLayer) of your own, in a plain `ServiceBuilder`.
    pub fn circuit(mut self, window: Window) -> Self {
        self.settings.window = Some(window);
        self
    }

    /// Sets for how long a circuit opens: `base` at first, doubling while its probes fail, `cap` at most. Default 5 s and 60 s.
    pub fn open_for(mut self, base: Duration, cap: Duration) -> Self {
        self.settings.open_for = Some((base, cap));
        self
    }

    /// Sets how many probes at once a circuit lets through when its time is over. Default 1.
    pub fn probes(mut self, probes: u16) -> Self {
        self.settings.probes = Some(probes);
        self
    }

    /// Lets so many calls at once through each route, until their answers are over. Default: no limit.
    pub fn concurrency(mut self, most: usize) -> Self {
        self.settings.concurrency = Some(most);
        self
    }

    /// Tells circuits apart by what a closure says of a request. Default: by the model, of a chat; else one a route.
    pub fn key_by<Req, F: Fn(&Req) -> Option<&str>>(self, key: F) -> Builder<R, KeyBy<H, F>> {
        Builder { routes: self.routes, shape: KeyBy::new(self.shape, key), settings: self.settings }
    }

    /// Names what meters and traces see of it (`gen_ai.operation.name`): `embeddings`, say. Default `chat`.
    pub fn operation_name(mut self, name: &'static str) -> Self {
        self.settings.operation = Some(name);
        self
    }

    /// Tells every layer's events to `sink`, in place of an earlier one. Meters and traces have theirs besides: see
    /// [`observe`](crate::observe).
    pub fn sink(mut self, sink: Sink) -> Self {
        self.settings.sink = Some(sink);
        self
    }
}
