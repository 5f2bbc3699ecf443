use crate::{
    Context, Error, Gather, Kind, Note, Phase, Sink, Trail, What,
    time::{self, Instant, Sleep},
};
use pin_project_lite::pin_project;
use std::{
    fmt,
    future::Future,
    mem,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
    time::Duration,
};

pin_project! {
    /// The future of [`Recover`](super::Recover).
    ///
    /// `G` reads the answer: see [`Gather`].
    ///
    /// # Cancel safety
    /// Dropping it drops the call, or its stream with what was read of it.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, G, H> {
        #[pin]
        state: State<F, G>,
        // Where an answer is read before it is shown.
        until: Option<Until>,
        shape: H,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, G> {
        Calling { #[pin] future: F },
        Gathering { #[pin] gathering: G, trail: Trail, #[pin] timer: Option<Sleep> },
        Over,
    }
}

/// How long an answer may be read.
#[derive(Debug)]
pub(super) struct Until {
    deadline: Option<(Instant, Duration)>,
    sink: Option<Sink>,
}

impl Until {
    pub(super) fn of(context: Option<&Context>, sink: Option<Sink>) -> Self {
        let deadline = context.and_then(|context| context.deadline.zip(context.left()));
        Self { deadline, sink }
    }

    /// Ready at the deadline, by the clock: its timer, not made before somebody has to wait, may come later.
    fn poll_over(&self, mut timer: Pin<&mut Option<Sleep>>, cx: &mut Cx<'_>) -> Poll<Error> {
        let Some((deadline, limit)) = self.deadline else { return Poll::Pending };
        if timer.is_none() {
            timer.set(Some(time::sleep_until(deadline)));
        }
        if let Some(timer) = timer.as_pin_mut()
            && deadline > time::now()
        {
            ready!(timer.poll(cx));
        }
        if let Some(sink) = &self.sink {
            sink.emit(What::TimedOut { phase: Phase::Total, limit });
        }
        Poll::Ready(Error::provider(Kind::Timeout).with_phase(Phase::Total))
    }
}

impl<F, G, H> ResponseFuture<F, G, H> {
    pub(super) fn passing(future: F, shape: H) -> Self {
        Self { state: State::Calling { future }, until: None, shape }
    }

    pub(super) fn reading(future: F, until: Until, shape: H) -> Self {
        Self { state: State::Calling { future }, until: Some(until), shape }
    }
}

impl<F, R, H> ResponseFuture<F, H::Gathering, H>
where
    F: Future<Output = Result<R, Error>>,
    H: Note<R> + Gather<R>,
{
    fn poll_call(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Result<R, Error>> {
        let mut this = self.project();
        loop {
            let next = match (this.state.as_mut().project(), &*this.until) {
                (StateProj::Calling { future }, until) => {
                    let response = ready!(future.poll(cx))?;
                    if until.is_none() {
                        return Poll::Ready(Ok(response));
                    }
                    // What failed before an answer is told by its error, if it fails too.
                    let trail = this.shape.trail(&response).cloned().unwrap_or_default();
                    State::Gathering { gathering: this.shape.gather(response), trail, timer: None }
                }
                (StateProj::Gathering { gathering, trail, timer }, Some(until)) => {
                    let error = match gathering.poll(cx) {
                        Poll::Ready(Ok(response)) => return Poll::Ready(Ok(response)),
                        Poll::Ready(Err(error)) => error.undelivered(),
                        Poll::Pending => ready!(until.poll_over(timer, cx)),
                    };
                    return Poll::Ready(Err(error.after(mem::take(trail))));
                }
                (StateProj::Gathering { .. } | StateProj::Over, _) => return Poll::Pending,
            };
            this.state.set(next);
        }
    }
}

impl<F, R, H> Future for ResponseFuture<F, H::Gathering, H>
where
    F: Future<Output = Result<R, Error>>,
    H: Note<R> + Gather<R>,
{
    type Output = Result<R, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        let output = ready!(self.as_mut().poll_call(cx));
        // What the call holds goes now, and not with this future, which may be kept.
        self.project().state.set(State::Over);
        Poll::Ready(output)
    }
}

impl<F, G, H> fmt::Debug for ResponseFuture<F, G, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reads = matches!(self.state, State::Gathering { .. });
        f.debug_struct("ResponseFuture").field("reads", &reads).finish_non_exhaustive()
    }
}
