use super::{Media, Part, kept::Kept};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a tool gave: text, and images or documents where the provider can take them. Its clones share everything.
///
/// A provider whose tools give text only reads the rest in a user turn behind the results. It goes into a turn of
/// [`Role::Tool`](super::Role::Tool); for text alone [`Request::tool_result`](super::Request::tool_result) is shorter.
///
/// ```
/// use seawall::chat::{Media, Message, Part, Role, ToolResult};
///
/// let plot = ToolResult::new("call_1", "The plot.").image(Media::base64("image/png", "iVBORw0KGgo="));
/// let failed = ToolResult::new("call_2", "There is no such file.").error();
/// assert!(failed.is_error() && plot.parts().len() == 1);
/// let turn = Message::new(Role::Tool, [plot, failed].map(Part::ToolResult)); // `request.message(turn)`
/// # let _ = turn;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolResult(Arc<Given>);

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Given {
    call_id: Arc<str>,
    content: Arc<str>,
    #[serde(default)]
    is_error: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part>,
    #[serde(skip)]
    kept: Kept,
}

impl ToolResult {
    /// The result of the call of this id.
    pub fn new(call_id: impl Into<Arc<str>>, content: impl Into<Arc<str>>) -> Self {
        Self(Arc::new(Given { call_id: call_id.into(), content: content.into(), ..Given::default() }))
    }

    /// Says that the tool failed, where a provider has a place for that; the content should say how.
    #[must_use]
    pub fn error(self) -> Self {
        self.set(|given| given.is_error = true)
    }

    /// Adds an image.
    #[must_use]
    pub fn image(self, image: Media) -> Self {
        self.set(|given| given.parts.push(Part::Image(image)))
    }

    /// Adds a document.
    #[must_use]
    pub fn document(self, document: Media) -> Self {
        self.set(|given| given.parts.push(Part::Document(document)))
    }

    /// The id of the call.
    #[must_use]
    pub fn call_id(&self) -> &str {
        &self.0.call_id
    }

    /// What the model reads.
    #[must_use]
    pub fn content(&self) -> &str {
        &self.0.content
    }

    /// Whether the tool failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.0.is_error
    }

    /// The images and documents.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.0.parts
    }

    pub(crate) fn kept(&self) -> &Kept {
        &self.0.kept
    }

    fn set(mut self, change: impl FnOnce(&mut Given)) -> Self {
        let given = Arc::make_mut(&mut self.0);
        given.kept = Kept::default();
        change(given);
        self
    }
}
