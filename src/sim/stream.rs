use super::{LineEnds, Spread, spread::optional_wait};
use crate::Invalid;
use serde::Deserialize;
use std::{num::NonZeroUsize, time::Duration};

/// How an answer streams, where a request asks for that: its timing, and the shape of its bytes.
///
/// A stream is complete, and at once, unless something here says otherwise. Its tokens are the words of a text with the
/// space before them, the name of each tool that is called, and four characters of arguments each.
///
/// ```
/// use seawall::sim::{Answer, LineEnds, Stream};
/// use std::time::Duration;
///
/// let ms = Duration::from_millis;
/// let slow = Stream::default().first_token(ms(800)).per_token(ms(20)..ms(60)).keep_alive(ms(500));
/// let torn = Stream::default().chunks(1.try_into()?).line_ends(LineEnds::CrLf).without_terminator();
/// let answer = Answer::default().text("Twelve pilots, one pier.").stream(slow);
/// # let _ = (answer, torn);
/// # Ok::<(), std::num::TryFromIntError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Stream {
    pub(super) first_token: Spread,
    pub(super) per_token: Spread,
    #[serde(deserialize_with = "optional_wait")]
    pub(super) keep_alive: Option<Duration>,
    pub(super) line_ends: LineEnds,
    pub(super) chunks: Option<NonZeroUsize>,
    pub(super) usage: ReportUsage,
    pub(super) terminator: bool,
}

/// Whether a stream tells what it cost.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportUsage {
    /// As the provider does: OpenAI where `stream_options.include_usage` asks for it, Anthropic always. The default.
    #[default]
    AsAsked,
    /// Also where nobody asked.
    Always,
    /// Not even where it was asked for.
    Never,
}

impl Default for Stream {
    fn default() -> Self {
        Self {
            first_token: Spread::default(),
            per_token: Spread::default(),
            keep_alive: None,
            line_ends: LineEnds::default(),
            chunks: None,
            usage: ReportUsage::default(),
            terminator: true,
        }
    }
}

impl Stream {
    /// Takes so long for the first token, behind the head and the opening events. Default 0.
    #[must_use]
    pub fn first_token(self, wait: impl Into<Spread>) -> Self {
        Self { first_token: wait.into(), ..self }
    }

    /// Takes so long for each token behind the first. Default 0.
    #[must_use]
    pub fn per_token(self, wait: impl Into<Spread>) -> Self {
        Self { per_token: wait.into(), ..self }
    }

    /// Gives a sign of life this often while it waits for a token or is delayed by a fault: a comment in OpenAI's form, a
    /// `ping` in Anthropic's. None by default. A [silence](super::Fault::silence) is one all the same.
    #[must_use]
    pub fn keep_alive(self, every: Duration) -> Self {
        Self { keep_alive: Some(every), ..self }
    }

    /// Ends lines so.
    #[must_use]
    pub fn line_ends(self, line_ends: LineEnds) -> Self {
        Self { line_ends, ..self }
    }

    /// Cuts the bytes into chunks of this size, wherever that is; what comes before a wait is not held back for more. By
    /// default an event is a chunk.
    #[must_use]
    pub fn chunks(self, bytes: NonZeroUsize) -> Self {
        Self { chunks: Some(bytes), ..self }
    }

    /// Tells the usage, or does not.
    #[must_use]
    pub fn usage(self, usage: ReportUsage) -> Self {
        Self { usage, ..self }
    }

    /// Leaves the protocol's own ending out: `[DONE]` in OpenAI's form, `message_stop` in Anthropic's.
    #[must_use]
    pub fn without_terminator(self) -> Self {
        Self { terminator: false, ..self }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        match self.keep_alive {
            Some(Duration::ZERO) => Err(Invalid::new("keep-alive", "a sign of life takes time between; leave it out")),
            _ => Ok(()),
        }
    }
}
