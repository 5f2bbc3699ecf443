//! A streamed answer, event by event.
use super::{
    Assemble,
    future::Limits,
    reader::{Facts, Reader},
};
use crate::{
    Error, Kind, Phase,
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
    }
}

impl<A, B> Events<A, B> {
    pub(super) fn new(assembler: A, body: B, facts: Facts, limits: Limits) -> Self {
        let reader = Reader::new(assembler, facts, limits.reply);
        Self { reader, body: Some(body), idle: limits.idle, timer: None }
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
                        return Poll::Ready(Err(Error::provider(Kind::Timeout).with_phase(Phase::Idle)));
                    }
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
            let reader = &mut self.as_mut().project().reader;
            if let Some(item) = reader.give() {
                return Poll::Ready(Some(Ok(item)));
            }
            if reader.is_over() {
                return Poll::Ready(None);
            }
            if let Err(error) = ready!(self.as_mut().poll_until(Reader::has_items, cx)) {
                let mut this = self.as_mut().project();
                this.reader.close();
                this.body.set(None);
                // What was given cannot be taken back.
                return Poll::Ready(Some(Err(this.reader.named(error).delivered())));
            }
        }
    }
}
