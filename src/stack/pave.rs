use super::{Leaf, Order, Paved, Settings, Several, Stack};
use crate::{
    InCall, Invalid, Sink,
    failover::{Facts, Failover, List, One, Route, Routes, Then},
    observe::{self, ObserveLayer},
};
use tower::Layer;

/// Routes that a builder puts layers around: those of [`failover`](crate::failover), or a `Vec` of them.
pub trait Pave<H>: Sized {
    /// The routes with their layers.
    type Paved;

    #[doc(hidden)]
    fn pave(self, plan: &Plan<H>) -> Result<Self::Paved, Invalid>;
}

/// What stands around every route, and around all of them.
#[derive(Debug)]
pub struct Plan<H> {
    settings: Settings,
    shape: H,
    sink: Sink,
    routes: Vec<Facts>,
}

impl<H: Clone> Plan<H> {
    pub(super) fn new(settings: Settings, shape: H, routes: Vec<Facts>) -> Result<Self, Invalid> {
        settings.check(&routes)?;
        let telemetry = observe::telemetry_of(settings.operation());
        let sink = match &settings.sink {
            Some(listener) => telemetry.and(listener),
            None => telemetry,
        };
        Ok(Self { settings, shape, sink, routes })
    }

    /// Around the service of one route, from the inside out.
    pub(super) fn around_service<S>(&self, service: S, facts: &Facts) -> Result<Paved<S, H>, Invalid> {
        let (settings, shape) = (&self.settings, InCall(self.shape.clone()));
        let sink = self.sink.route(facts.label().clone());
        let attempt = ObserveLayer::attempt().route(facts.label().clone()).sink(sink.clone());
        let attempt = attempt.operation_name(settings.operation());

        let service = Leaf::new(service, self.shape.clone(), sink.clone());
        let service = named("timeout", settings.timeout(&sink))?.shape(shape.clone()).layer(service);
        let service = attempt.shape(shape.clone()).layer(service);
        let service =
            named("circuit_breaker", settings.breaker(facts.gate(), &sink))?.shape(shape.clone()).layer(service);
        let service = named("concurrency_limit", settings.concurrency(&sink))?.shape(shape.clone()).layer(service);
        let service = settings.recovery(&sink).shape(shape.clone()).layer(service);
        Ok(Paved(named("retry", settings.retry(&sink))?.shape(shape).layer(service)))
    }

    /// Around several routes, each with its layers: what switches between them.
    pub(super) fn around_routes<R>(&self, routes: R) -> Result<Several<R, H>, Invalid> {
        let shape = InCall(self.shape.clone());
        let (routes, policy) = (InCall(routes), named("failover", self.settings.failover())?);
        let failover = Failover::of(routes, policy, shape.clone()).sink(self.sink.clone());
        Ok(Several(named("retry", self.settings.next_rounds(&self.sink))?.shape(shape).layer(failover)))
    }

    /// Around all of it: one operation, with its deadline.
    pub(super) fn around_all<R>(self, inner: R) -> Result<Stack<R, H>, Invalid> {
        let (sink, shape) = (&self.sink, InCall(self.shape.clone()));
        let inner = named("timeout", self.settings.total(sink))?.shape(shape.clone()).layer(inner);
        let inner = ObserveLayer::operation()
            .operation_name(self.settings.operation())
            .sink(sink.clone())
            .shape(shape)
            .layer(inner);
        let names = self.routes.iter().map(|facts| facts.label().clone()).collect();
        let sends = self.settings.sends;
        Ok(Stack::new(inner, Order::new(self.settings, names), self.shape, sends))
    }

    fn around_route<S, M>(&self, route: Route<S, M>) -> Result<Route<Paved<S, H>, M>, Invalid> {
        let (service, map, facts) = route.into_parts();
        Ok(Route::from_parts(self.around_service(service, &facts)?, map, facts))
    }
}

fn named<T>(layer: &'static str, made: Result<T, Invalid>) -> Result<T, Invalid> {
    made.map_err(|invalid| invalid.of_layer(layer))
}

impl<S, M, H: Clone> Pave<H> for One<S, M> {
    type Paved = One<Paved<S, H>, M>;

    fn pave(self, plan: &Plan<H>) -> Result<Self::Paved, Invalid> {
        Ok(One::new(plan.around_route(self.into_route())?))
    }
}

impl<R: Pave<H, Paved: Routes> + Routes, S, M, H: Clone> Pave<H> for Then<R, S, M> {
    type Paved = Then<R::Paved, Paved<S, H>, M>;

    fn pave(self, plan: &Plan<H>) -> Result<Self::Paved, Invalid> {
        let (routes, last) = self.into_parts();
        Ok(Then::new(routes.pave(plan)?, plan.around_route(last)?))
    }
}

impl<S, M, H: Clone> Pave<H> for Vec<Route<S, M>> {
    type Paved = List<Paved<S, H>, M>;

    fn pave(self, plan: &Plan<H>) -> Result<Self::Paved, Invalid> {
        List::new(self.into_iter().map(|route| plan.around_route(route)).collect::<Result<_, _>>()?)
    }
}
