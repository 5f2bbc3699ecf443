use super::{Either, Facts, Route};
use crate::{AsIs, Call, InCall, Invalid, Map};
use std::sync::Arc;

/// How many routes a call can tell apart.
const MOST: usize = 64;

/// The routes of a failover, in order: [`One`], [`Then`], [`List`].
///
/// It names no request: whether the routes can serve one is asked of `Service`, and of [`MapRoute`].
pub trait Routes {
    /// What every route can be made into.
    type Service;

    /// How many routes the type itself counts.
    #[doc(hidden)]
    const NAMED: usize;

    /// How many routes there are.
    fn count(&self) -> usize;

    /// What is known of a route.
    fn facts(&self, index: usize) -> &Facts;

    /// The service of a route. Each is asked for once of every clone of the routes, so that nothing is cloned twice.
    fn take(&mut self, index: usize) -> Self::Service;
}

/// Changes a request on its way to one of the routes.
pub trait MapRoute<Req>: Routes {
    /// The request that this route gets.
    fn map(&self, index: usize, request: Req) -> Req;
}

/// The first route of those written one by one.
#[derive(Clone, Debug)]
pub struct One<S, M = AsIs>(Route<Option<S>, M>);

/// Routes, and after them one of another type.
#[derive(Clone, Debug)]
pub struct Then<R, S, M = AsIs>(R, Route<Option<S>, M>);

/// Routes of one type, counted when the program runs. Shared, so that a call clones none but those it asks.
///
/// A future that shares them is `Send` where the service and the map are `Sync`.
#[derive(Debug)]
pub struct List<S, M = AsIs>(Arc<[Route<S, M>]>);

impl<S, M> One<S, M> {
    pub(crate) fn new(route: Route<S, M>) -> Self {
        Self(joined(route, 0))
    }

    pub(crate) fn into_route(self) -> Route<S, M> {
        left(self.0)
    }

    /// Changes the route itself.
    pub(crate) fn change<T, N>(self, change: impl FnOnce(Route<S, M>) -> Route<T, N>) -> One<T, N> {
        One(joined(change(left(self.0)), 0))
    }
}

impl<R: Routes, S, M> Then<R, S, M> {
    pub(crate) fn new(routes: R, route: Route<S, M>) -> Self {
        const { assert!(R::NAMED < MOST, "a failover has at most 64 routes") };
        let position = routes.count();
        Self(routes, joined(route, position))
    }

    pub(crate) fn into_parts(self) -> (R, Route<S, M>) {
        (self.0, left(self.1))
    }

    /// Changes the last route.
    pub(crate) fn change<T, N>(self, change: impl FnOnce(Route<S, M>) -> Route<T, N>) -> Then<R, T, N> {
        Then::new(self.0, change(left(self.1)))
    }
}

impl<S, M> List<S, M> {
    pub(crate) fn new(routes: Vec<Route<S, M>>) -> Result<Self, Invalid> {
        Ok(Self(Self::numbered(routes)?.into()))
    }

    /// The routes of a list, checked, and named where nobody named them.
    pub(crate) fn numbered(routes: Vec<Route<S, M>>) -> Result<Vec<Route<S, M>>, Invalid> {
        match routes.first() {
            None => return Err(Invalid::new("routes", "there are none; give at least one")),
            Some(first) if first.facts.larger => {
                let reason = "has no effect on the first route, which nothing comes before; put a smaller one in front";
                return Err(Invalid::new("larger", reason));
            }
            Some(_) => {}
        }
        if routes.len() > MOST {
            let reason = format!("{} are more than {MOST}; group them in failovers of their own", routes.len());
            return Err(Invalid::new("routes", reason));
        }
        let numbered =
            |(position, route): (usize, Route<S, M>)| Route { facts: route.facts.numbered(position), ..route };
        Ok(routes.into_iter().enumerate().map(numbered).collect())
    }
}

fn joined<S, M>(route: Route<S, M>, position: usize) -> Route<Option<S>, M> {
    Route::from_parts(Some(route.service), route.map, route.facts.numbered(position))
}

fn left<S, M>(route: Route<Option<S>, M>) -> Route<S, M> {
    Route::from_parts(taken(route.service), route.map, route.facts)
}

fn taken<S>(service: Option<S>) -> S {
    service.expect("a route is taken once, by a call, of a clone of its own")
}

impl<S, M> Clone for List<S, M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S, M> Routes for One<S, M> {
    type Service = S;
    const NAMED: usize = 1;

    fn count(&self) -> usize {
        1
    }

    fn facts(&self, _: usize) -> &Facts {
        &self.0.facts
    }

    fn take(&mut self, _: usize) -> S {
        taken(self.0.service.take())
    }
}

impl<S, M: Map<Req>, Req> MapRoute<Req> for One<S, M> {
    fn map(&self, _: usize, request: Req) -> Req {
        self.0.map.map(request)
    }
}

impl<R: Routes, S, M> Routes for Then<R, S, M> {
    type Service = Either<R::Service, S>;
    const NAMED: usize = R::NAMED + 1;

    fn count(&self) -> usize {
        self.0.count() + 1
    }

    fn facts(&self, index: usize) -> &Facts {
        if index < self.0.count() { self.0.facts(index) } else { &self.1.facts }
    }

    fn take(&mut self, index: usize) -> Self::Service {
        if index < self.0.count() {
            Either::First(self.0.take(index))
        } else {
            Either::Second(taken(self.1.service.take()))
        }
    }
}

impl<R: MapRoute<Req>, S, M: Map<Req>, Req> MapRoute<Req> for Then<R, S, M> {
    fn map(&self, index: usize, request: Req) -> Req {
        if index < self.0.count() { self.0.map(index, request) } else { self.1.map.map(request) }
    }
}

impl<S: Clone, M> Routes for List<S, M> {
    type Service = S;
    const NAMED: usize = MOST;

    fn count(&self) -> usize {
        self.0.len()
    }

    fn facts(&self, index: usize) -> &Facts {
        &self.0[index].facts
    }

    fn take(&mut self, index: usize) -> S {
        self.0[index].service.clone()
    }
}

impl<S: Clone, M: Map<Req>, Req> MapRoute<Req> for List<S, M> {
    fn map(&self, index: usize, request: Req) -> Req {
        self.0[index].map.map(request)
    }
}

/// Routes that are asked with requests in a [`Call`], and map what is in there.
impl<R: Routes> Routes for InCall<R> {
    type Service = R::Service;
    const NAMED: usize = R::NAMED;

    fn count(&self) -> usize {
        self.0.count()
    }

    fn facts(&self, index: usize) -> &Facts {
        self.0.facts(index)
    }

    fn take(&mut self, index: usize) -> Self::Service {
        self.0.take(index)
    }
}

impl<R: MapRoute<Req>, Req> MapRoute<Call<Req>> for InCall<R> {
    fn map(&self, index: usize, call: Call<Req>) -> Call<Req> {
        Call { context: call.context, request: self.0.map(index, call.request) }
    }
}
