use super::DeadlineFuture;
use crate::{Bare, Context, Error, Shape, Sink, layers::timeout::timer::Timer, time};
use std::{
    task::{Context as Cx, Poll},
    time::Duration,
};
use tower::Service;

/// Ends a call that takes too long in all. Made by [`DeadlineLayer`](super::DeadlineLayer).
///
/// It is always ready: its future makes a clone of the inner service ready, so that this wait counts too, and an error
/// of that comes from the future.
#[derive(Clone, Debug)]
pub struct Deadline<S, H = Bare> {
    inner: S,
    total: Option<Duration>,
    sink: Option<Sink>,
    shape: H,
}

impl<S, H> Deadline<S, H> {
    pub(super) fn new(inner: S, total: Option<Duration>, sink: Option<Sink>, shape: H) -> Self {
        Self { inner, total, sink, shape }
    }
}

impl<S, Req, H> Service<Req> for Deadline<S, H>
where
    S: Service<Req, Error = Error> + Clone,
    H: Shape<Req>,
{
    type Response = S::Response;
    type Error = Error;
    type Future = DeadlineFuture<S, Req, S::Future>;

    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Req) -> Self::Future {
        // Where nobody has said how much may be sent, a deadline does not say it either.
        let context = self.shape.context(&request).unwrap_or_else(|| Context::default().with_sends_left(u32::MAX));
        let own = self.total.map(|total| time::after(time::now(), total));
        let deadline = own.into_iter().chain(context.deadline).min();
        let timer = deadline.map(|deadline| {
            self.shape.set_context(&mut request, context.with_deadline(deadline));
            Timer::at(deadline, deadline.saturating_duration_since(time::now()), self.sink.clone())
        });
        DeadlineFuture::new(self.inner.clone(), request, timer.unwrap_or_else(Timer::never))
    }
}
