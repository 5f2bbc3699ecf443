use super::{Permit, ResponseFuture, patience::Patience, permit::Permits};
use crate::{Bare, Ending, Error, Shape, Sink, time};
use std::task::{Context as Cx, Poll};
use tower::Service;

/// Lets so many calls through at once. Made by [`ConcurrencyLimitLayer`](super::ConcurrencyLimitLayer).
#[derive(Clone, Debug)]
pub struct ConcurrencyLimit<S, H = Bare> {
    inner: S,
    permits: Permits,
    sink: Option<Sink>,
    shape: H,
}

impl<S, H> ConcurrencyLimit<S, H> {
    pub(super) fn new(inner: S, permits: Permits, sink: Option<Sink>, shape: H) -> Self {
        Self { inner, permits, sink, shape }
    }
}

impl<S, Req, H> Service<Req> for ConcurrencyLimit<S, H>
where
    S: Service<Req, Error = Error> + Clone,
    H: Shape<Req> + Ending<S::Response, Permit> + Clone,
{
    type Response = H::Response;
    type Error = Error;
    type Future = ResponseFuture<S, Req, S::Future, H>;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let shape = self.shape.clone();
        let line = match self.permits.take(self.sink.as_ref()) {
            Ok(permit) => return ResponseFuture::calling(self.inner.call(request), permit, shape),
            Err(line) => line,
        };
        // Gives the readiness back: what waits here must not keep others from what they may have.
        self.inner = self.inner.clone();
        let now = time::now();
        let patience = Patience::of(shape.context(&request).as_ref(), now);
        if patience.is_over(now) {
            return ResponseFuture::refused(patience.refusal(now), shape);
        }
        ResponseFuture::waiting(self.inner.clone(), request, line, patience, shape)
    }
}
