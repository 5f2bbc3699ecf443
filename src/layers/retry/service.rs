use super::{Backoff, ResponseFuture, Schedule, layer::Settings, policy::Past};
use crate::{Bare, Context, Error, Kind, Note, Replay};
use std::{
    sync::Arc,
    task::{Context as Cx, Poll},
};
use tower::Service;

/// Retries the calls of the wrapped service. Made by [`RetryLayer`](super::RetryLayer).
#[derive(Clone, Debug)]
pub struct Retry<S, H = Bare, P = Backoff> {
    inner: S,
    settings: Arc<Settings<P>>,
    shape: H,
}

impl<S, H, P> Retry<S, H, P> {
    pub(super) fn new(inner: S, settings: Arc<Settings<P>>, shape: H) -> Self {
        Self { inner, settings, shape }
    }
}

impl<S, Req, H, P> Service<Req> for Retry<S, H, P>
where
    S: Service<Req, Error = Error> + Clone,
    H: Replay<Req> + Note<S::Response> + Clone,
    P: Schedule,
{
    type Response = S::Response;
    type Error = Error;
    type Future = ResponseFuture<S, Req, S::Future, H, P>;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let context = self.shape.context(&request);
        let (settings, shape) = (Arc::clone(&self.settings), self.shape.clone());
        if let Err(refusal) = admit(context.as_ref()) {
            // Gives back what the wrapped service reserved for the call that does not come.
            self.inner = self.inner.clone();
            return ResponseFuture::refused(self.inner.clone(), settings, shape, refusal);
        }
        let again = settings.policy.keep(&self.shape, &request, &Past::default(), context.as_ref());
        let future = self.inner.call(request);
        ResponseFuture::new(self.inner.clone(), settings, shape, again, context, future)
    }
}

/// Whether a call may be sent at all. Reads the clock only where there is a deadline.
pub(super) fn admit(context: Option<&Context>) -> Result<(), Error> {
    let Some(context) = context else { return Ok(()) };
    if context.sends_left == 0 {
        return Err(Error::refusal(Kind::SendsExhausted));
    }
    match context.left() {
        Some(left) if left.is_zero() => Err(Error::refusal(Kind::Deadline)),
        _ => Ok(()),
    }
}
