use super::{Item, Message, Part, Role};
use crate::Usage;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};

/// What a model answered, whole or as far as a stream was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    message: Message,
    finish_reason: Option<FinishReason>,
    usage: Option<Usage>,
    model: Option<Box<str>>,
    id: Option<Box<str>>,
    #[serde(skip)]
    received: Option<(&'static str, Bytes)>,
}

/// Why the model stopped.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Box<str>", into = "Box<str>")]
pub enum FinishReason {
    /// It was done, or wrote a stop text.
    Stop,
    /// It reached the cap on its tokens, or the end of its context: the answer is cut.
    Length,
    /// It asks for tools. Go by [`tool_calls`](Message::tool_calls) instead: some servers say `stop` all the same.
    ToolCalls,
    /// A filter withheld the rest.
    ContentFilter,
    /// In the provider's own word.
    Other(Box<str>),
}

impl Answer {
    /// An answer of this message.
    #[must_use]
    pub fn new(message: Message) -> Self {
        Self { message, finish_reason: None, usage: None, model: None, id: None, received: None }
    }

    /// Sets why the model stopped.
    #[must_use]
    pub fn with_finish_reason(self, reason: impl Into<Option<FinishReason>>) -> Self {
        Self { finish_reason: reason.into(), ..self }
    }

    /// Sets the tokens that it cost.
    #[must_use]
    pub fn with_usage(self, usage: impl Into<Option<Usage>>) -> Self {
        Self { usage: usage.into(), ..self }
    }

    /// Sets the model that answered.
    #[must_use]
    pub fn with_model(self, model: impl Into<Box<str>>) -> Self {
        Self { model: Some(model.into()), ..self }
    }

    /// Sets the provider's id of the answer.
    #[must_use]
    pub fn with_id(self, id: impl Into<Box<str>>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    /// The turn to add to the history, also where its text is empty.
    #[must_use]
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// Why the model stopped, where the provider said so.
    #[must_use]
    pub fn finish_reason(&self) -> Option<&FinishReason> {
        self.finish_reason.as_ref()
    }

    /// The tokens that it cost, where the provider said so.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// The model that answered, as the provider calls it: often longer than the name that was asked for.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The provider's id of the answer.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Keeps the body that it was made of, and the [form of the wire](crate::provider::Dialect::protocol) that it is of.
    #[must_use]
    pub fn with_received(self, protocol: &'static str, body: impl Into<Bytes>) -> Self {
        Self { received: Some((protocol, body.into())), ..self }
    }

    /// The body as it was received, if it is of this form of the wire, where [`Request::received`](super::Request::received) asked
    /// for it.
    #[must_use]
    pub fn received(&self, protocol: &str) -> Option<&Bytes> {
        self.received.as_ref().filter(|(form, _)| *form == protocol).map(|(_, body)| body)
    }

    /// The items of a stream that gives this answer, each text in one piece, up to [`Item::End`].
    #[must_use]
    pub fn items(&self) -> Vec<Item> {
        let started = Item::Started { id: self.id().map(Arc::from), model: self.model().map(Arc::from) };
        let mut items = vec![started];
        let mut calls = 0;
        for part in self.message.parts() {
            match part {
                Part::Text(text) => {
                    items.push(Item::Text(text.as_str().into()));
                    items.extend(text.citations().cloned().map(Item::Citations));
                }
                Part::Reasoning(thoughts) => {
                    items.push(Item::Reasoning(thoughts.text().into()));
                    items.push(Item::Thought(thoughts.clone()));
                }
                Part::Refusal(text) => items.push(Item::Refusal(text.as_str().into())),
                Part::ToolCall(call) => {
                    let (name, arguments) = (call.name().into(), call.arguments().into());
                    items.push(Item::Calling { index: calls, name, arguments });
                    items.push(Item::ToolCall(call.clone()));
                    calls += 1;
                }
                Part::Native(block) => items.push(Item::Native(block.clone())),
                Part::Image(_) | Part::Document(_) | Part::ToolResult(_) => {}
            }
        }
        items.extend(self.usage.map(Item::Usage));
        items.extend(self.finish_reason.clone().map(Item::Finish));
        items.push(Item::End);
        items
    }

    /// Adds an item of a stream.
    pub(super) fn take(&mut self, item: &Item) {
        match item {
            Item::Text(text) => match self.message.parts_mut().last_mut() {
                // Behind what it cites, a text is whole.
                Some(Part::Text(before)) if before.citations().is_none() => before.push_str(text),
                _ => self.message.parts_mut().push(Part::Text(text.as_ref().into())),
            },
            Item::Citations(cited) => {
                if let Some(Part::Text(before)) = self.message.parts_mut().last_mut() {
                    before.cite(cited.clone());
                }
            }
            Item::Refusal(text) => match self.message.parts_mut().last_mut() {
                Some(Part::Refusal(before)) => before.push_str(text),
                _ => self.message.parts_mut().push(Part::Refusal(text.as_ref().into())),
            },
            Item::Thought(thoughts) => self.message.parts_mut().push(Part::Reasoning(thoughts.clone())),
            Item::ToolCall(call) => self.message.parts_mut().push(Part::ToolCall(call.clone())),
            Item::Native(block) => self.message.parts_mut().push(Part::Native(block.clone())),
            Item::Started { id, model } => {
                self.id = id.as_deref().map(Box::from).or_else(|| self.id.take());
                self.model = model.as_deref().map(Box::from).or_else(|| self.model.take());
            }
            Item::Usage(usage) => self.usage = Some(*usage),
            Item::Finish(reason) => self.finish_reason = Some(reason.clone()),
            Item::Alive
            | Item::Reasoning(_)
            | Item::Calling { .. }
            | Item::Skipped
            | Item::Event { .. }
            | Item::End => {}
        }
    }
}

impl Default for Answer {
    fn default() -> Self {
        Self::new(Message::new(Role::Assistant, []))
    }
}

impl FinishReason {
    /// The reason as OpenAI spells it, or the provider's own word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Other(word) => word,
        }
    }
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Box<str>> for FinishReason {
    fn from(word: Box<str>) -> Self {
        match &*word {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "tool_calls" => Self::ToolCalls,
            "content_filter" => Self::ContentFilter,
            _ => Self::Other(word),
        }
    }
}

impl From<FinishReason> for Box<str> {
    fn from(reason: FinishReason) -> Self {
        match reason {
            FinishReason::Other(word) => word,
            known => known.as_str().into(),
        }
    }
}
