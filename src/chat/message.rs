use super::{Media, Native, Reasoning, Text, ToolCall, ToolResult, kept::Kept};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, sync::Arc};

/// One turn of a conversation. Its clones share the text, and what dialects made of it: of a history that grows only the new
/// turns are encoded, for as much memory again.
///
/// System text is no turn: it belongs to the [`Request`](super::Request), which sends it in front each time.
///
/// ```
/// use seawall::chat::{Message, ToolCall};
///
/// let turn = Message::assistant("").tool_call(ToolCall::new("call_1", "add", r#"{"a":4,"b":2}"#));
/// let result = Message::tool("call_1", "6");
/// assert_eq!((turn.text().as_ref(), turn.tool_calls().count()), ("", 1));
/// # let _ = result;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Message(Arc<Turn>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Turn {
    role: Role,
    parts: Vec<Part>,
    #[serde(skip)]
    kept: Kept,
}

/// Whose turn it is.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person, or the program, that asks.
    User,
    /// The model.
    Assistant,
    /// The tools that the model called.
    Tool,
}

/// A piece of a turn. Their order is kept.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Text.
    Text(Text),
    /// What the model thought.
    Reasoning(Reasoning),
    /// A picture.
    Image(Media),
    /// A document, such as a PDF.
    Document(Media),
    /// The model's own words for that it will not answer.
    Refusal(String),
    /// The model asks for a tool.
    ToolCall(ToolCall),
    /// What a tool gave.
    ToolResult(ToolResult),
    /// A block that seawall does not know, such as a search that the provider made.
    Native(Native),
}

impl Message {
    /// A turn of these parts.
    pub fn new(role: Role, parts: impl IntoIterator<Item = Part>) -> Self {
        Self(Arc::new(Turn { role, parts: parts.into_iter().collect(), kept: Kept::default() }))
    }

    /// A question.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, [Part::Text(Text::from(text))])
    }

    /// A turn of the model's. Empty text is left out, and the turn kept: it may ask for tools without a word.
    pub fn assistant(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::new(Role::Assistant, (!text.is_empty()).then(|| Part::Text(text.into())))
    }

    /// What a tool gave, for the call of this id.
    pub fn tool(call_id: impl Into<Arc<str>>, content: impl Into<Arc<str>>) -> Self {
        Self::new(Role::Tool, [Part::ToolResult(ToolResult::new(call_id, content))])
    }

    /// Adds a call of the model's.
    #[must_use]
    pub fn tool_call(self, call: ToolCall) -> Self {
        self.part(Part::ToolCall(call))
    }

    /// Adds a part.
    #[must_use]
    pub fn part(mut self, part: Part) -> Self {
        self.parts_mut().push(part);
        self
    }

    /// Whose turn it is.
    #[must_use]
    pub fn role(&self) -> Role {
        self.0.role
    }

    /// The parts, in order.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.0.parts
    }

    /// The text of all its text parts; copied only where there are several.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        self.parts().iter().fold(Cow::Borrowed(""), |text, part| match part {
            Part::Text(more) if text.is_empty() => Cow::Borrowed(more.as_str()),
            Part::Text(more) => text + more.as_str(),
            _ => text,
        })
    }

    /// What the model thought, in order.
    pub fn reasoning(&self) -> impl Iterator<Item = &Reasoning> {
        self.parts().iter().filter_map(|part| match part {
            Part::Reasoning(reasoning) => Some(reasoning),
            _ => None,
        })
    }

    /// The model's own words for that it will not answer.
    #[must_use]
    pub fn refusal(&self) -> Option<&str> {
        self.parts().iter().find_map(|part| match part {
            Part::Refusal(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The tools that the model asks for, in its order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts().iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    pub(crate) fn kept(&self) -> &Kept {
        &self.0.kept
    }

    /// Copies the turn first where somebody else holds it too.
    pub(super) fn parts_mut(&mut self) -> &mut Vec<Part> {
        let turn = Arc::make_mut(&mut self.0);
        turn.kept = Kept::default();
        &mut turn.parts
    }
}
