use super::{
    Observe,
    watch::{Level, Watch},
};
use crate::{Bare, Sink};
use std::sync::Arc;
use tower::Layer;

/// Watches calls: a span, and one event at the end of each. See the [module's docs](super) for an example.
///
/// Clones of a layer, and the services that it makes, share their 64 [keys](crate::Shape::key); requests with other keys are
/// told as `other`, so that no meter grows without bound.
#[derive(Clone, Debug)]
#[must_use = "a layer does nothing until it wraps a service"]
pub struct ObserveLayer<H = Bare> {
    watch: Watch,
    shape: H,
}

impl ObserveLayer {
    /// Watches whole calls, whatever is sent for them: goes outside everything else.
    pub fn operation() -> Self {
        Self { watch: Watch::new(Level::Operation), shape: Bare }
    }

    /// Watches single sends: goes inside retries and limits, around the attempt's timeout and the client.
    ///
    /// What fails below without being sent, such as a refusal, is no attempt, and is not told.
    pub fn attempt() -> Self {
        Self { watch: Watch::new(Level::Attempt), shape: Bare }
    }
}

impl<H> ObserveLayer<H> {
    /// Tells [`What::OperationEnded`](crate::What::OperationEnded) or [`What::AttemptEnded`](crate::What::AttemptEnded) to
    /// `sink`. Default: nobody; spans are made all the same.
    pub fn sink(mut self, sink: Sink) -> Self {
        self.watch.sink = Some(sink);
        self
    }

    /// Names the route: in the span, in the events, and in [errors](crate::Error::route) that know none yet. Default: no name.
    pub fn route(mut self, name: impl Into<Arc<str>>) -> Self {
        self.watch.route = Some(name.into());
        self
    }

    /// Sets what the span calls the operation (`gen_ai.operation.name`). Default `chat`.
    ///
    /// The meters have theirs from [`telemetry_of`](super::telemetry_of).
    pub fn operation_name(mut self, name: &'static str) -> Self {
        self.watch.name = name;
        self
    }

    /// Sets how it sees requests and answers. Default [`Bare`], to which every answer is over with its head.
    pub fn shape<T>(self, shape: T) -> ObserveLayer<T> {
        ObserveLayer { watch: self.watch, shape }
    }
}

impl<S, H: Clone> Layer<S> for ObserveLayer<H> {
    type Service = Observe<S, H>;

    fn layer(&self, inner: S) -> Self::Service {
        Observe::new(inner, Arc::new(self.watch.clone().routed()), self.shape.clone())
    }
}
