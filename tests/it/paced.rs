//! Streamed replies in virtual time.
use seawall::{
    Error,
    chat::{Item, Reply},
};
use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    task::{Context as Cx, Poll, ready},
};
use tokio::time::{Sleep, sleep};

use crate::seconds;

/// What a stream does next. One that has no more to do just ends.
pub enum Step {
    Wait(u64),
    Give(Result<Item, Error>),
    Stall,
}
pub use Step::*;

/// Counts the streams that are there still.
#[derive(Clone, Default)]
pub struct Streams(Arc<AtomicU32>);

impl Streams {
    pub fn live(&self) -> u32 {
        self.0.load(Relaxed)
    }

    pub fn reply(&self, steps: impl IntoIterator<Item = Step>) -> Reply {
        self.0.fetch_add(1, Relaxed);
        Reply::stream(Paced { steps: steps.into_iter().collect(), pause: None, streams: self.clone() })
    }
}

/// One that nobody counts.
pub fn paced(steps: impl IntoIterator<Item = Step>) -> Reply {
    Streams::default().reply(steps)
}

/// A token.
pub fn token() -> Step {
    text("x")
}

pub fn text(text: &str) -> Step {
    Give(Ok(Item::Text(text.into())))
}

pub fn end() -> Step {
    Give(Ok(Item::End))
}

struct Paced {
    steps: VecDeque<Step>,
    pause: Option<Pin<Box<Sleep>>>,
    streams: Streams,
}

impl Drop for Paced {
    fn drop(&mut self) {
        self.streams.0.fetch_sub(1, Relaxed);
    }
}

impl futures_core::Stream for Paced {
    type Item = Result<Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(cx));
                self.pause = None;
            }
            match self.steps.pop_front() {
                Some(Wait(time)) => self.pause = Some(Box::pin(sleep(seconds(time)))),
                Some(Give(item)) => return Poll::Ready(Some(item)),
                Some(Stall) => {
                    self.steps.push_front(Stall);
                    return Poll::Pending;
                }
                None => return Poll::Ready(None),
            }
        }
    }
}
