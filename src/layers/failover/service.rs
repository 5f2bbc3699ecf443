use super::{List, MapRoute, On, One, Policy, ResponseFuture, Route, Routes, Then};
use crate::{Bare, Both, Error, Gate, Invalid, Model, Note, Replay, Sink};
use std::{
    sync::Arc,
    task::{Context as Cx, Poll},
    time::Duration,
};
use tower::Service;

/// Asks one route after another. See the [module's docs](super) for which, and when.
///
/// The methods that set something of a route, from [`name`](Self::name) to `larger`, act on the route named last.
#[derive(Clone, Debug)]
#[must_use = "services do nothing unless called"]
pub struct Failover<R, H = Bare> {
    routes: R,
    settings: Arc<Settings>,
    shape: H,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) policy: Policy,
    pub(super) sink: Option<Sink>,
}

impl<S> Failover<One<S>> {
    /// Starts with the route that is asked first.
    pub fn new(service: S) -> Self {
        Self::of(One::new(Route::new(service)), Policy::default(), Bare)
    }
}

impl<S, M> Failover<List<S, M>> {
    /// Over routes of one type, in their order, as many as a configuration has.
    ///
    /// # Errors
    /// Refuses none, more than 64, and a first route marked [`larger`](Route::larger), as nothing comes before it.
    pub fn list(routes: Vec<Route<S, M>>) -> Result<Self, Invalid> {
        Ok(Self::of(List::new(routes)?, Policy::default(), Bare))
    }
}

impl<R, H> Failover<R, H> {
    pub(crate) fn of(routes: R, policy: Policy, shape: H) -> Self {
        Self { routes, settings: Arc::new(Settings { policy, sink: None }), shape }
    }

    fn with_routes<T>(self, routes: impl FnOnce(R) -> T) -> Failover<T, H> {
        Failover { routes: routes(self.routes), settings: self.settings, shape: self.shape }
    }

    fn with_policy(mut self, policy: impl FnOnce(Policy) -> Policy) -> Self {
        let settings = Arc::make_mut(&mut self.settings);
        settings.policy = policy(settings.policy);
        self
    }
}

impl<S, M, H> Failover<One<S, M>, H> {
    /// Names the route, in events and trails. Default: its number, from 1.
    pub fn name(self, name: impl Into<Arc<str>>) -> Self {
        self.with_routes(|routes| routes.change(|route| route.name(name)))
    }

    /// Hands over the gate that the circuit breaker of the route writes. Default: one that is always open.
    pub fn gate(self, gate: &Gate) -> Self {
        self.with_routes(|routes| routes.change(|route| route.gate(gate)))
    }

    /// Changes the requests of the route, by any [`Map`](crate::Map), after the maps set before. Requests in a
    /// [`Call`](crate::Call) take `InCall(|request: MyRequest| …)`; a [`Stack`](crate::Stack) adds that itself.
    pub fn map<N>(self, map: N) -> Failover<One<S, Both<M, N>>, H> {
        self.with_routes(|routes| routes.change(|route| route.map(map)))
    }

    /// Asks another model on the route: [`map`](Self::map) with [`Model`].
    pub fn model(self, name: impl Into<Arc<str>>) -> Failover<One<S, Both<M, Model>>, H> {
        self.map(Model::named(name))
    }

    /// Adds the route that is asked next.
    pub fn then<T>(self, service: T) -> Failover<Then<One<S, M>, T>, H> {
        self.with_routes(|routes| Then::new(routes, Route::new(service)))
    }
}

impl<R: Routes, S, M, H> Failover<Then<R, S, M>, H> {
    /// Names the route, in events and trails. Default: its number, from 1.
    pub fn name(self, name: impl Into<Arc<str>>) -> Self {
        self.with_routes(|routes| routes.change(|route| route.name(name)))
    }

    /// Hands over the gate that the circuit breaker of the route writes. Default: one that is always open.
    pub fn gate(self, gate: &Gate) -> Self {
        self.with_routes(|routes| routes.change(|route| route.gate(gate)))
    }

