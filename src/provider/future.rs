use super::{
    Dialect,
    events::Events,
    learned::Asked,
    reader::Facts,
    reading::{Progress, Reading},
};
use crate::{
    Error, Kind, Phase, What, chat,
    classify::next_frame,
    time::{self, Sleep},
};
use http_body::Body;
use pin_project_lite::pin_project;
use std::{
    error::Error as StdError,
    fmt,
    future::Future,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
    time::Duration,
};

pin_project! {
    /// Resolves to the reply: once all of it has been read, judged and decoded, or with the first content of a stream.
    ///
    /// `F` is the response future of the service below, and `B` the body of its response.
    ///
    /// # Cancel safety
    /// Dropping it drops the request below, which ends it upstream, and what was read of the answer.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<D: Dialect, F, B> {
        dialect: D,
        limits: Limits,
        // Where the answer is to come piece by piece.
        streamed: Option<chat::Request>,
        // Where refusals are remembered.
        asked: Option<Box<Asked>>,
        #[pin]
        state: State<D::Assembler, F, B>,
    }
}

/// What an answer may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// In bytes, of a successful one.
    pub(super) reply: usize,
    /// Between two frames of a successful one.
    pub(super) idle: Duration,
    /// To the head of one that is to come piece by piece.
    pub(super) first_byte: Duration,
    /// Whether the body of a whole reply stays with it.
    pub(super) keeps_body: bool,
}

pin_project! {
    #[project = StateProj]
    enum State<A, F, B> {
        Sending { #[pin] future: F, #[pin] head: Option<Sleep> },
        Opening { events: Option<Pin<Box<Events<A, B>>>> },
        Reading { reading: Reading, #[pin] body: B, #[pin] silence: Option<Sleep> },
        /// With the error of a request that could not be encoded, until that is told.
        Over { refused: Option<Error> },
    }
}

impl<D: Dialect, F, B> ResponseFuture<D, F, B> {
    pub(super) fn sending(
        dialect: D,
        future: F,
        limits: Limits,
        streamed: Option<chat::Request>,
        asked: Option<Box<Asked>>,
    ) -> Self {
        Self { dialect, limits, streamed, asked, state: State::Sending { future, head: None } }
    }

    pub(super) fn refused(dialect: D, error: Error, limits: Limits) -> Self {
        Self { dialect, limits, streamed: None, asked: None, state: State::Over { refused: Some(error) } }
    }
}

impl<D, F, B, E> ResponseFuture<D, F, B>
where
    D: Dialect,
    F: Future<Output = Result<http::Response<B>, E>>,
    E: Into<Box<dyn StdError + Send + Sync>>,
    B: Body + Send + 'static,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    fn poll_reply(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Result<chat::Reply, Error>> {
        let mut this = self.project();
        let mut frames = 0;
        loop {
            let next = match this.state.as_mut().project() {
                StateProj::Sending { future, mut head } => match future.poll(cx) {
                    Poll::Pending => {
                        let Some(request) = this.streamed else { return Poll::Pending };
                        if head.is_none() {
                            head.set(Some(time::sleep(this.limits.first_byte)));
                        }
                        ready!(head.as_pin_mut().map_or(Poll::Pending, |sleep| sleep.poll(cx)));
                        let (phase, limit) = (Phase::FirstByte, this.limits.first_byte);
                        if let Some(sink) = request.sink() {
                            sink.emit(What::TimedOut { phase, limit });
                        }
                        return Poll::Ready(Err(Error::provider(Kind::Timeout).with_phase(phase)));
                    }
                    Poll::Ready(Ok(response)) => {
                        let (head, body) = response.into_parts();
                        if let Some(request) = this.streamed.take().filter(|_| head.status.is_success()) {
                            let facts = Facts::new(this.dialect, head.headers, request);
                            let events = Events::new(this.dialect.assembler(), body, facts, *this.limits);
                            // The one box of a stream, in which the reply keeps it.
                            this.state.set(State::Opening { events: Some(Box::pin(events)) });
                            continue;
                        }
                        let reading = Reading::new(head, body.size_hint().lower(), *this.limits)?;
                        State::Reading { reading, body, silence: None }
                    }
                    Poll::Ready(Err(error)) => {
                        return Poll::Ready(Err(this.dialect.classifier().transport(error.into())));
                    }
                },
                StateProj::Opening { events } => {
                    if let Some(events) = events {
                        ready!(events.as_mut().poll_content(cx))?;
                    }
                    match events.take() {
                        Some(mut events) => {
                            return Poll::Ready(match events.as_mut().take_whole() {
                                Some(whole) => whole.finish_streamed(this.dialect),
                                None => Ok(chat::Reply::boxed(events)),
                            });
                        }
                        None => return Poll::Pending,
                    }
                }
                StateProj::Reading { reading, body, mut silence } => match next_frame(body, &mut frames, cx) {
                    Poll::Pending => {
                        if silence.is_none() {
                            silence.set(Some(time::sleep(reading.patience())));
                        }
                        ready!(silence.as_pin_mut().map_or(Poll::Pending, |sleep| sleep.poll(cx)));
                        return Poll::Ready(reading.fall_silent(this.dialect));
                    }
                    Poll::Ready(Some(Ok(frame))) => match reading.push(frame)? {
                        Progress::More if reading.is_success() => {
                            silence.set(None);
                            continue;
                        }
                        Progress::More => continue,
                        Progress::Enough => return Poll::Ready(reading.finish(this.dialect)),
                    },
                    Poll::Ready(Some(Err(error))) => {
                        return Poll::Ready(Err(reading.break_off(this.dialect, error.into())));
                    }
                    Poll::Ready(None) => return Poll::Ready(reading.finish(this.dialect)),
                },
                StateProj::Over { refused } => match refused.take() {
                    Some(error) => return Poll::Ready(Err(error)),
                    None => return Poll::Pending,
                },
            };
            this.state.set(next);
        }
    }
}

impl<D, F, B, E> Future for ResponseFuture<D, F, B>
where
    D: Dialect,
    F: Future<Output = Result<http::Response<B>, E>>,
    E: Into<Box<dyn StdError + Send + Sync>>,
    B: Body + Send + 'static,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Output = Result<chat::Reply, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        let output = ready!(self.as_mut().poll_reply(cx));
        // An answer that was not read to its end is let go now, and not whenever this future is dropped.
        let mut this = self.as_mut().project();
        this.state.set(State::Over { refused: None });
        if let (Some(asked), Err(error)) = (this.asked.take(), &output) {
            asked.learn(error);
        }
        Poll::Ready(output.map_err(|error| named(error, &self.dialect)))
    }
}

/// Whoever fails below, it is this provider that a person reads about.
pub(super) fn named<D: Dialect>(error: Error, dialect: &D) -> Error {
    if error.provider_name().is_some() { error } else { error.with_provider(dialect.name()) }
}

impl<D: Dialect, F, B> fmt::Debug for ResponseFuture<D, F, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
