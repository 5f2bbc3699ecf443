use super::{Leaf, Paved, Settings};
use crate::{
    InCall, Invalid, Sink,
    failover::{Facts, List, One, Route, Routes, Then},
    observe::ObserveLayer,
};
use tower::Layer;

/// Routes that a builder can put layers around: those of [`failover`](crate::failover), or a `Vec` of them.
pub trait Pave<H>: Sized {
    /// The routes with their layers.
    type Paved: Routes;

    #[doc(hidden)]
    fn pave(self, plan: &Plan<'_, H>) -> Result<Self::Paved, Invalid>;
}

/// What every route is given.
#[derive(Debug)]
pub struct Plan<'a, H> {
    pub(super) settings: &'a Settings,
    pub(super) shape: &'a H,
    pub(super) sink: &'a Sink,
}

impl<H: Clone> Plan<'_, H> {
    /// Puts one route together, from the inside out.
    pub(super) fn layers<S>(&self, service: S, facts: &Facts) -> Result<Paved<S, H>, Invalid> {
        let (settings, shape) = (self.settings, InCall(self.shape.clone()));
        let sink = self.sink.route(facts.label().clone());
        let attempt = ObserveLayer::attempt().route(facts.label().clone()).sink(sink.clone());

        let service = Leaf::new(service, self.shape.clone());
        let service = settings.timeout(&sink)?.shape(shape.clone()).layer(service);
        let service = attempt.shape(shape.clone()).layer(service);
        let service = settings.concurrency()?.shape(shape.clone()).layer(service);
        let service = settings.breaker(facts.gate(), &sink)?.shape(shape.clone()).layer(service);
        Ok(Paved(settings.retry(&sink)?.shape(shape).layer(service)))
    }

    fn route<S, M>(&self, route: Route<S, M>) -> Result<Route<Paved<S, H>, M>, Invalid> {
        let (service, map, facts) = route.into_parts();
        Ok(Route::from_parts(self.layers(service, &facts)?, map, facts))
    }
}

impl<S, M, H: Clone> Pave<H> for One<S, M> {
    type Paved = One<Paved<S, H>, M>;

    fn pave(self, plan: &Plan<'_, H>) -> Result<Self::Paved, Invalid> {
        Ok(One::new(plan.route(self.into_route())?))
    }
}

impl<R: Pave<H> + Routes, S, M, H: Clone> Pave<H> for Then<R, S, M> {
    type Paved = Then<R::Paved, Paved<S, H>, M>;

    fn pave(self, plan: &Plan<'_, H>) -> Result<Self::Paved, Invalid> {
        let (routes, last) = self.into_parts();
        Ok(Then::new(routes.pave(plan)?, plan.route(last)?))
    }
}

impl<S: Clone, M, H: Clone> Pave<H> for Vec<Route<S, M>> {
    type Paved = List<Paved<S, H>, M>;

    fn pave(self, plan: &Plan<'_, H>) -> Result<Self::Paved, Invalid> {
        List::new(List::new(self)?.try_map(|route| plan.route(route))?)
    }
}
