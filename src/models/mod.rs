//! What models take, by their names.
use std::sync::Arc;

/// What a model takes. Of one that is not known everything may be asked, so that a mistake shows at once, as a 400.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(Option<Arc<Row>>);

#[derive(Debug, Default, PartialEq, Eq)]
struct Row {
    context_window: Option<u64>,
    max_output: Option<u32>,
    refuses: Vec<Box<str>>,
}

impl Capabilities {
    /// Whether the table has the model.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.0.is_some()
    }

    /// The tokens that prompt and answer may have together.
    #[must_use]
    pub fn context_window(&self) -> Option<u64> {
        self.0.as_ref()?.context_window
    }

    /// The tokens that an answer may have.
    #[must_use]
    pub fn max_output(&self) -> Option<u32> {
        self.0.as_ref()?.max_output
    }

    /// Whether a request with this field is refused.
    #[must_use]
    pub fn refuses(&self, field: &str) -> bool {
        self.0.as_ref().is_some_and(|row| row.refuses.iter().any(|refused| **refused == *field))
    }
}
