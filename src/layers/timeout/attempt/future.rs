use super::Idle;
use crate::{Ending, Error, Kind, layers::timeout::timer::Timer};
use pin_project_lite::pin_project;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
};

pin_project! {
    /// The future of an [`AttemptTimeout`](super::AttemptTimeout).
    ///
    /// # Cancel safety
    /// Dropping it drops the attempt and its timer.
    #[must_use = "futures do nothing unless polled"]
    pub struct AttemptFuture<F, H> {
        #[pin]
        state: State<F>,
        #[pin]
        head: Timer,
        idle: Option<Idle>,
        shape: H,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Calling { #[pin] future: F },
        Refused,
        Over,
    }
}

impl<F, H> AttemptFuture<F, H> {
    pub(super) fn calling(future: F, head: Timer, idle: Idle, shape: H) -> Self {
        Self { state: State::Calling { future }, head, idle: Some(idle), shape }
    }

    pub(super) fn refused(head: Timer, idle: Idle, shape: H) -> Self {
        Self { state: State::Refused, head, idle: Some(idle), shape }
    }
}

impl<F, H> AttemptFuture<F, H> {
    fn poll_attempt<R>(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Result<H::Response, Error>>
    where
        F: Future<Output = Result<R, Error>>,
        H: Ending<R, Idle>,
    {
        let mut this = self.project();
        let error = match this.state.project() {
            StateProj::Over => return Poll::Pending,
            StateProj::Refused => Error::refusal(Kind::Deadline),
            StateProj::Calling { future } => {
                if let Poll::Ready(result) = future.poll(cx) {
                    let idle = this.idle.take().expect("an answer comes once");
                    return Poll::Ready(result.map(|response| this.shape.hold(response, idle)));
                }
                ready!(this.head.as_mut().poll(cx));
                Error::provider(Kind::Timeout).with_phase(this.head.phase())
            }
        };
        this.head.tell();
        Poll::Ready(Err(error))
    }
}

impl<F, R, H> Future for AttemptFuture<F, H>
where
    F: Future<Output = Result<R, Error>>,
    H: Ending<R, Idle>,
{
    type Output = Result<H::Response, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        let output = ready!(self.as_mut().poll_attempt(cx));
        // What nobody waits for any more goes now, and not with this future, which may be kept.
        self.project().state.set(State::Over);
        Poll::Ready(output)
    }
}

impl<F, H> fmt::Debug for AttemptFuture<F, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptFuture").field("head", &self.head).finish_non_exhaustive()
    }
}
