use super::{AttemptFuture, Idle, layer::Limits};
use crate::{Bare, Context, Ending, Error, Phase, Shape, Sink, layers::timeout::timer::Timer};
use std::task::{Context as Cx, Poll};
use tower::Service;

/// Limits one send by phase. Made by [`AttemptTimeoutLayer`](super::AttemptTimeoutLayer).
#[derive(Clone, Debug)]
pub struct AttemptTimeout<S, H = Bare> {
    inner: S,
    limits: Limits,
    sink: Option<Sink>,
    shape: H,
}

impl<S, H> AttemptTimeout<S, H> {
    pub(super) fn new(inner: S, limits: Limits, sink: Option<Sink>, shape: H) -> Self {
        Self { inner, limits, sink, shape }
    }

    /// The timer of the head: the limit, or the deadline of the call where that comes first.
    fn head<Req>(&self, request: &Req) -> Timer
    where
        H: Shape<Req>,
    {
        let limit = match self.shape.streams(request) {
            true => self.limits.stream,
            false => self.limits.whole,
        };
        let context = self.shape.context(request).unwrap_or_default();
        match context.deadline.zip(Context::left(&context)) {
            Some((deadline, left)) if left <= limit => Timer::at(deadline, left, self.sink.clone()),
            _ => Timer::after(Phase::FirstByte, limit, self.sink.clone()),
        }
    }
}

impl<S, Req, H> Service<Req> for AttemptTimeout<S, H>
where
    S: Service<Req, Error = Error> + Clone,
    H: Shape<Req> + Ending<S::Response, Idle> + Clone,
{
    type Response = H::Response;
    type Error = Error;
    type Future = AttemptFuture<S::Future, H>;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let head = self.head(&request);
        let idle = Idle::new(self.limits.idle, self.sink.clone());
        if head.is_past() {
            // Gives back what the ready instance holds; a fresh clone holds nothing.
            self.inner = self.inner.clone();
            return AttemptFuture::refused(head, idle, self.shape.clone());
        }
        AttemptFuture::calling(self.inner.call(request), head, idle, self.shape.clone())
    }
}
