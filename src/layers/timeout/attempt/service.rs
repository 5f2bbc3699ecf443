use super::{AttemptFuture, Idle, layer::Limits};
use crate::{Bare, Ending, Error, Phase, Shape, Sink, layers::timeout::timer::Timer, time};
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
    ///
    /// The limit goes down as a deadline too: a whole stack within ends by then, and alone knows what it has sent.
    fn head<Req>(&self, request: &mut Req) -> Timer
    where
        H: Shape<Req>,
    {
        let (streams, shows_head) = (self.shape.streams(request), self.shape.shows_head());
        let (phase, limit) = match (streams, shows_head) {
            (true, true) => (Phase::FirstByte, self.limits.stream),
            (true, false) => (Phase::FirstToken, self.limits.first_token.unwrap_or(self.limits.whole)),
            (false, _) => (Phase::FirstByte, self.limits.whole),
        };
        if streams
            && !shows_head
            && let Some(context) = self.shape.context(request)
        {
            self.shape.set_context(request, context.with_first_byte(self.limits.stream).with_idle(self.limits.idle));
        }
        if let Some(context) = self.shape.context(request) {
            let now = time::now();
            let left = context.deadline.map(|deadline| deadline.saturating_duration_since(now));
            match context.deadline.zip(left) {
                Some((deadline, left)) if left <= limit => return Timer::at(deadline, left, self.sink.clone()),
                _ => self.shape.set_context(request, context.with_attempt_deadline(time::after(now, limit))),
            }
        }
        Timer::after(phase, limit, self.sink.clone())
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

    fn call(&mut self, mut request: Req) -> Self::Future {
        let head = self.head(&mut request);
        let idle = Idle::new(self.limits.idle, self.sink.clone());
        if head.is_past() {
            // Gives back what the ready instance holds; a fresh clone holds nothing.
            self.inner = self.inner.clone();
            return AttemptFuture::refused(head, idle, self.shape.clone());
        }
        AttemptFuture::calling(self.inner.call(request), head, idle, self.shape.clone())
    }
}
