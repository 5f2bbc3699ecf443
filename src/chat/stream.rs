//! A reply that comes piece by piece.
use super::{FinishReason, ToolCall};
use crate::{Error, Kind, Phase, Seen, Show, Usage};
use futures_core::Stream;
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context as Cx, Poll, ready},
};

/// A piece of a streamed reply.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A comment or a ping: it keeps the timers quiet and is hidden from readers.
    Alive,
    /// More text.
    Text(Arc<str>),
    /// A tool that the model asks for, whole.
    ToolCall(ToolCall),
    /// The tokens that the answer has cost so far.
    Usage(Usage),
    /// Why the model stopped.
    Finish(FinishReason),
    /// The protocol's own ending. Without it a stream was cut.
    End,
}

impl Show for Item {
    fn show(&self) -> Seen {
        match self {
            Self::Alive => Seen::Alive,
            Self::Text(_) | Self::ToolCall(_) | Self::Finish(_) => Seen::Content,
            Self::Usage(usage) => Seen::Usage(*usage),
            Self::End => Seen::End,
        }
    }
}

pub(super) type Items = Pin<Box<dyn Stream<Item = Result<Item, Error>> + Send>>;

pin_project! {
    /// Holds a stream to its protocol, inside every guard: an end without [`Item::End`] becomes an error.
    pub(super) struct Checked<S> {
        #[pin]
        items: S,
        over: bool,
    }
}

impl<S> Checked<S> {
    pub(super) fn new(items: S) -> Self {
        Self { items, over: false }
    }
}

impl<S: Stream<Item = Result<Item, Error>>> Stream for Checked<S> {
    type Item = Result<Item, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        let this = self.project();
        if *this.over {
            return Poll::Ready(None);
        }
        let item = match ready!(this.items.poll_next(cx)) {
            Some(item) => item.map_err(Error::delivered),
            None => Err(Error::provider(Kind::Transport).with_phase(Phase::Body).delivered()),
        };
        *this.over = matches!(item, Ok(Item::End) | Err(_));
        Poll::Ready(Some(item))
    }
}
