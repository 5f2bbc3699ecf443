//! What a builder can be told of its routes, and `build`, which differs by how many there are.
use super::{Builder, Pave, Paved, Plan, Several, Stack};
use crate::{
    Both, Gate, Invalid, Model,
    failover::{List, On, One, Policy, Route, Routes, Then},
};
use std::{sync::Arc, time::Duration};

impl<R, H> Builder<R, H> {
    fn with_routes<T>(self, routes: impl FnOnce(R) -> T) -> Builder<T, H> {
        Builder { routes: routes(self.routes), shape: self.shape, settings: self.settings }
    }

    fn with_failover(mut self, policy: impl FnOnce(Policy) -> Policy) -> Self {
        self.settings.failover = policy(self.settings.failover);
        self
    }
}

impl<S, M, H> Builder<One<S, M>, H> {
    /// Names the route, in events, meters and trails. Default: its number, from 1.
    pub fn name(self, name: impl Into<Arc<str>>) -> Self {
        self.with_routes(|routes| routes.change(|route| route.name(name)))
    }

    /// Hands over the gate of the route: to read its circuit, to move it by hand, to share a quota. Default: its own.
    pub fn gate(self, gate: &Gate) -> Self {
        self.with_routes(|routes| routes.change(|route| route.gate(gate)))
    }

    /// Changes the requests of the route, by any [`Map`](crate::Map) of them, after the maps set before.
    pub fn map<N>(self, map: N) -> Builder<One<S, Both<M, N>>, H> {
        self.with_routes(|routes| routes.change(|route| route.map(map)))
    }

    /// Asks another model on the route: [`map`](Self::map) with [`Model`].
    pub fn model(self, name: impl Into<Arc<str>>) -> Builder<One<S, Both<M, Model>>, H> {
        self.map(Model::named(name))
    }

    /// Adds the route that is asked next.
    pub fn then<T>(self, service: T) -> Builder<Then<One<S, M>, T>, H> {
        self.with_routes(|routes| Then::new(routes, Route::new(service)))
    }
}

impl<R: Routes, S, M, H> Builder<Then<R, S, M>, H> {
    /// Names the route, in events, meters and trails. Default: its number, from 1.
    pub fn name(self, name: impl Into<Arc<str>>) -> Self {
        self.with_routes(|routes| routes.change(|route| route.name(name)))
    }

    /// Hands over the gate of the route: to read its circuit, to move it by hand, to share a quota. Default: its own.
    pub fn gate(self, gate: &Gate) -> Self {
        self.with_routes(|routes| routes.change(|route| route.gate(gate)))
    }

    /// Changes the requests of the route, by any [`Map`](crate::Map) of them, after the maps set before.
    pub fn map<N>(self, map: N) -> Builder<Then<R, S, Both<M, N>>, H> {
        self.with_routes(|routes| routes.change(|route| route.map(map)))
    }

    /// Asks another model on the route: [`map`](Self::map) with [`Model`].
    pub fn model(self, name: impl Into<Arc<str>>) -> Builder<Then<R, S, Both<M, Model>>, H> {
        self.map(Model::named(name))
    }

    /// Asks the route also after a context overflow, for which no other is asked. In its turn it is asked like any.
    pub fn larger(self) -> Self {
        self.with_routes(|routes| routes.change(Route::larger))
    }

    /// Adds the route that is asked next. More than 64 do not compile.
    pub fn then<T>(self, service: T) -> Builder<Then<Then<R, S, M>, T>, H> {
        self.with_routes(|routes| Then::new(routes, Route::new(service)))
    }
}

/// What only several routes have: [`Then`], or a list.
#[diagnostic::on_unimplemented(
    message = "one route alone has nowhere to switch to",
    label = "add another route with `then` before this"
)]
pub trait Many {}

impl<R, S, M> Many for Then<R, S, M> {}

impl<S, M> Many for Vec<Route<S, M>> {}

// The bound is one of each method, as rustc shows the words of `Many` for no bound of an `impl`.
impl<R, H> Builder<R, H> {
    /// Switches after a rate limit, and an overload that came as a 429. Default: not, as it moves load to where nobody may
    /// have asked for it.
    pub fn on_429(self) -> Self
    where
        R: Many,
    {
        self.with_failover(Policy::on_429)
    }

