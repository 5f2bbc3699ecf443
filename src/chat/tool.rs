use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use std::sync::{Arc, LazyLock};

/// A tool as the model is told of it. Its clones share the text.
///
/// ```
/// use seawall::chat::Tool;
///
/// let add = Tool::new("add", "Adds two numbers.").parameters(serde_json::json!({
///     "type": "object",
///     "properties": { "a": { "type": "number" }, "b": { "type": "number" } },
///     "required": ["a", "b"],
/// }));
/// assert_eq!(add.name(), "add");
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tool {
    name: Arc<str>,
    description: Arc<str>,
    parameters: Arc<RawValue>,
}

/// The schema of a tool that takes nothing.
static NOTHING: LazyLock<Arc<RawValue>> =
    LazyLock::new(|| raw(&serde_json::json!({ "type": "object", "properties": {} })));

impl Tool {
    /// A tool that takes nothing, until [`parameters`](Self::parameters) says more.
    pub fn new(name: impl Into<Arc<str>>, description: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), description: description.into(), parameters: Arc::clone(&NOTHING) }
    }

    /// Sets the JSON schema of its arguments.
    #[must_use]
    pub fn parameters(self, schema: impl Into<Value>) -> Self {
        Self { parameters: raw(&schema.into()), ..self }
    }

    /// Sets the JSON schema as text that is sent byte for byte, so that the order of its fields stays.
    #[must_use]
    pub fn raw_parameters(self, schema: Box<RawValue>) -> Self {
        Self { parameters: schema.into(), ..self }
    }

    /// How the model calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the model reads about it.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The JSON schema of its arguments.
    #[must_use]
    pub fn schema(&self) -> &RawValue {
        &self.parameters
    }
}

fn raw(value: &Value) -> Arc<RawValue> {
    RawValue::from_string(value.to_string()).expect("a Value is written as JSON").into()
}

/// Whether the model may, must or must not call tools.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// Not at all.
    Never,
    /// At least one.
    Required,
    /// The tool of this name.
    Named(Arc<str>),
}

/// A tool that the model asks for. Its clones share the text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolCall {
    id: Arc<str>,
    name: Arc<str>,
    arguments: Arc<str>,
}

impl ToolCall {
    /// A call with its arguments as JSON text.
    pub fn new(id: impl Into<Arc<str>>, name: impl Into<Arc<str>>, arguments: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into() }
    }

    /// The id that ties the result to the call, as it came.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The tool's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The arguments as the model wrote them, which need not be valid JSON; they go back the same.
    #[must_use]
    pub fn arguments(&self) -> &str {
        &self.arguments
    }
}

/// What a tool gave. Its clones share the text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolResult {
    call_id: Arc<str>,
    content: Arc<str>,
}

impl ToolResult {
    /// The result of the call of this id.
    pub fn new(call_id: impl Into<Arc<str>>, content: impl Into<Arc<str>>) -> Self {
        Self { call_id: call_id.into(), content: content.into() }
    }

    /// The id of the call.
    #[must_use]
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// What the model reads.
    #[must_use]
    pub fn content(&self) -> &str {
        &self.content
    }
}
