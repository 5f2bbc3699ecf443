use super::{Schedule, layer::Settings, policy::Past, service::admit};
use crate::{
    Context, Error, GaveUp, Kind, Note, Replay, Trail, What,
    time::{self, Sleep, sleep},
};
use pin_project_lite::pin_project;
use std::{
    fmt,
    future::Future,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context as Cx, Poll, ready},
    time::Duration,
};
use tower::Service;

pin_project! {
    /// The future of [`Retry`](super::Retry).
    ///
    /// # Cancel safety
    /// Dropping it drops the attempt, or the wait. What was drawn from the budget is not given back.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<S, Req, F, H, P> {
        inner: S,
        settings: Arc<Settings<P>>,
        shape: H,
        again: Result<Req, GaveUp>,
        context: Option<Context>,
        past: Past<P>,
        trail: Trail,
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Calling { #[pin] future: F },
        Waiting { #[pin] sleep: Sleep },
        Readying { #[pin] deadline: Option<Sleep> },
        /// With the refusal of a call that was never sent, until that is told.
        Over { refused: Option<Error> },
    }
}

impl<S, Req, F, H, P> ResponseFuture<S, Req, F, H, P> {
    pub(super) fn new(
        inner: S,
        settings: Arc<Settings<P>>,
        shape: H,
        again: Result<Req, GaveUp>,
        context: Option<Context>,
        future: F,
    ) -> Self {
        let (past, trail) = (Past::default(), Trail::default());
        Self { inner, settings, shape, again, context, past, trail, state: State::Calling { future } }
    }

    pub(super) fn refused(inner: S, settings: Arc<Settings<P>>, shape: H, error: Error) -> Self {
        let (past, trail, state) = (Past::default(), Trail::default(), State::Over { refused: Some(error) });
        Self { inner, settings, shape, again: Err(GaveUp::SendsSpent), context: None, past, trail, state }
    }
}

impl<S, Req, H, P> ResponseFuture<S, Req, S::Future, H, P>
where
    S: Service<Req, Error = Error>,
    H: Replay<Req> + Note<S::Response>,
    P: Schedule,
{
    fn poll_call(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Result<S::Response, Error>> {
        loop {
            let mut this = self.as_mut().project();
            let next = match this.state.as_mut().project() {
                StateProj::Calling { future } => match ready!(future.poll(cx)) {
                    Ok(response) => return Poll::Ready(Ok(self.succeeded(response))),
                    Err(error) => match self.as_mut().failed(error) {
                        Ok(wait) => State::Waiting { sleep: sleep(wait) },
                        Err(error) => return Poll::Ready(Err(error)),
                    },
                },
                StateProj::Waiting { sleep } => {
                    ready!(sleep.poll(cx));
                    State::Readying { deadline: None }
                }
                StateProj::Readying { deadline } => {
                    let ready = match this.inner.poll_ready(cx) {
                        Poll::Ready(ready) => ready,
                        Poll::Pending => {
                            ready!(poll_past(deadline, this.context.as_ref(), cx));
                            Err(Error::refusal(Kind::Deadline))
                        }
                    };
                    // Readiness may have taken longer than the wait that was made sure to fit.
                    if let Err(error) = ready.and_then(|()| admit(this.context.as_ref())) {
                        return Poll::Ready(Err(error.after(mem::take(this.trail))));
                    }
                    let request = self.as_mut().next_request();
                    State::Calling { future: self.as_mut().project().inner.call(request) }
                }
                StateProj::Over { refused } => match refused.take() {
                    Some(error) => return Poll::Ready(Err(error)),
                    None => return Poll::Pending,
                },
            };
            self.as_mut().project().state.set(next);
        }
    }
}

impl<S, Req, H, P> Future for ResponseFuture<S, Req, S::Future, H, P>
where
    S: Service<Req, Error = Error>,
    H: Replay<Req> + Note<S::Response>,
    P: Schedule,
{
    type Output = Result<S::Response, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        let output = ready!(self.as_mut().poll_call(cx));
        // What the last attempt holds goes now, and not with this future, which may be kept.
        self.project().state.set(State::Over { refused: None });
        Poll::Ready(output)
    }
}

/// Ready at the deadline of the call, whose timer is not made before somebody has to wait.
fn poll_past(mut timer: Pin<&mut Option<Sleep>>, context: Option<&Context>, cx: &mut Cx<'_>) -> Poll<()> {
    let Some(deadline) = context.and_then(|context| context.deadline) else { return Poll::Pending };
    if timer.is_none() {
        timer.set(Some(time::sleep_until(deadline)));
    }
    match timer.as_pin_mut() {
        Some(sleep) if deadline > time::now() => sleep.poll(cx),
        _ => Poll::Ready(()),
    }
}

impl<S, Req, F, H, P: Schedule> ResponseFuture<S, Req, F, H, P> {
    fn succeeded<R>(self: Pin<&mut Self>, mut response: R) -> R
    where
        H: Note<R>,
    {
        let this = self.project();
        this.settings.policy.record(this.past, 1, time::now());
        if !this.trail.is_empty() {
            this.shape.note(&mut response, mem::take(this.trail));
        }
        response
    }

    /// The wait before the next attempt, or the error that ends the call.
    fn failed(self: Pin<&mut Self>, error: Error) -> Result<Duration, Error> {
        let this = self.project();
        let (now, Settings { policy, sink }) = (time::now(), &**this.settings);
        policy.record(this.past, error.sends(), now);
        // What refused it may not know the route, and in an answer's trail nobody can name it any more.
        let error = match sink {
            Some(sink) => sink.name(error),
            None => error,
        };
        if !error.is_retryable() || policy.is_off() {
            return Err(error.after(mem::take(this.trail)));
        }
        let context = this.context.as_ref();
        let wait = match *this.again {
            Ok(_) => policy.wait(&error, this.past, context, now),
            Err(reason) => Err(policy.without_copy(reason, &error, this.past, context, now)),
        };
        match wait {
            Ok(wait) => {
                if let Some(sink) = sink {
                    let retry = if error.is_refusal() { 0 } else { this.past.retries };
                    sink.emit(What::Retrying { error: &error, retry, wait });
                }
                this.trail.push(error, wait);
                Ok(wait)
            }
            Err(reason) => {
                let error = error.after(mem::take(this.trail)).with_gave_up(reason);
                if let Some(sink) = sink {
                    sink.emit(What::GaveUp { error: &error, reason });
                }
                Err(error)
            }
        }
    }

    /// The request of the next attempt: a copy of the one that is kept, or that one if nothing can follow.
    fn next_request(self: Pin<&mut Self>) -> Req
    where
        H: Replay<Req>,
    {
        let this = self.project();
        let kept = mem::replace(this.again, Err(GaveUp::AttemptsSpent));
        let mut request = kept.expect("only a call with a copy waits");
        *this.again = this.settings.policy.keep(this.shape, &request, this.past, this.context.as_ref());
        if let Some(context) = *this.context {
            let sends_left = context.sends_left.saturating_sub(this.past.sends);
            this.shape.set_context(&mut request, context.with_sends_left(sends_left));
        }
        request
    }
}

impl<S, Req, F, H, P> fmt::Debug for ResponseFuture<S, Req, F, H, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Past { retries, sends, .. } = &self.past;
        f.debug_struct("ResponseFuture").field("retries", retries).field("sends", sends).finish_non_exhaustive()
    }
}
