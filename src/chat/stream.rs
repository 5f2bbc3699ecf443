//! A reply that comes piece by piece.
use super::{FinishReason, Native, Reasoning, ToolCall};
use crate::{Error, Kind, Phase, Seen, Show, Usage};
use bytes::Bytes;
use futures_core::Stream;
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context as Cx, Poll, ready},
    vec,
};

/// A piece of a streamed reply.
///
/// A text comes in pieces as they arrive. What is of use only when it is whole comes when it is: a [`ToolCall`](Self::ToolCall),
/// and a [`Thought`](Self::Thought) that its provider wants back.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A comment or a ping: it keeps the timers quiet and is hidden from readers.
    Alive,
    /// Who answers, as the provider calls both.
    Started {
        /// The provider's id of the answer.
        id: Option<Arc<str>>,
        /// The model.
        model: Option<Arc<str>>,
    },
    /// More text.
    Text(Arc<str>),
    /// What the text before it cites.
    Citations(Native),
    /// More of what the model thinks, for people to read.
    Reasoning(Arc<str>),
    /// The thoughts of which the pieces before it were a part, whole and in the form that goes back.
    Thought(Reasoning),
    /// More of the model's words for that it will not answer.
    Refusal(Arc<str>),
    /// More of a tool call that is not whole yet.
    Calling {
        /// Which call of this reply, from 0.
        index: usize,
        /// The tool's name.
        name: Arc<str>,
        /// More of the arguments, as JSON text.
        arguments: Arc<str>,
    },
    /// A tool that the model asks for, whole.
    ToolCall(ToolCall),
    /// A block that seawall does not know, whole.
    Native(Native),
    /// The tokens that the answer has cost so far.
    Usage(Usage),
    /// Why the model stopped.
    Finish(FinishReason),
    /// An event that nobody could read was passed over: see [`Reply::skipped`](super::Reply::skipped). Hidden from readers.
    Skipped,
    /// An event as it was received, in front of what it means, where [`Request::received`](super::Request::received) asked for it.
    /// One that is no JSON is not among them.
    Event {
        /// The [form of the wire](crate::provider::Dialect::protocol) that it is of; empty where it is nobody else's.
        protocol: &'static str,
        /// The `event` field.
        name: Option<Arc<str>>,
        /// The `data` lines, joined by line feeds.
        data: Bytes,
    },
    /// The protocol's own ending. Without it a stream was cut.
    End,
}

impl Show for Item {
    fn show(&self) -> Seen {
        match self {
            Self::Alive | Self::Started { .. } | Self::Skipped | Self::Event { .. } => Seen::Alive,
            Self::Text(_)
            | Self::Citations(_)
            | Self::Reasoning(_)
            | Self::Thought(_)
            | Self::Refusal(_)
            | Self::Calling { .. }
            | Self::ToolCall(_)
            | Self::Native(_)
            | Self::Finish(_) => Seen::Content,
            Self::Usage(usage) => Seen::Usage(*usage),
            Self::End => Seen::End,
        }
    }
}

pub(crate) type Items = Pin<Box<dyn Stream<Item = Result<Item, Error>> + Send>>;

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

/// A stream of which a part was read already.
pub(super) struct Begun {
    before: vec::IntoIter<Item>,
    rest: Items,
}

impl Begun {
    pub(super) fn new(before: Vec<Item>, rest: Items) -> Self {
        Self { before: before.into_iter(), rest }
    }
}

impl Stream for Begun {
    type Item = Result<Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        match self.before.next() {
            Some(item) => Poll::Ready(Some(Ok(item))),
            None => self.rest.as_mut().poll_next(cx),
        }
    }
}
