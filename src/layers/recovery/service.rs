use super::{Recovery, ResponseFuture, future::Until};
use crate::{Bare, Error, Gather, Note, Shape, Sink};
use std::task::{Context as Cx, Poll};
use tower::Service;

/// Reads a streamed answer before it shows it, where that is asked for. Made by [`RecoveryLayer`](super::RecoveryLayer).
#[derive(Clone, Debug)]
pub struct Recover<S, H = Bare> {
    inner: S,
    recovery: Recovery,
    sink: Option<Sink>,
    shape: H,
}

impl<S, H> Recover<S, H> {
    pub(super) fn new(inner: S, recovery: Recovery, sink: Option<Sink>, shape: H) -> Self {
        Self { inner, recovery, sink, shape }
    }
}

impl<S, Req, H> Service<Req> for Recover<S, H>
where
    S: Service<Req, Error = Error>,
    H: Shape<Req> + Note<S::Response> + Gather<S::Response> + Clone,
{
    type Response = S::Response;
    type Error = Error;
    type Future = ResponseFuture<S::Future, H::Gathering, H>;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        if !self.recovery.is_buffered() {
            return ResponseFuture::passing(self.inner.call(request), self.shape.clone());
        }
        let context = self.shape.context(&request);
        let until = Until::of(context.as_ref(), self.sink.clone());
        ResponseFuture::reading(self.inner.call(request), until, self.shape.clone())
    }
}
