use super::tool::raw;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use std::sync::Arc;

/// What an answer must look like.
///
/// ```
/// use seawall::chat::{self, ResponseFormat};
///
/// let schema = serde_json::json!({
///     "type": "object",
///     "properties": { "colour": { "type": "string" } },
///     "required": ["colour"],
///     "additionalProperties": false,
/// });
/// let format = ResponseFormat::json_schema("answer", schema).strict();
/// let request = chat::Request::new("gpt-4o-mini").user("What colour is the sea?").response_format(format);
/// # let _ = request;
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseFormat {
    /// Free.
    #[default]
    Text,
    /// One JSON object, of any form. Some providers want the word JSON in the prompt.
    Json,
    /// JSON that fits a schema.
    JsonSchema {
        /// A name of letters, digits, `_` and `-`.
        name: Arc<str>,
        /// The schema, sent byte for byte.
        schema: Arc<RawValue>,
        /// Whether the provider holds the model to it, which takes a part of JSON schema only.
        strict: bool,
    },
}

impl ResponseFormat {
    /// JSON that fits a schema, as far as the model can.
    pub fn json_schema(name: impl Into<Arc<str>>, schema: impl Into<Value>) -> Self {
        Self::JsonSchema { name: name.into(), schema: raw(&schema.into()), strict: false }
    }

    /// Has the provider hold the model to its schema. Without one it changes nothing.
    #[must_use]
    pub fn strict(self) -> Self {
        match self {
            Self::JsonSchema { name, schema, .. } => Self::JsonSchema { name, schema, strict: true },
            free => free,
        }
    }
}
