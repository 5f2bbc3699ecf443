use serde::{Deserialize, Serialize};

/// The tokens that a provider reports for an answer.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens of the prompt, those read from a cache or written to it included.
    pub input: u64,
    /// Tokens of the answer, those of its reasoning included.
    pub output: u64,
    /// Of `input`: read from the provider's cache.
    pub cached: u64,
    /// Of `input`: written to the provider's cache.
    pub cache_write: u64,
    /// Of `output`: spent on reasoning.
    pub reasoning: u64,
    /// Whether it is a guess of ours, since the provider said nothing: a token for four characters.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl Usage {
    /// Of prompt and answer, with nothing cached and no reasoning told apart.
    #[must_use]
    pub fn new(input: u64, output: u64) -> Self {
        Self { input, output, ..Self::default() }
    }
}
