use super::{Answer, BadEvent, Framing, Garble, Phase, Spread};
use crate::Invalid;
use serde::Serialize;
use std::time::Duration;

/// What goes wrong with one answer: what it says, what breaks it and where, or both.
///
/// ```
/// use seawall::sim::{BadEvent, Fault, Phase};
/// use std::time::Duration;
///
/// Fault::status(429).header("retry-after", "1");
/// Fault::reset(Phase::InHead);
/// Fault::delay(Phase::BeforeHead, Duration::from_millis(300));
/// Fault::cut(Phase::InBody).with_status(503); // an error whose body is cut
/// Fault::truncate(Phase::AfterTokens(40)); // a stream that ends in good order, but not with its last event
/// Fault::event(Phase::BeforeBody, BadEvent::Error).with_status(529); // a 200 whose first event is an error
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub(super) status: Option<u16>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<String>,
    pub(super) framing: Option<Framing>,
    pub(super) answer: Option<Box<Answer>>,
    pub(super) deed: Deed,
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
    /// A body that ends too soon, and in good order.
    Truncate,
    /// An event that has no place in a stream: see [`BadEvent`].
    Event,
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
    Truncate(Phase),
    Event(Phase, BadEvent),
}

impl Fault {
    pub(super) fn of(deed: Deed) -> Self {
        Self { status: None, headers: Vec::new(), body: None, framing: None, answer: None, deed }
    }

    /// Answers with a status, and with an error body as the provider of the path words it unless [`body`](Self::body) gives one.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::of(Deed::Answer).with_status(status)
    }

    /// Answers in another way than the script does.
    #[must_use]
    pub fn answer(answer: Answer) -> Self {
        Self::of(Deed::Answer).with_answer(answer)
    }

    /// Waits at a phase, then goes on. In the body, between each two of its pieces; in a stream, of its events.
    #[must_use]
    pub fn delay(at: Phase, wait: impl Into<Spread>) -> Self {
        Self::of(Deed::Delay(at, wait.into()))
    }

    /// Says nothing from this phase on, and leaves the connection open. At the end of a stream: behind its last event.
    #[must_use]
    pub fn silence(from: Phase) -> Self {
        Self::of(Deed::Silence(from, None))
    }

    /// Says nothing for so long, and closes the connection then.
    #[must_use]
    pub fn silence_for(from: Phase, wait: Duration) -> Self {
        Self::of(Deed::Silence(from, Some(wait)))
    }

    /// Closes the connection at a phase, in good order. A body then ends short of its announced length, or of its last chunk.
    #[must_use]
    pub fn cut(at: Phase) -> Self {
        Self::of(Deed::Cut(at))
    }

    /// Resets the connection at a phase.
    #[must_use]
    pub fn reset(at: Phase) -> Self {
        Self::of(Deed::Reset(at))
    }

    /// Ends the body at a phase as if it were whole: its length or its last chunk says so. The phase is one in the body.
    #[must_use]
    pub fn truncate(at: Phase) -> Self {
        Self::of(Deed::Truncate(at))
    }

    /// Puts an event into a stream, at a phase from [`BeforeBody`](Phase::BeforeBody) (the first event) on.
    ///
    /// An [`Error`](BadEvent::Error) is worded as the provider words it for the status that [`with_status`](Self::with_status)
    /// gives, which is otherwise 500; the head says 200 all the same. [`body`](Self::body) gives the data of an error, or of what
    /// is [no JSON](BadEvent::NotJson), in place of the usual ones. For no request that does not stream.
    #[must_use]
    pub fn event(at: Phase, event: BadEvent) -> Self {
        Self::of(Deed::Event(at, event))
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

    /// Answers in another way than the script does, and breaks that.
    #[must_use]
    pub fn with_answer(self, answer: Answer) -> Self {
        Self { answer: Some(Box::new(answer)), ..self }
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
            Deed::Truncate(_) => FaultKind::Truncate,
            Deed::Event(..) => FaultKind::Event,
        }
    }

    /// Where it shows.
    #[must_use]
    pub fn phase(&self) -> Phase {
        match self.deed {
            Deed::Delay(phase, _)
            | Deed::Silence(phase, _)
            | Deed::Cut(phase)
            | Deed::Reset(phase)
            | Deed::Truncate(phase)
            | Deed::Event(phase, _) => phase,
            Deed::Garble(Garble::Head) => Phase::BeforeHead,
            Deed::Answer | Deed::HugeHeader(_) | Deed::Garble(Garble::ContentType) => Phase::InHead,
            Deed::HugeBody(_) | Deed::Garble(Garble::Json | Garble::Chunk) => Phase::InBody,
        }
    }

    /// Whether an error takes the place of the answer.
    pub(super) fn replaces(&self) -> bool {
        self.is_error() || (self.body.is_some() && !matches!(self.deed, Deed::Event(..)))
    }

    pub(super) fn is_error(&self) -> bool {
        self.status.is_some() && !matches!(self.deed, Deed::Event(..))
    }

    /// Whether it is for no request that does not stream.
    pub(super) fn needs_stream(&self) -> bool {
        matches!(self.deed, Deed::Event(..)) || matches!(self.phase(), Phase::AfterTokens(_))
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
        self.check_places()?;
        if let Some(answer) = &self.answer {
            answer.check()?;
        }
        self.headers.iter().try_for_each(|(name, value)| check_header(name, value))
    }
}

impl Fault {
    /// Whether what it says and where it does something go together.
    fn check_places(&self) -> Result<(), Invalid> {
        let (bad, phase) = (|setting, reason| Err(Invalid::new(setting, reason)), self.phase());
        let in_head = matches!(phase, Phase::BeforeHead | Phase::InHead);
        match self.deed {
            Deed::Truncate(_) if in_head || phase == Phase::AtEnd => {
                bad("truncate", "ends a body before its end: `before-body`, `in-body`, or `{ after-tokens = 40 }`")
            }
            Deed::Event(..) if in_head => bad("event", "stands in a body: `at` is `before-body` or later"),
            Deed::Event(_, BadEvent::Huge(_) | BadEvent::NotUtf8) if self.body.is_some() => {
                bad("body", "is the data of an error or of what is no JSON; the others have their own")
            }
            Deed::Event(_, event) if event != BadEvent::Error && self.status.is_some() => {
                bad("status", "words an error; this event is none")
            }
            _ if self.replaces() && matches!(phase, Phase::AfterTokens(_)) => {
                bad("after-tokens", "is a place in a stream, which `status` and `body` replace by an error")
            }
            _ if self.replaces() && self.answer.is_some() => {
                bad("answer", "is replaced by `status` and `body`; leave these or it out")
            }
            _ => Ok(()),
        }
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
