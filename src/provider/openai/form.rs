use super::NoText;
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
    pub(super) ids: IdRule,
    pub(super) no_text: NoText,
    pub(super) thoughts: Thoughts,
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
