use super::AttemptTimeout;
use crate::{Bare, Invalid, Sink, layers::timeout::timer::limit};
use std::time::Duration;
use tower::Layer;

/// Limits one send by phase: until its head, then between two signs of life.
///
/// An attempt whose call has less time left than the limit gets no more than that, until the head is there. What rides
/// on afterwards is limited by silence alone, so a long answer is not cut at the deadline. Where a request has a
/// [`Context`](crate::Context), what stands within is told of the limit as its deadline.
///
/// It ends with an [`Error`](crate::Error) of [`Kind::Timeout`](crate::Kind::Timeout), whose
/// [`phase`](crate::Error::phase) says which limit it was. See the [module](crate::timeout) for an example.
#[derive(Clone, Debug)]
#[must_use = "a layer does nothing until it wraps a service"]
pub struct AttemptTimeoutLayer<H = Bare> {
    pub(super) limits: Limits,
    sink: Option<Sink>,
    shape: H,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) stream: Duration,
    pub(super) first_token: Option<Duration>,
    pub(super) whole: Duration,
    pub(super) idle: Duration,
}

impl AttemptTimeoutLayer {
    /// With the default limits: 60 s to the first byte of a stream, 600 s to that of a whole reply, 60 s idle.
    pub fn new() -> Self {
        let seconds = Duration::from_secs;
        let limits = Limits { stream: seconds(60), first_token: None, whole: seconds(600), idle: seconds(60) };
        Self { limits, sink: None, shape: Bare }
    }
}

impl Default for AttemptTimeoutLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<H> AttemptTimeoutLayer<H> {
    /// Limits the time to the head of a stream. Default 60 s: a server that streams says so soon, or hangs.
    ///
    /// To [`Bare`] nothing is a stream; take [`Http`](crate::Http). The reply of a chat is there with its first content: its client
    /// is told of this limit in the [`Context`](crate::Context).
    ///
    /// # Errors
    /// Refuses zero.
    pub fn first_byte(mut self, most: Duration) -> Result<Self, Invalid> {
        self.limits.stream = limit("first_byte", most)?;
        Ok(self)
    }

    /// Limits the time to the first content of a stream, where a response is there with it, as the reply of a chat is. Comments and
    /// pings do not count. Default: that of a whole reply, as models think for long.
    ///
    /// # Errors
    /// Refuses zero.
    pub fn first_token(mut self, most: Duration) -> Result<Self, Invalid> {
        self.limits.first_token = Some(limit("first_token", most)?);
        Ok(self)
    }

    /// Limits the time to the head of a whole reply. Default 600 s: nothing comes before the last word is written.
    ///
    /// # Errors
    /// Refuses zero.
    pub fn whole(mut self, most: Duration) -> Result<Self, Invalid> {
        self.limits.whole = limit("whole", most)?;
        Ok(self)
    }

    /// Limits the silence between two signs of life of an answer, comments and pings included. Default 60 s.
    ///
    /// It counts while somebody waits for the next part: a slow reader is not a silent provider. [`Bare`] lets an answer
    /// go with its head, so there is nothing left to limit; take [`Http`](crate::Http).
    ///
    /// # Errors
    /// Refuses zero.
    pub fn idle(mut self, most: Duration) -> Result<Self, Invalid> {
        self.limits.idle = limit("idle", most)?;
        Ok(self)
    }

    /// Tells each limit that was reached, as [`What::TimedOut`](crate::What::TimedOut).
    pub fn sink(mut self, sink: Sink) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Sets how it sees requests and answers. Default [`Bare`].
    pub fn shape<T>(self, shape: T) -> AttemptTimeoutLayer<T> {
        AttemptTimeoutLayer { limits: self.limits, sink: self.sink, shape }
    }
}

impl<S, H: Clone> Layer<S> for AttemptTimeoutLayer<H> {
    type Service = AttemptTimeout<S, H>;

    fn layer(&self, inner: S) -> Self::Service {
        AttemptTimeout::new(inner, self.limits, self.sink.clone(), self.shape.clone())
    }
}
