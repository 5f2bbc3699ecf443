use super::{Recover, Recovery};
use crate::{Bare, Sink};
use tower::Layer;

/// Makes services that read a streamed answer before they show it, where that is asked for.
///
/// See the [module's docs](super) for what becomes of an answer, and when.
#[derive(Clone, Debug)]
#[must_use = "a layer does nothing until it wraps a service"]
pub struct RecoveryLayer<H = Bare> {
    recovery: Recovery,
    sink: Option<Sink>,
    shape: H,
}

impl RecoveryLayer {
    /// Recovers so. It takes a [`shape`](RecoveryLayer::shape) that knows of streams: with [`Bare`] every answer passes as it is.
    pub fn new(recovery: Recovery) -> Self {
        Self { recovery, sink: None, shape: Bare }
    }
}

impl<H> RecoveryLayer<H> {
    /// Tells a deadline that ended an answer on its way, as [`What::TimedOut`](crate::What::TimedOut).
    pub fn sink(mut self, sink: Sink) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Sets how it sees requests and answers. Default [`Bare`], which reads none.
    pub fn shape<T>(self, shape: T) -> RecoveryLayer<T> {
        RecoveryLayer { recovery: self.recovery, sink: self.sink, shape }
    }
}

impl<S, H: Clone> Layer<S> for RecoveryLayer<H> {
    type Service = Recover<S, H>;

    fn layer(&self, inner: S) -> Self::Service {
        Recover::new(inner, self.recovery, self.sink.clone(), self.shape.clone())
    }
}