    /// Switches after these kinds too.
    pub fn on(self, kinds: impl IntoIterator<Item = On>) -> Self
    where
        R: Many,
    {
        self.with_failover(|policy| policy.on(kinds))
    }

    /// Switches after overload, server errors, timeouts and transport failures: see [`Policy::on_failure`].
    pub fn on_failure(self) -> Self
    where
        R: Many,
    {
        self.with_failover(Policy::on_failure)
    }

    /// Sets the longest wait inside a route that is better than a switch. Default zero: a switch takes no time.
    pub fn wait_at_most(self, wait: Duration) -> Self
    where
        R: Many,
    {
        self.with_failover(|policy| policy.wait_at_most(wait))
    }

    /// Sets how long a route may take to be ready before it is passed by. Default 1 s.
    pub fn ready_within(mut self, limit: Duration) -> Self
    where
        R: Many,
    {
        self.settings.ready_within = Some(limit);
        self
    }

    /// Asks all routes again, so often in all, when none of them answered: waits for the one that opens first, or by the
    /// backoff. Default 1: what every route failed at fails.
    pub fn rounds(mut self, rounds: u32) -> Self
    where
        R: Many,
    {
        self.settings.rounds = Some(rounds);
        self
    }
}

impl<S, H: Clone> Builder<One<S>, H> {
    /// Builds the stack.
    ///
    /// # Errors
    /// A setting that makes no sense, such as a limit of zero, or that cannot take effect beside another one, such as
    /// more retries than sends. It names the layer, the setting, and what to change.
    pub fn build(self) -> Result<Stack<Paved<S, H>, H>, Invalid> {
        let plan = Plan::new(self.settings, self.shape, vec![self.routes.facts(0).clone()])?;
        let (service, _, facts) = self.routes.into_route().into_parts();
        let route = plan.around_service(service, &facts)?;
        plan.around_all(route)
    }
}

/// One route with a map: a failover with nowhere to go, as that is what maps.
impl<S, M, N, H: Clone> Builder<One<S, Both<M, N>>, H> {
    /// Builds the stack.
    ///
    /// # Errors
    /// As with several routes.
    pub fn build(self) -> Result<Stack<Several<One<Paved<S, H>, Both<M, N>>, H>, H>, Invalid> {
        self.build_several()
    }
}

impl<R: Pave<H, Paved: Routes> + Routes, S, M, H: Clone> Builder<Then<R, S, M>, H> {
    /// Builds the stack.
    ///
    /// # Errors
    /// A setting that makes no sense, such as a limit of zero, or that cannot take effect beside another one, such as
    /// more retries than sends. It names the layer, the setting, and what to change.
    pub fn build(self) -> Result<Stack<Several<Then<R::Paved, Paved<S, H>, M>, H>, H>, Invalid> {
        self.build_several()
    }
}

impl<R: Pave<H> + Routes, H: Clone> Builder<R, H> {
    fn build_several(self) -> Result<Stack<Several<R::Paved, H>, H>, Invalid> {
        let facts = (0..self.routes.count()).map(|index| self.routes.facts(index).clone()).collect();
        let plan = Plan::new(self.settings, self.shape, facts)?;
        let routes = plan.around_routes(self.routes.pave(&plan)?)?;
        plan.around_all(routes)
    }
}

impl<S, M, H: Clone> Builder<Vec<Route<S, M>>, H> {
    /// Builds the stack.
    ///
    /// # Errors
    /// No route, or more than 64; a setting that makes no sense, such as a limit of zero, or that cannot take effect beside
    /// another one, such as a switch with one route. It names the layer, the setting, and what to change.
    pub fn build(self) -> Result<Stack<Several<List<Paved<S, H>, M>, H>, H>, Invalid> {
        let routes = List::numbered(self.routes).map_err(|invalid| invalid.of_layer("failover"))?;
        let facts = routes.iter().map(|route| route.facts().clone()).collect();
        let plan = Plan::new(self.settings, self.shape, facts)?;
        let routes = plan.around_routes(routes.pave(&plan)?)?;
        plan.around_all(routes)
    }
}
