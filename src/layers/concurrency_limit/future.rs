use super::{Permit, patience::Patience, permit::Line};
use crate::{
    Ending, Error,
    time::{self, Sleep},
};
use pin_project_lite::pin_project;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
};
use tower::Service;

pin_project! {
    /// The future of a [`ConcurrencyLimit`](super::ConcurrencyLimit).
    ///
    /// # Cancel safety
    /// Dropping it gives back the permit, or the place in the line.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<S, Req, F, H> {
        #[pin]
        state: State<S, Req, F>,
        shape: H,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, Req, F> {
        Waiting { waiter: Option<Waiter<S, Req>>, patience: Patience, #[pin] timer: Option<Sleep> },
        // Dropped in this order: a permit is free when the work under it is gone.
        Calling { #[pin] future: F, permit: Option<Permit> },
        /// With the refusal of a call that may not wait, until that is told.
        Over { refused: Option<Error> },
    }
}

/// A call that has not begun.
struct Waiter<S, Req> {
    inner: S,
    request: Req,
    line: Line,
    permit: Option<Permit>,
}

impl<S, Req> Waiter<S, Req> {
    /// Ready when it may be called: first the permit, and then the service, whose readiness is not kept in a line.
    fn poll_turn(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>>
    where
        S: Service<Req, Error = Error>,
    {
        if self.permit.is_none() {
            self.permit = Some(ready!(self.line.poll_permit(cx)));
        }
        self.inner.poll_ready(cx)
    }
}

impl<S, Req, F, H> ResponseFuture<S, Req, F, H> {
    pub(super) fn calling(future: F, permit: Permit, shape: H) -> Self {
        Self { state: State::Calling { future, permit: Some(permit) }, shape }
    }

    pub(super) fn waiting(inner: S, request: Req, line: Line, patience: Patience, shape: H) -> Self {
        let waiter = Some(Waiter { inner, request, line, permit: None });
        Self { state: State::Waiting { waiter, patience, timer: None }, shape }
    }

    pub(super) fn refused(error: Error, shape: H) -> Self {
        Self { state: State::Over { refused: Some(error) }, shape }
    }
}

impl<S, Req, H> ResponseFuture<S, Req, S::Future, H>
where
    S: Service<Req, Error = Error>,
{
    /// The answer, and the permit that it came under.
    fn poll_call(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Result<(S::Response, Permit), Error>> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProj::Waiting { waiter, patience, timer } => {
                    match waiter.as_mut().expect("called once").poll_turn(cx) {
                        Poll::Ready(ready) => ready?,
                        Poll::Pending => {
                            ready!(poll_over(timer, *patience, cx));
                            return Poll::Ready(Err(patience.refusal(time::now())));
                        }
                    }
                    // The turn may have come late, and nobody would wait for what is sent now.
                    if patience.is_too_late(time::now()) {
                        return Poll::Ready(Err(patience.refusal(time::now())));
                    }
                    let Waiter { mut inner, request, permit, .. } = waiter.take().expect("seen above");
                    State::Calling { future: inner.call(request), permit }
                }
                StateProj::Calling { future, permit } => {
                    let response = ready!(future.poll(cx))?;
                    return Poll::Ready(Ok((response, permit.take().expect("an answer comes once"))));
                }
                StateProj::Over { refused } => match refused.take() {
                    Some(error) => return Poll::Ready(Err(error)),
                    None => return Poll::Pending,
                },
            };
            this.state.set(next);
        }
    }
}

impl<S, Req, H> Future for ResponseFuture<S, Req, S::Future, H>
where
    S: Service<Req, Error = Error>,
    H: Ending<S::Response, Permit>,
{
    type Output = Result<H::Response, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        let output = ready!(self.as_mut().poll_call(cx));
        let mut this = self.project();
        // What the call holds goes now, and not with this future, which may be kept; and it goes before its permit, which
        // may be free with the head of the answer.
        this.state.set(State::Over { refused: None });
        Poll::Ready(output.map(|(response, permit)| this.shape.hold(response, permit)))
    }
}

/// Ready when the wait is over, by the clock: its timer, not made before somebody has to wait, may come later.
fn poll_over(mut timer: Pin<&mut Option<Sleep>>, patience: Patience, cx: &mut Cx<'_>) -> Poll<()> {
    let Some(until) = patience.until() else { return Poll::Pending };
    if timer.is_none() {
        timer.set(Some(time::sleep_until(until)));
    }
    match timer.as_pin_mut() {
        Some(timer) if !patience.is_over(time::now()) => timer.poll(cx),
        _ => Poll::Ready(()),
    }
}

impl<S, Req, F, H> fmt::Debug for ResponseFuture<S, Req, F, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waits = matches!(self.state, State::Waiting { .. });
        f.debug_struct("ResponseFuture").field("waits", &waits).finish_non_exhaustive()
    }
}
