use super::{Observation, ResponseFuture, watch::Watch};
use crate::{Bare, Ending, Error, Note, Shape};
use std::{
    sync::Arc,
    task::{Context as Cx, Poll},
};
use tower::Service;

/// Watches the calls of the wrapped service. Made by [`ObserveLayer`](super::ObserveLayer).
#[derive(Clone, Debug)]
pub struct Observe<S, H = Bare> {
    inner: S,
    watch: Arc<Watch>,
    shape: H,
}

impl<S, H> Observe<S, H> {
    pub(super) fn new(inner: S, watch: Arc<Watch>, shape: H) -> Self {
        Self { inner, watch, shape }
    }
}

impl<S, Req, H> Service<Req> for Observe<S, H>
where
    S: Service<Req, Error = Error>,
    H: Shape<Req> + Note<S::Response> + Ending<S::Response, Observation> + Clone,
{
    type Response = H::Response;
    type Error = Error;
    type Future = ResponseFuture<S::Future, H>;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let observation = Observation::new(&self.watch, self.shape.key(&request), self.shape.streams(&request));
        // A layer below may send from its `call`, and makes its own span then.
        let future = observation.scope(|| self.inner.call(request));
        ResponseFuture::new(future, observation, self.shape.clone())
    }
}
