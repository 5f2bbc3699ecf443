use crate::{Error, Kind, layers::timeout::timer::Timer};
use pin_project_lite::pin_project;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
};
use tower::Service;

pin_project! {
    /// The future of a [`Deadline`](super::Deadline).
    ///
    /// # Cancel safety
    /// Dropping it drops the call, its place in any queue, and the timer.
    #[must_use = "futures do nothing unless polled"]
    pub struct DeadlineFuture<S, Req, F> {
        #[pin]
        state: State<S, Req, F>,
        #[pin]
        timer: Timer,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, Req, F> {
        Readying { inner: S, request: Option<Req> },
        Calling { #[pin] future: F },
        Over,
    }
}

impl<S, Req, F> DeadlineFuture<S, Req, F> {
    pub(super) fn new(inner: S, request: Req, timer: Timer) -> Self {
        Self { state: State::Readying { inner, request: Some(request) }, timer }
    }
}

impl<S, Req> DeadlineFuture<S, Req, S::Future>
where
    S: Service<Req, Error = Error>,
{
    fn poll_call(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Result<S::Response, Error>> {
        let mut this = self.project();
        let error = loop {
            let next = match this.state.as_mut().project() {
                // What is sent now would be paid for, and nobody would wait for it.
                StateProj::Readying { .. } if this.timer.is_past() => break Error::refusal(Kind::Deadline),
                StateProj::Readying { inner, request } => match inner.poll_ready(cx)? {
                    Poll::Ready(()) => State::Calling { future: inner.call(request.take().expect("called once")) },
                    Poll::Pending => {
                        ready!(this.timer.as_mut().poll(cx));
                        break Error::refusal(Kind::Deadline);
                    }
                },
                StateProj::Calling { mut future } => {
                    if let Poll::Ready(result) = future.as_mut().poll(cx) {
                        return Poll::Ready(result);
                    }
                    ready!(this.timer.as_mut().poll(cx));
                    // The time may have run out since the work was asked. Layers in it that keep the same deadline know
                    // by now, and their error tells more than ours.
                    match future.poll(cx) {
                        Poll::Ready(result) => return Poll::Ready(result),
                        Poll::Pending => break Error::provider(Kind::Timeout).with_phase(this.timer.phase()),
                    }
                }
                StateProj::Over => return Poll::Pending,
            };
            this.state.set(next);
        };
        this.timer.tell();
        Poll::Ready(Err(error))
    }
}

impl<S, Req> Future for DeadlineFuture<S, Req, S::Future>
where
    S: Service<Req, Error = Error>,
{
    type Output = Result<S::Response, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        let output = ready!(self.as_mut().poll_call(cx));
        // What nobody waits for any more goes now, and not with this future, which may be kept.
        self.project().state.set(State::Over);
        Poll::Ready(output)
    }
}

impl<S, Req, F> fmt::Debug for DeadlineFuture<S, Req, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeadlineFuture").field("timer", &self.timer).finish_non_exhaustive()
    }
}
