use super::{ConcurrencyLimit, permit::Permits};
use crate::{Bare, Invalid, Sink};
use tower::Layer;

/// Makes services that let so many calls through at once, all of them together.
///
/// See the [module's docs](super) for what it counts, and how a call waits.
///
/// ```
/// use seawall::{Http, concurrency_limit::ConcurrencyLimitLayer};
///
/// let layer = ConcurrencyLimitLayer::new(8)?.shape(Http);
/// # Ok::<(), seawall::Invalid>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a layer does nothing until it wraps a service"]
pub struct ConcurrencyLimitLayer<H = Bare> {
    permits: Permits,
    sink: Option<Sink>,
    shape: H,
}

impl ConcurrencyLimitLayer {
    /// Lets at most so many calls through at once. There is no default: it is what your account at the provider allows.
    ///
    /// # Errors
    /// Refuses zero.
    pub fn new(most: usize) -> Result<Self, Invalid> {
        Ok(Self { permits: Permits::new(most)?, sink: None, shape: Bare })
    }

    /// Lets every call through, and leaves nothing in its answer: for a place where a limit may be set or not.
    pub fn unlimited() -> Self {
        Self { permits: Permits::unlimited(), sink: None, shape: Bare }
    }
}

impl<H> ConcurrencyLimitLayer<H> {
    /// Tells [`What::PermitTaken`](crate::What::PermitTaken), [`What::PermitReturned`](crate::What::PermitReturned),
    /// [`What::QueueEntered`](crate::What::QueueEntered) and [`What::QueueLeft`](crate::What::QueueLeft) to `sink`. Default: nobody;
    /// and nothing without a limit.
    pub fn sink(mut self, sink: Sink) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Sets how it sees requests and answers. Default [`Bare`], whose permits are free with the head of an answer.
    pub fn shape<T>(self, shape: T) -> ConcurrencyLimitLayer<T> {
        ConcurrencyLimitLayer { permits: self.permits, sink: self.sink, shape }
    }
}

impl<S, H: Clone> Layer<S> for ConcurrencyLimitLayer<H> {
    type Service = ConcurrencyLimit<S, H>;

    fn layer(&self, inner: S) -> Self::Service {
        ConcurrencyLimit::new(inner, self.permits.clone(), self.sink.clone(), self.shape.clone())
    }
}
