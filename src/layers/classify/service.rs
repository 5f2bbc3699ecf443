use super::{Judge, ResponseFuture};
use crate::Error;
use std::task::{Context as Cx, Poll};
use tower::Service;

/// Judges what a service answers; made by [`ClassifyLayer`](super::ClassifyLayer).
#[derive(Clone, Debug)]
pub struct Classify<S, J> {
    inner: S,
    judge: J,
}

impl<S, J> Classify<S, J> {
    pub(super) fn new(inner: S, judge: J) -> Self {
        Self { inner, judge }
    }
}

impl<S, Req, J> Service<Req> for Classify<S, J>
where
    S: Service<Req>,
    J: Judge<S::Response, S::Error> + Clone,
{
    type Response = J::Response;
    type Error = Error;
    type Future = ResponseFuture<S::Future, J, J::Reading>;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        // Whatever it is, this call was not sent.
        self.inner.poll_ready(cx).map_err(|error| self.judge.error(error).with_sends(0))
    }

    fn call(&mut self, request: Req) -> Self::Future {
        ResponseFuture::new(self.inner.call(request), self.judge.clone())
    }
}
