use super::Native;
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
    #[serde(default)]
    strict: bool,
}

/// The schema of a tool that takes nothing.
static NOTHING: LazyLock<Arc<RawValue>> =
    LazyLock::new(|| raw(&serde_json::json!({ "type": "object", "properties": {} })));

impl Tool {
    /// A tool that takes nothing, until [`parameters`](Self::parameters) says more.
    pub fn new(name: impl Into<Arc<str>>, description: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), description: description.into(), parameters: Arc::clone(&NOTHING), strict: false }
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

    /// Has the provider hold the model to the schema, which takes a part of JSON schema only.
    #[must_use]
    pub fn strict(self) -> Self {
        Self { strict: true, ..self }
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

    /// Whether the provider holds the model to the schema.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.strict
    }
}

pub(super) fn raw(value: &Value) -> Arc<RawValue> {
    RawValue::from_string(value.to_string()).expect("a Value is written as JSON").into()
}

/// Whether the model may, must or must not call tools.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    native: Option<Native>,
}

impl ToolCall {
    /// A call with its arguments as JSON text.
    pub fn new(id: impl Into<Arc<str>>, name: impl Into<Arc<str>>, arguments: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into(), native: None }
    }

    /// Keeps the call as the provider wrote it, which says more than seawall knows: a signature of its thoughts, say.
    #[must_use]
    pub fn with_native(self, native: impl Into<Option<Native>>) -> Self {
        Self { native: native.into(), ..self }
    }

    /// The call as the provider wrote it, where that says more.
    #[must_use]
    pub fn native(&self) -> Option<&Native> {
        self.native.as_ref()
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
