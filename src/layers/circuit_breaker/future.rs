use super::{Policy, Ticket, Window};
use crate::{Ending, Error};
use pin_project_lite::pin_project;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
};

pin_project! {
    /// The future of [`CircuitBreaker`](super::CircuitBreaker).
    ///
    /// # Cancel safety
    /// Dropping it drops the call, which then counts for nothing, unless its deadline has passed; a probe is given back.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, H, P = Window>
    where
        P: Policy,
    {
        #[pin]
        state: State<F>,
        ticket: Option<Ticket<P>>,
        shape: H,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Calling { #[pin] future: F },
        /// With the refusal of a call that was never sent, until that is told.
        Over { refused: Option<Error> },
    }
}

impl<F, H, P: Policy> ResponseFuture<F, H, P> {
    pub(super) fn calling(future: F, ticket: Ticket<P>, shape: H) -> Self {
        Self { state: State::Calling { future }, ticket: Some(ticket), shape }
    }

    pub(super) fn refused(error: Error, shape: H) -> Self {
        Self { state: State::Over { refused: Some(error) }, ticket: None, shape }
    }
}

impl<F, R, H, P> ResponseFuture<F, H, P>
where
    F: Future<Output = Result<R, Error>>,
    H: Ending<R, Ticket<P>>,
    P: Policy,
{
    fn poll_call(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Result<H::Response, Error>> {
        let this = self.project();
        match this.state.project() {
            StateProj::Over { refused } => refused.take().map_or(Poll::Pending, |error| Poll::Ready(Err(error))),
            StateProj::Calling { future } => {
                this.ticket.iter_mut().for_each(Ticket::sent);
                let result = ready!(future.poll(cx));
                let mut ticket = this.ticket.take().expect("an answer comes once");
                Poll::Ready(match result {
                    Ok(response) => Ok(this.shape.hold(response, ticket.riding())),
                    Err(error) => {
                        ticket.failed(&error);
                        Err(error)
                    }
                })
            }
        }
    }
}

impl<F, R, H, P> Future for ResponseFuture<F, H, P>
where
    F: Future<Output = Result<R, Error>>,
    H: Ending<R, Ticket<P>>,
    P: Policy,
{
    type Output = Result<H::Response, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        let output = ready!(self.as_mut().poll_call(cx));
        // What the call holds goes now, and not with this future, which may be kept.
        self.project().state.set(State::Over { refused: None });
        Poll::Ready(output)
    }
}

impl<F, H, P: Policy> fmt::Debug for ResponseFuture<F, H, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").field("ticket", &self.ticket).finish_non_exhaustive()
    }
}
