use crate::provider::ids::IdRule;
use std::borrow::Cow;

/// How a server wants a request, where those that speak like OpenAI differ. What was encoded is kept by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// Whose thoughts, blocks and `extra` fields are its own.
    pub(super) provider: Cow<'static, str>,
    /// What the cap on tokens is called, for models that do not refuse the name.
    pub(super) cap: Cow<'static, str>,
    /// What the seed is called.
    pub(super) seed: Cow<'static, str>,
    /// Whether models that ask for it are told as `developer` what others are told as `system`.
    pub(super) has_developer: bool,
    /// Whether a stream tells its usage only where `stream_options` ask for it.
    pub(super) tells_usage_if_asked: bool,
    /// Whether the model's refusal has a field of its own. Elsewhere it is text: an unknown field is refused, or overlooked.
    pub(super) has_refusal: bool,
    pub(super) ids: IdRule,
    pub(super) no_text: NoText,
    pub(super) thoughts: Thoughts,
    /// Fields that every model of this provider refuses.
    pub(super) refuses: &'static [&'static str],
    /// Whether an answer can be held to a schema, by `response_format`.
    pub(super) has_schemas: bool,
    /// Whether a user may speak right behind a tool. Where not, the model must have said something in between.
    pub(super) has_user_after_tool: bool,
}

/// Which thoughts go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thoughts {
    /// None.
    Never,
    /// Those of turns that call tools, as `reasoning_content`, which must be there then.
    WithCalls,
    /// All that came as `reasoning_details`, as they came.
    Details,
}

/// How the `content` of a turn goes out that calls tools without a word. Each form is refused by some server.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoText {
    /// As `""`, which most take.
    #[default]
    Empty,
    /// As `null`, which is how OpenAI itself writes it.
    Null,
    /// Left out.
    Absent,
}

/// Which ids of tool calls a server takes. Others, such as another provider's, are translated, the same way each time.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallIds {
    /// Letters, digits, `_` and `-`, 40 at most, as OpenAI takes them.
    UpTo40,
    /// The same, 64 at most, as most others do.
    UpTo64,
    /// Letters and digits, nine of them, as Mistral takes them.
    Nine,
}

impl CallIds {
    pub(super) fn rule(self) -> IdRule {
        match self {
            Self::UpTo40 => IdRule::up_to(40),
            Self::UpTo64 => IdRule::up_to(64),
            Self::Nine => IdRule::exactly(9),
        }
    }
}
