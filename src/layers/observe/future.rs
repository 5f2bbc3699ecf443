use super::Observation;
use crate::{Ending, Error, Note};
use pin_project_lite::pin_project;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
};

pin_project! {
    /// The future of [`Observe`](super::Observe).
    ///
    /// # Cancel safety
    /// Dropping it drops the call, and tells that its caller left.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, H> {
        // Goes before the observation, as an attempt is over before its operation.
        #[pin]
        state: State<F>,
        observation: Option<Observation>,
        shape: H,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Calling { #[pin] future: F },
        Over,
    }
}

impl<F, H> ResponseFuture<F, H> {
    pub(super) fn new(future: F, observation: Observation, shape: H) -> Self {
        Self { state: State::Calling { future }, observation: Some(observation), shape }
    }
}

impl<F, R, H> Future for ResponseFuture<F, H>
where
    F: Future<Output = Result<R, Error>>,
    H: Note<R> + Ending<R, Observation>,
{
    type Output = Result<H::Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let StateProj::Calling { future } = this.state.as_mut().project() else { return Poll::Pending };
        let Some(observation) = this.observation.as_mut() else { return Poll::Pending };
        let result = ready!(observation.poll(|| future.poll(cx)));
        // What the call holds goes now, and not with this future, which may be kept.
        this.state.set(State::Over);
        let observation = this.observation.take().expect("borrowed just above");
        Poll::Ready(match result {
            Ok(response) => {
                let observation = observation.head(this.shape.trail(&response));
                Ok(this.shape.hold(response, observation))
            }
            Err(error) => Err(observation.fail(error)),
        })
    }
}

impl<F, H> fmt::Debug for ResponseFuture<F, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").field("observation", &self.observation).finish_non_exhaustive()
    }
}
