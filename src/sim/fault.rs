use super::Spread;
use crate::Invalid;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What goes wrong with one answer: what it says, what breaks it and where, or both.
///
/// ```
/// use seawall::sim::{Fault, Phase};
/// use std::time::Duration;
///
/// Fault::status(429).header("retry-after", "1");
/// Fault::reset(Phase::InHead);
/// Fault::delay(Phase::BeforeHead, Duration::from_millis(300));
/// Fault::cut(Phase::InBody).with_status(503); // an error whose body is cut
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub(super) status: Option<u16>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<String>,
    pub(super) framing: Option<Framing>,
    pub(super) deed: Deed,
}

/// Where in an answer something happens.
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
    /// Between pieces of the body.
    InBody,
    /// All of the body is out, but not its end: the body is chunked and the last chunk is missing.
    AtEnd,
}

impl Phase {
    /// Each phase, in the order of an answer.
    pub const ALL: [Self; 5] = [Self::BeforeHead, Self::InHead, Self::BeforeBody, Self::InBody, Self::AtEnd];
}

/// How the end of a body is told.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// By `content-length`. The default.
    #[default]
    Length,
    /// By the last chunk.
    Chunked,
}

/// What about an answer is not what it should be.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Garble {
    /// The head is no HTTP.
    Head,
    /// The body is whole, but labelled `text/html`.
    ContentType,
    /// The body is JSON that stops in the middle, correctly framed.
    Json,
    /// A chunk's size is not a number.
    Chunk,
}

impl Garble {
    /// Each way.
    pub const ALL: [Self; 4] = [Self::Head, Self::ContentType, Self::Json, Self::Chunk];
}

/// The name of a fault, for logs and counters.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// Another status than the true one, or another head or body.
    Answer,
    /// The limit of requests or tokens a minute, truly reached.
    RateLimit,
    /// The limit of requests at a time, truly reached.
    Concurrency,
    /// A wait, and then the answer.
    Delay,
    /// Nothing more, with the connection left open.
    Silence,
    /// The connection closed in good order, too soon.
    Cut,
    /// The connection reset.
    Reset,
    /// Not what it should be: see [`Garble`].
    Garbled,
    /// A body larger than anybody should keep.
    HugeBody,
    /// A header larger than anybody should keep.
    HugeHeader,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Deed {
    #[default]
    Answer,
    Delay(Phase, Spread),
    Silence(Phase, Option<Duration>),
    Cut(Phase),
    Reset(Phase),
    Garble(Garble),
    HugeBody(u64),
    HugeHeader(u32),
}

impl Fault {
    pub(super) fn of(deed: Deed) -> Self {
        Self { status: None, headers: Vec::new(), body: None, framing: None, deed }
    }

    /// Answers with a status, and with an error body as the provider of the path words it unless [`body`](Self::body) gives one.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::of(Deed::Answer).with_status(status)
    }

    /// Waits at a phase, then goes on. In the body, between each two of its pieces.
    #[must_use]
    pub fn delay(at: Phase, wait: impl Into<Spread>) -> Self {
        Self::of(Deed::Delay(at, wait.into()))
    }

    /// Says nothing from this phase on, and leaves the connection open.
    #[must_use]
    pub fn silence(from: Phase) -> Self {
        Self::of(Deed::Silence(from, None))
    }

    /// Says nothing for so long, and closes the connection then.
    #[must_use]
    pub fn silence_for(from: Phase, wait: Duration) -> Self {
        Self::of(Deed::Silence(from, Some(wait)))
    }

    /// Closes the connection at a phase, in good order. A body then ends short of its announced length.
    #[must_use]
    pub fn cut(at: Phase) -> Self {
        Self::of(Deed::Cut(at))
    }

    /// Resets the connection at a phase.
    #[must_use]
    pub fn reset(at: Phase) -> Self {
        Self::of(Deed::Reset(at))
    }

    /// Answers with something malformed.
    #[must_use]
    pub fn garbled(what: Garble) -> Self {
        Self::of(Deed::Garble(what))
    }

    /// Answers with a body of so many bytes, made as it is sent. Status 500 unless another is given.
    #[must_use]
    pub fn huge_body(bytes: u64) -> Self {
        Self::of(Deed::HugeBody(bytes))
    }

    /// Answers with a header of so many bytes, made as it is sent; 16 MiB at most.
    #[must_use]
    pub fn huge_header(bytes: u32) -> Self {
        Self::of(Deed::HugeHeader(bytes))
    }

    /// Answers with another status.
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        Self { status: Some(status), ..self }
    }

    /// Adds a header, in place of the usual one of that name.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Answers with this body.
    #[must_use]
    pub fn body(self, body: impl Into<String>) -> Self {
        Self { body: Some(body.into()), ..self }
    }

    /// Frames the body in this way.
    #[must_use]
    pub fn framing(self, framing: Framing) -> Self {
        Self { framing: Some(framing), ..self }
    }

    /// Its name.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        match self.deed {
            Deed::Answer => FaultKind::Answer,
            Deed::Delay(..) => FaultKind::Delay,
            Deed::Silence(..) => FaultKind::Silence,
            Deed::Cut(_) => FaultKind::Cut,
            Deed::Reset(_) => FaultKind::Reset,
            Deed::Garble(_) => FaultKind::Garbled,
            Deed::HugeBody(_) => FaultKind::HugeBody,
            Deed::HugeHeader(_) => FaultKind::HugeHeader,
        }
    }

    /// Where it shows.
    #[must_use]
    pub fn phase(&self) -> Phase {
        match self.deed {
            Deed::Delay(phase, _) | Deed::Silence(phase, _) | Deed::Cut(phase) | Deed::Reset(phase) => phase,
            Deed::Garble(Garble::Head) => Phase::BeforeHead,
            Deed::Answer | Deed::HugeHeader(_) | Deed::Garble(Garble::ContentType) => Phase::InHead,
            Deed::HugeBody(_) | Deed::Garble(Garble::Json | Garble::Chunk) => Phase::InBody,
        }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        if let Some(status) = self.status
            && (!(200..=599).contains(&status) || [204, 205, 304].contains(&status))
        {
            let reason = format!("{status} is no final status with a body; use one of 200..=599 but 204, 205, 304");
            return Err(Invalid::new("status", reason));
        }
        if let Deed::HugeHeader(bytes) = self.deed
            && bytes > 16 << 20
        {
            return Err(Invalid::new("huge-header", "at most 16777216 bytes (16 MiB)"));
        }
        self.headers.iter().try_for_each(|(name, value)| check_header(name, value))
    }
}

fn check_header(name: &str, value: &str) -> Result<(), Invalid> {
    let bad = |what: String| Err(Invalid::new("headers", what));
    if http::HeaderName::try_from(name).is_err() {
        return bad(format!("{name:?} is no header name"));
    }
    if http::HeaderValue::try_from(value).is_err() {
        return bad(format!("the value of {name:?} holds characters that no header may hold"));
    }
    let framing = ["content-length", "transfer-encoding", "connection"];
    if framing.iter().any(|framing| name.eq_ignore_ascii_case(framing)) {
        return bad(format!("{name:?} is written by the framing; leave it out"));
    }
    Ok(())
}