    /// Changes the requests of the route, by any [`Map`](crate::Map), after the maps set before. Requests in a
    /// [`Call`](crate::Call) take `InCall(|request: MyRequest| …)`; a [`Stack`](crate::Stack) adds that itself.
    pub fn map<N>(self, map: N) -> Failover<Then<R, S, Both<M, N>>, H> {
        self.with_routes(|routes| routes.change(|route| route.map(map)))
    }

    /// Asks another model on the route: [`map`](Self::map) with [`Model`].
    pub fn model(self, name: impl Into<Arc<str>>) -> Failover<Then<R, S, Both<M, Model>>, H> {
        self.map(Model::named(name))
    }

    /// Asks the route also after a context overflow, for which no other is asked. In its turn it is asked like any.
    ///
    /// The first route has no such method, as nothing comes before it:
    /// ```compile_fail,E0599
    /// let service = seawall::failover::Failover::new("a").larger().then("b");
    /// ```
    pub fn larger(self) -> Self {
        self.with_routes(|routes| routes.change(Route::larger))
    }

    /// Adds the route that is asked next. More than 64 do not compile:
    /// ```compile_fail,E0080
    /// macro_rules! eight {
    ///     ($to:expr) => { $to.then(()).then(()).then(()).then(()).then(()).then(()).then(()).then(()) };
    /// }
    /// let first = seawall::failover::Failover::new(());
    /// let service = eight!(eight!(eight!(eight!(eight!(eight!(eight!(eight!(first))))))));
    /// ```
    pub fn then<T>(self, service: T) -> Failover<Then<Then<R, S, M>, T>, H> {
        self.with_routes(|routes| Then::new(routes, Route::new(service)))
    }
}

impl<R, H> Failover<R, H> {
    /// Switches after a rate limit, and an overload that came as a 429. Default: not, as it moves load to where nobody
    /// may have asked for it.
    pub fn on_429(self) -> Self {
        self.with_policy(Policy::on_429)
    }

    /// Switches after these kinds too.
    pub fn on(self, kinds: impl IntoIterator<Item = On>) -> Self {
        self.with_policy(|policy| policy.on(kinds))
    }

    /// Switches after overload, server errors, timeouts and transport failures: see [`Policy::on_failure`].
    pub fn on_failure(self) -> Self {
        self.with_policy(Policy::on_failure)
    }

    /// Sets how long a route may take to be ready before it is passed by. Default 1 s.
    ///
    /// # Errors
    /// Refuses zero: many a service is ready a moment after it was asked.
    pub fn ready_within(self, limit: Duration) -> Result<Self, Invalid> {
        let policy = self.settings.policy.ready_within(limit)?;
        Ok(self.with_policy(|_| policy))
    }

    /// Sets the longest wait inside a route that is better than a switch. Default zero, or what the call's own
    /// [context](crate::Context::wait_at_most) says.
    pub fn wait_at_most(self, wait: Duration) -> Self {
        self.with_policy(|policy| policy.wait_at_most(wait))
    }

    /// Tells [`What::Switched`](crate::What::Switched) to `sink`, with the name of the route that is left.
    pub fn sink(mut self, sink: Sink) -> Self {
        Arc::make_mut(&mut self.settings).sink = Some(sink);
        self
    }

    /// Sets how requests and responses are seen. Default [`Bare`]: any request, without a context.
    pub fn shape<T>(self, shape: T) -> Failover<R, T> {
        Failover { routes: self.routes, settings: self.settings, shape }
    }
}

impl<R, Req, H> Service<Req> for Failover<R, H>
where
    R: MapRoute<Req, Service: Service<Req, Error = Error>> + Clone,
    H: Replay<Req> + Note<<R::Service as Service<Req>>::Response> + Clone,
{
    type Response = <R::Service as Service<Req>>::Response;
    type Error = Error;
    type Future = ResponseFuture<R, R::Service, Req, <R::Service as Service<Req>>::Future, H>;

    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Req) -> Self::Future {
        ResponseFuture::new(self.routes.clone(), Arc::clone(&self.settings), self.shape.clone(), request)
    }
}
