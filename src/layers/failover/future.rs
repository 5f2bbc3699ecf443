use super::{MapRoute, run::Run, service::Settings};
use crate::{
    Error, Kind, Note, Replay,
    time::{Sleep, sleep_until},
};
use pin_project_lite::pin_project;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context as Cx, Poll, ready},
};
use tower::Service;

pin_project! {
    /// The future of [`Failover`](super::Failover).
    ///
    /// # Cancel safety
    /// Dropping it drops the route that is asked, or made ready; no other is asked.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<R, S, Req, F, H> {
        run: Run<R, Req, H>,
        #[pin]
        state: State<S, F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, F> {
        Choosing,
        Readying { service: S, #[pin] timer: Option<Sleep> },
        Calling { #[pin] future: F },
        Over,
    }
}

impl<R, S, Req, F, H> ResponseFuture<R, S, Req, F, H> {
    pub(super) fn new(routes: R, settings: Arc<Settings>, shape: H, request: Req) -> Self
    where
        H: Replay<Req>,
    {
        Self { run: Run::new(routes, settings, shape, request), state: State::Choosing }
    }
}

impl<R, S, Req, H> ResponseFuture<R, S, Req, S::Future, H>
where
    R: MapRoute<Req, Service = S>,
    S: Service<Req, Error = Error>,
    H: Replay<Req> + Note<S::Response>,
{
    fn poll_call(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Result<S::Response, Error>> {
        let mut this = self.project();
        loop {
            let error = match this.state.as_mut().project() {
                StateProj::Choosing => {
                    let service = this.run.next()?;
                    this.state.set(State::Readying { service, timer: None });
                    continue;
                }
                StateProj::Readying { service, timer } => match service.poll_ready(cx) {
                    // Readiness may have taken longer than the call has.
                    Poll::Ready(Ok(())) if timer.is_some() && this.run.is_late() => Error::refusal(Kind::Deadline),
                    Poll::Ready(Ok(())) => {
                        let future = service.call(this.run.request());
                        this.state.set(State::Calling { future });
                        continue;
                    }
                    Poll::Ready(Err(error)) => error,
                    Poll::Pending => ready!(poll_impatience(this.run, timer, cx)),
                },
                StateProj::Calling { future } => match ready!(future.poll(cx)) {
                    Ok(response) => return Poll::Ready(Ok(this.run.succeeded(response))),
                    Err(error) => error,
                },
                StateProj::Over => return Poll::Pending,
            };
            this.run.failed(error)?;
            this.state.set(State::Choosing);
        }
    }
}

/// Why a route that is not ready is waited for no longer. Its timer is not made before somebody has to wait.
fn poll_impatience<R: MapRoute<Req>, Req>(
    run: &Run<R, Req, impl Replay<Req>>,
    mut timer: Pin<&mut Option<Sleep>>,
    cx: &mut Cx<'_>,
) -> Poll<Error> {
    loop {
        if run.is_late() {
            return Poll::Ready(Error::refusal(Kind::Deadline));
        }
        if let Some(sleep) = timer.as_mut().as_pin_mut() {
            ready!(sleep.poll(cx));
            if run.is_late() {
                return Poll::Ready(Error::refusal(Kind::Deadline));
            }
            if run.passes_by() {
                return Poll::Ready(run.not_ready());
            }
        }
        match run.patient_until() {
            Some(end) => timer.set(Some(sleep_until(end))),
            None => return Poll::Pending,
        }
    }
}

impl<R, S, Req, H> Future for ResponseFuture<R, S, Req, S::Future, H>
where
    R: MapRoute<Req, Service = S>,
    S: Service<Req, Error = Error>,
    H: Replay<Req> + Note<S::Response>,
{
    type Output = Result<S::Response, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        let output = ready!(self.as_mut().poll_call(cx));
        // What the last route holds goes now, and not with this future, which may be kept.
        let mut this = self.project();
        this.state.set(State::Over);
        this.run.over();
        Poll::Ready(output)
    }
}

impl<R, S, Req, F, H> fmt::Debug for ResponseFuture<R, S, Req, F, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").field("sends", &self.run.sends()).finish_non_exhaustive()
    }
}
