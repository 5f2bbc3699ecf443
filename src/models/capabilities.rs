use std::sync::Arc;

/// What a model takes. Of one that is not known everything may be asked, so that a mistake shows at once, as a 400.
///
/// ```
/// use seawall::Models;
///
/// let model = Models::default().get("claude-opus-4-8");
/// assert!(model.is_known() && model.refuses("temperature"));
/// assert_eq!(model.max_output(), Some(128_000));
/// assert!(!Models::default().get("a-model-of-mine").refuses("temperature"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(Option<Arc<Row>>);

/// A row of the table, or one that was made of what providers answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) is_known: bool,
    pub(super) context_window: Option<u64>,
    pub(super) max_output: Option<u32>,
    pub(super) refuses: Vec<Box<str>>,
    pub(super) refuses_while_reasoning: Vec<Box<str>>,
    pub(super) reasons: bool,
    pub(super) not_both: Vec<(Box<str>, Box<str>)>,
    pub(super) developer: bool,
}

impl Capabilities {
    pub(super) fn of(row: Arc<Row>) -> Self {
        Self(Some(row))
    }

    /// Whether the table has the model.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.0.as_ref().is_some_and(|row| row.is_known)
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

    /// Whether a request with this field is refused: the name of a setter of [`chat::Request`](crate::chat::Request), or of a
    /// field of `extra`. Beside them it knows `prefill`, a history that ends with the model's turn, and `system`.
    #[must_use]
    pub fn refuses(&self, field: &str) -> bool {
        self.0.as_ref().is_some_and(|row| has(&row.refuses, field))
    }

    /// Whether a request with this field is refused while the model reasons.
    #[must_use]
    pub fn refuses_while_reasoning(&self, field: &str) -> bool {
        self.0.as_ref().is_some_and(|row| has(&row.refuses_while_reasoning, field))
    }

    /// Whether the model reasons where a request does not say, of those that can do both.
    #[must_use]
    pub fn reasons(&self) -> bool {
        self.0.as_ref().is_some_and(|row| row.reasons)
    }

    /// Fields that are refused together: of each pair the first is to be kept.
    pub fn not_both(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|row| row.not_both.iter().map(|(first, second)| (&**first, &**second)))
    }

    /// Whether its instructions are called `developer`, and no longer `system`, where the provider knows that role.
    #[must_use]
    pub fn wants_developer(&self) -> bool {
        self.0.as_ref().is_some_and(|row| row.developer)
    }

    /// What the cap on tokens is called in OpenAI's dialect: `usual`, or the other one of `max_tokens` and
    /// `max_completion_tokens` where the model refuses that name.
    #[must_use]
    pub fn token_cap_field<'a>(&self, usual: &'a str) -> &'a str {
        let other = if usual == "max_tokens" { "max_completion_tokens" } else { "max_tokens" };
        if self.refuses(usual) && !self.refuses(other) { other } else { usual }
    }

    /// The same, refusing one field more.
    pub(crate) fn refusing(&self, field: &str) -> Self {
        let mut row = self.0.as_deref().cloned().unwrap_or_default();
        row.refuses.push(field.into());
        Self(Some(Arc::new(row)))
    }

    pub(crate) fn refuses_nothing(&self) -> bool {
        self.0.is_none()
    }
}

fn has(fields: &[Box<str>], field: &str) -> bool {
    fields.iter().any(|refused| **refused == *field)
}
