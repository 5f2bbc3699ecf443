use crate::{Call, Error, Shape, Sink};
use std::task::{Context as Cx, Poll};
use tower::Service;

/// Innermost: unwraps a [`Call`], and hands its context and the listener on where the request itself can carry them.
#[derive(Clone, Debug)]
pub struct Leaf<S, H> {
    inner: S,
    shape: H,
    sink: Sink,
}

impl<S, H> Leaf<S, H> {
    pub(super) fn new(inner: S, shape: H, sink: Sink) -> Self {
        Self { inner, shape, sink }
    }
}

impl<S, Req, H> Service<Call<Req>> for Leaf<S, H>
where
    S: Service<Req, Error = Error>,
    H: Shape<Req>,
{
    type Response = S::Response;
    type Error = Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut call: Call<Req>) -> S::Future {
        self.shape.set_context(&mut call.request, call.context);
        self.shape.set_sink(&mut call.request, &self.sink);
        self.inner.call(call.request)
    }
}
