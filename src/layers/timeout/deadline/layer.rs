use super::Deadline;
use crate::{Bare, Invalid, Sink, layers::timeout::timer::limit};
use std::time::Duration;
use tower::Layer;

/// Ends a call that takes too long in all, its retries, waits and queues included.
///
/// The time counts from `call` until the future resolves; the body of a response and the stream of a reply may go on.
/// Where the shape carries a [`Context`](crate::Context), every layer inside keeps the deadline as well, and a deadline
/// that a request brings holds if it is the earlier one. Without one, nobody within knows of the deadline, and the error
/// of a call that was cut tells one send, however many there were.
///
/// See the [module](crate::timeout) for an example.
#[derive(Clone, Debug)]
#[must_use = "a layer does nothing until it wraps a service"]
pub struct DeadlineLayer<H = Bare> {
    total: Option<Duration>,
    sink: Option<Sink>,
    shape: H,
}

impl DeadlineLayer {
    /// Gives each call so long. There is no default: it is how long a caller of yours is willing to wait.
    ///
    /// # Errors
    /// Refuses zero.
    pub fn new(total: Duration) -> Result<Self, Invalid> {
        Ok(Self { total: Some(limit("deadline", total)?), sink: None, shape: Bare })
    }

    /// Sets no limit of its own, and holds calls to the deadline that their request brings.
    pub fn inherited() -> Self {
        Self { total: None, sink: None, shape: Bare }
    }
}

impl<H> DeadlineLayer<H> {
    /// Tells each call that ran out of time here, as [`What::TimedOut`](crate::What::TimedOut).
    pub fn sink(mut self, sink: Sink) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Sets how it sees requests. Default [`Bare`].
    pub fn shape<T>(self, shape: T) -> DeadlineLayer<T> {
        DeadlineLayer { total: self.total, sink: self.sink, shape }
    }
}

impl<S, H: Clone> Layer<S> for DeadlineLayer<H> {
    type Service = Deadline<S, H>;

    fn layer(&self, inner: S) -> Self::Service {
        Deadline::new(inner, self.total, self.sink.clone(), self.shape.clone())
    }
}
