//! Parts that keep a provider's own form beside what everybody can read.
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::value::RawValue;
use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

/// JSON as one provider wrote it, byte for byte. Only that provider gets it back; for every other it is left out.
///
/// It is stored as text, so that no format on the way changes a byte of it: a signature must fit when it comes back.
/// Its clones share it.
#[derive(Clone)]
pub struct Native(Arc<Owned>);

struct Owned {
    dialect: Arc<str>,
    json: Box<RawValue>,
}

impl Native {
    /// JSON of the [dialect](crate::provider::Dialect::name) of this name.
    pub fn new(dialect: impl Into<Arc<str>>, json: Box<RawValue>) -> Self {
        Self(Arc::new(Owned { dialect: dialect.into(), json }))
    }

    /// Whose it is.
    #[must_use]
    pub fn dialect(&self) -> &str {
        &self.0.dialect
    }

    /// What was received.
    #[must_use]
    pub fn json(&self) -> &RawValue {
        &self.0.json
    }

    /// What was received, for the provider that it came from.
    #[must_use]
    pub fn json_for(&self, dialect: &str) -> Option<&RawValue> {
        (self.dialect() == dialect).then(|| self.json())
    }

    fn fields(&self) -> (&str, &str) {
        (self.dialect(), self.json().get())
    }
}

impl PartialEq for Native {
    fn eq(&self, other: &Self) -> bool {
        self.fields() == other.fields()
    }
}

impl Eq for Native {}

impl Hash for Native {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fields().hash(state);
    }
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dialect, json) = self.fields();
        f.debug_struct("Native").field("dialect", &dialect).field("json", &json).finish()
    }
}

impl Serialize for Native {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fields().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Native {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (dialect, json) = <(Arc<str>, String)>::deserialize(deserializer)?;
        match RawValue::from_string(json) {
            Ok(json) => Ok(Self::new(dialect, json)),
            Err(_) => Err(D::Error::custom("what a provider wrote is stored damaged: it is no JSON")),
        }
    }
}

/// Text, with what it cites.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Text {
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    citations: Option<Native>,
}

impl Text {
    /// Adds what the text cites, in the provider's own form.
    #[must_use]
    pub fn with_citations(self, citations: impl Into<Option<Native>>) -> Self {
        Self { citations: citations.into(), ..self }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What it cites, in the provider's own form.
    #[must_use]
    pub fn citations(&self) -> Option<&Native> {
        self.citations.as_ref()
    }

    pub(super) fn cite(&mut self, citations: Native) {
        self.citations = Some(citations);
    }

    pub(super) fn push_str(&mut self, more: &str) {
        self.text.push_str(more);
    }
}

impl<T: Into<String>> From<T> for Text {
    fn from(text: T) -> Self {
        Self { text: text.into(), citations: None }
    }
}

/// What the model thought before it answered.
///
/// The thoughts go back to nobody but the provider that they came from, and in its own form: it signs them, or refuses
/// a turn without them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reasoning {
    text: Arc<str>,
    native: Native,
}

impl Reasoning {
    /// Thoughts, and the provider's own form of them.
    pub fn new(text: impl Into<Arc<str>>, native: Native) -> Self {
        Self { text: text.into(), native }
    }

    /// The thoughts as far as the provider shows them: empty where it hides them.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The whole block as it was received, with its signature where it has one.
    #[must_use]
    pub fn native(&self) -> &Native {
        &self.native
    }
}
