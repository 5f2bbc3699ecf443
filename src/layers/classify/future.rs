use super::{Judge, Judged};
use crate::Error;
use pin_project_lite::pin_project;
use std::{
    fmt,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
};

pin_project! {
    /// The future of [`Classify`](super::Classify).
    ///
    /// # Cancel safety
    /// Dropping it drops the call below, or what was read of its error body.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, J, P> {
        judge: J,
        #[pin]
        state: State<F, P>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, P> {
        Calling { #[pin] future: F },
        Reading { #[pin] reading: P },
    }
}

impl<F, J, P> ResponseFuture<F, J, P> {
    pub(crate) fn new(future: F, judge: J) -> Self {
        Self { judge, state: State::Calling { future } }
    }
}

impl<F, J, R, E> Future for ResponseFuture<F, J, J::Reading>
where
    F: Future<Output = Result<R, E>>,
    J: Judge<R, E>,
{
    type Output = Result<J::Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let reading = match this.state.as_mut().project() {
                StateProj::Reading { reading } => return reading.poll(cx),
                StateProj::Calling { future } => match ready!(future.poll(cx)) {
                    Err(error) => return Poll::Ready(Err(this.judge.error(error))),
                    Ok(response) => match this.judge.response(response) {
                        Judged::Good(response) => return Poll::Ready(Ok(response)),
                        Judged::Read(reading) => reading,
                    },
                },
            };
            this.state.set(State::Reading { reading });
        }
    }
}

impl<F, J, P> fmt::Debug for ResponseFuture<F, J, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
