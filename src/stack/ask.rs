use pin_project_lite::pin_project;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
};
use tower::Service;

pin_project! {
    /// The future of [`Stack::ask`](super::Stack::ask): makes a clone ready and calls it.
    ///
    /// # Cancel safety
    /// Dropping it drops the call with everything that it holds.
    #[must_use = "futures do nothing unless polled"]
    pub struct Ask<S, Req, F> {
        #[pin]
        state: State<S, Req, F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, Req, F> {
        Readying { service: S, request: Option<Req> },
        Calling { #[pin] future: F },
    }
}

impl<S, Req, F> Ask<S, Req, F> {
    pub(super) fn new(service: S, request: Req) -> Self {
        Self { state: State::Readying { service, request: Some(request) } }
    }
}

impl<S: Service<Req>, Req> Future for Ask<S, Req, S::Future> {
    type Output = Result<S::Response, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let next = match state.as_mut().project() {
                StateProj::Readying { service, request } => {
                    ready!(service.poll_ready(cx))?;
                    State::Calling { future: service.call(request.take().expect("called once")) }
                }
                StateProj::Calling { future } => return future.poll(cx),
            };
            state.set(next);
        }
    }
}

impl<S, Req, F> fmt::Debug for Ask<S, Req, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask").finish_non_exhaustive()
    }
}
