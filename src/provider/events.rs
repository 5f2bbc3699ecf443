//! A streamed answer, event by event.
use super::{
    Assemble,
    future::Limits,
    reader::{Facts, Reader},
    reading::Reading,
};
use crate::{
    Error, Kind, Phase, What,
    chat::Item,
    classify::next_frame,
    time::{self, Sleep},
};
use futures_core::Stream;
use http_body::Body;
use pin_project_lite::pin_project;
use std::{
    error::Error as StdError,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
    time::Duration,
};

/// How long the usage, or the protocol's own ending, may come behind the answer: servers leave connections open.
const TAIL: Duration = Duration::from_secs(1);

/// How long the body may take to end behind the protocol's own ending. A body that was read to its end leaves its connection to the
/// next request; one that is dropped before closes it, or resets its stream.
const PARTING: Duration = Duration::from_millis(20);

pin_project! {
    /// Gives what the events mean, and [`Item::End`] at the protocol's own ending or an error in its place.
    pub(super) struct Events<A, B> {
        reader: Reader<A>,
        #[pin]
        body: Option<B>,
        idle: Duration,
        // Since the last frame that came, or since the answer was all there.
        #[pin]
        timer: Option<Sleep>,
        is_parting: bool,
        // Why it broke off, until the last of what came is given.
        error: Option<Error>,
    }
}

impl<A, B> Events<A, B> {
    pub(super) fn new(assembler: A, body: B, facts: Facts, limits: Limits) -> Self {
        let reader = Reader::new(assembler, facts, limits.reply);
        Self { reader, body: Some(body), idle: limits.idle, timer: None, is_parting: false, error: None }
    }
}

impl<A, B> Events<A, B>
where
    A: Assemble,
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    /// Reads up to the first content.
    ///
    /// # Errors
    /// What came instead.
    pub(super) fn poll_content(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.poll_until(Reader::has_content, cx)
    }

    /// What came in the place of a stream.
    pub(super) fn take_whole(self: Pin<&mut Self>) -> Option<Reading> {
        let (headers, body, keeps_body) = self.project().reader.take_whole()?;
        Some(Reading::whole(headers, body, keeps_body))
    }

    /// Reads on to the end of the body, if that is near.
    fn poll_parting(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<()> {
        let mut this = self.project();
        let mut frames = 0;
        while let Some(body) = this.body.as_mut().as_pin_mut() {
            match next_frame(body, &mut frames, cx) {
                Poll::Pending => {
                    if !*this.is_parting {
                        this.timer.set(Some(time::sleep(PARTING)));
                        *this.is_parting = true;
                    }
                    ready!(this.timer.as_mut().as_pin_mut().map_or(Poll::Ready(()), |timer| timer.poll(cx)));
                    this.body.set(None);
                }
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(_) => this.body.set(None),
            }
        }
        Poll::Ready(())
    }

    fn poll_until(self: Pin<&mut Self>, is_enough: fn(&Reader<A>) -> bool, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        let mut this = self.project();
        let reader = this.reader;
        let mut frames = 0;
        loop {
            if reader.read_until(is_enough)? {
                return Poll::Ready(Ok(()));
            }
            let Some(body) = this.body.as_mut().as_pin_mut() else {
                reader.end_of_body()?;
                continue;
            };
            match next_frame(body, &mut frames, cx) {
                Poll::Pending => {
                    let is_tail = reader.is_finished();
                    let limit = if is_tail { TAIL } else { *this.idle };
                    if this.timer.is_none() {
                        this.timer.set(Some(time::sleep(limit)));
                    }
                    ready!(this.timer.as_mut().as_pin_mut().map_or(Poll::Pending, |timer| timer.poll(cx)));
                    if !is_tail {
                        reader.tell(What::TimedOut { phase: Phase::Idle, limit });
                        return Poll::Ready(Err(Error::provider(Kind::Timeout).with_phase(Phase::Idle)));
                    }
                    this.body.set(None);
                    reader.over();
                }
                Poll::Ready(Some(Ok(frame))) => {
                    // A tail that never ends is no tail.
                    if !reader.is_finished() {
                        this.timer.set(None);
                    }
                    if let Ok(data) = frame.into_data() {
                        reader.push(data)?;
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    this.body.set(None);
                    // The answer is all there: how its connection ends is nobody's concern.
                    if reader.is_finished() {
                        reader.over();
                        continue;
                    }
                    return Poll::Ready(Err(reader.broken(error.into())));
                }
                Poll::Ready(None) => {
                    this.body.set(None);
                    reader.finish();
                }
            }
        }
    }
}

impl<A, B> Stream for Events<A, B>
where
    A: Assemble,
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Item = Result<Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if self.reader.gives_end() {
                ready!(self.as_mut().poll_parting(cx));
            }
            let this = self.as_mut().project();
            if let Some(item) = this.reader.give() {
                return Poll::Ready(Some(Ok(item)));
            }
            if this.reader.is_over() {
                return Poll::Ready(this.error.take().map(Err));
            }
            if let Err(error) = ready!(self.as_mut().poll_until(Reader::has_items, cx)) {
                let mut this = self.as_mut().project();
                this.reader.close();
                this.body.set(None);
                this.reader.estimate();
                // What was given cannot be taken back.
                *this.error = Some(this.reader.named(error).delivered());
            }
        }
    }
}
