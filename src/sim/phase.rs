use serde::{Deserialize, Serialize};

/// Where in an answer something happens.
///
/// In TOML a word, `"in-body"`, or `{ after-tokens = 40 }`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The request was read; not a byte of the answer is out.
    BeforeHead,
    /// In the middle of the status line and headers.
    InHead,
    /// The head is out, the body has not begun.
    BeforeBody,
    /// Between pieces of the body: in the middle of a stream, between two of its tokens.
    InBody,
    /// In a stream, behind so many tokens, and 0 is behind the opening events: the first chunk, or `message_start`. Behind
    /// the last token where it has fewer. A fault at this phase is for no request that does not stream.
    AfterTokens(u32),
    /// All of the body is out, but not its end: the body is chunked and the last chunk is missing.
    AtEnd,
}

impl Phase {
    /// Each phase that every answer has, in its order.
    pub const ALL: [Self; 5] = [Self::BeforeHead, Self::InHead, Self::BeforeBody, Self::InBody, Self::AtEnd];
}
