use crate::{AsIs, Both, Gate, Model};
use std::{fmt, sync::Arc};

/// A service, and what failover must know of it.
///
/// ```
/// use seawall::{Gate, failover::Route};
///
/// let gate = Gate::new();
/// let route = Route::new("a service").name("eu").gate(&gate).map(|prompt: String| prompt + "!");
/// assert_eq!(route.facts().name(), Some("eu"));
/// ```
#[derive(Clone)]
pub struct Route<S, M = AsIs> {
    pub(super) service: S,
    pub(super) map: M,
    pub(super) facts: Facts,
}

/// What failover knows of a route beside its service.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub(super) name: Option<Arc<str>>,
    pub(super) gate: Gate,
    pub(super) larger: bool,
}

impl Facts {
    /// The name of the route: the given one, or its number among the others, from 1; `None` before it is one of them.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Its gate.
    #[must_use]
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Whether it is asked after a context overflow.
    #[must_use]
    pub fn is_larger(&self) -> bool {
        self.larger
    }

    /// A name for events and trails.
    pub(crate) fn label(&self) -> &Arc<str> {
        self.name.as_ref().expect("a route is numbered when it joins others")
    }

    /// Numbers the route where nobody named it.
    pub(super) fn numbered(mut self, position: usize) -> Self {
        self.name.get_or_insert_with(|| (position + 1).to_string().into());
        self
    }
}

impl<S> Route<S> {
    /// A route with an open gate of its own, which gets requests as they are.
    pub fn new(service: S) -> Self {
        Self { service, map: AsIs, facts: Facts::default() }
    }
}

impl<S, M> Route<S, M> {
    /// Names the route, in events and trails. Default: its number among the others, from 1.
    #[must_use]
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.facts.name = Some(name.into());
        self
    }

    /// Hands over the gate that the circuit breaker of this route writes. Default: one that is always open.
    #[must_use]
    pub fn gate(mut self, gate: &Gate) -> Self {
        self.facts.gate = gate.clone();
        self
    }

    /// Asks this route also after a context overflow, for which no other route is asked. In its turn it is asked like any.
    #[must_use]
    pub fn larger(mut self) -> Self {
        self.facts.larger = true;
        self
    }

    /// Changes the requests of this route, by any [`Map`](crate::Map), after the maps set before. Where a failover outside of a
    /// [`Stack`](crate::Stack) is asked with a [`Call`](crate::Call), that is `InCall(|request: MyRequest| …)`.
    #[must_use]
    pub fn map<N>(self, map: N) -> Route<S, Both<M, N>> {
        Route { service: self.service, map: Both(self.map, map), facts: self.facts }
    }

    /// Asks another model on this route: [`map`](Self::map) with [`Model`].
    #[must_use]
    pub fn model(self, name: impl Into<Arc<str>>) -> Route<S, Both<M, Model>> {
        self.map(Model::named(name))
    }

    /// What failover knows of it.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// For who puts layers around the service.
    pub(crate) fn into_parts(self) -> (S, M, Facts) {
        (self.service, self.map, self.facts)
    }

    /// Undoes [`into_parts`](Self::into_parts).
    pub(crate) fn from_parts(service: S, map: M, facts: Facts) -> Self {
        Self { service, map, facts }
    }
}

impl<S: fmt::Debug, M> fmt::Debug for Route<S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Facts { name, larger, .. } = &self.facts;
        let mut shown = f.debug_struct("Route");
        shown.field("name", name).field("larger", larger).field("service", &self.service).finish_non_exhaustive()
    }
}
