//! One error, classified once, at the bottom; above it, layers only ask its questions.
mod copy;
mod display;
mod kind;
mod questions;
mod reason;
mod sources;
mod trail;
mod with;

use crate::Invalid;
use std::{borrow::Cow, error::Error as StdError, sync::Arc, time::Duration};

pub use kind::{Kind, Origin};
pub use questions::Failover;
pub use reason::{GaveUp, Phase, Scope};
pub(crate) use sources::chain;
pub use trail::{Attempt, Trail};

/// What went wrong with a call, classified once, at the bottom.
///
/// It is one pointer wide. Above the leaf nothing looks at a status, a header or a string: layers and callers ask
/// [`is_retryable`](Self::is_retryable), [`failover`](Self::failover),
/// [`is_against_provider`](Self::is_against_provider) and [`retry_after`](Self::retry_after).
///
/// ```
/// use seawall::{Error, Kind};
/// use std::time::Duration;
///
/// let error = Error::provider(Kind::RateLimited).with_status(429).with_retry_after(Duration::from_millis(1574));
/// assert!(error.is_retryable());
/// assert_eq!(error.to_string(), "rate limited (429), asks to wait 1.574s, 1 send");
/// ```
///
/// Neither `Display` nor `Debug` shows the provider's own words or the [source](StdError::source): they may repeat a
/// prompt or a key. Ask [`message`](Self::message) for them where that is wanted.
pub struct Error(Box<Inner>);

struct Inner {
    kind: Kind,
    origin: Origin,
    sends: u32,
    delivered: bool,
    retryable: Option<bool>,
    status: Option<u16>,
    retry_after: Option<Duration>,
    scope: Option<Scope>,
    phase: Option<Phase>,
    gave_up: Option<GaveUp>,
    provider: Option<Cow<'static, str>>,
    code: Option<Box<str>>,
    message: Option<Box<str>>,
    request_id: Option<Box<str>>,
    trail: Trail,
    route: Option<Arc<str>>,
    root: Option<Arc<Error>>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// A provider's answer, or the lack of one, to a request that was sent once.
    #[must_use]
    pub fn provider(kind: Kind) -> Self {
        Self::new(kind, Origin::Provider, 1)
    }

    /// A token server's answer, or the lack of one; the provider was not asked.
    #[must_use]
    pub fn token_server(kind: Kind) -> Self {
        Self::new(kind, Origin::TokenServer, 0)
    }

    /// A refusal of ours: nothing was sent.
    #[must_use]
    pub fn refusal(kind: Kind) -> Self {
        Self::new(kind, Origin::Local, 0)
    }

    fn new(kind: Kind, origin: Origin, sends: u32) -> Self {
        Self(Box::new(Inner {
            kind,
            origin,
            sends,
            delivered: false,
            retryable: None,
            status: None,
            retry_after: None,
            scope: None,
            phase: None,
            gave_up: None,
            provider: None,
            code: None,
            message: None,
            request_id: None,
            trail: Trail::default(),
            route: None,
            root: None,
            source: None,
        }))
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// Who said so.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.0.origin
    }

    /// Every request sent for this call, the earlier attempts of its trail included.
    #[must_use]
    pub fn sends(&self) -> u32 {
        self.0.sends.saturating_add(self.0.trail.sends())
    }

    /// How long to wait before asking again: what the other side said, or how long a refusal of ours holds. Never a guess.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The HTTP status that decided, where there was one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// Which limit was hit, where the answer tells.
    #[must_use]
    pub fn scope(&self) -> Option<Scope> {
        self.0.scope
    }

    /// How far the attempt had come, where that is known.
    #[must_use]
    pub fn phase(&self) -> Option<Phase> {
        self.0.phase
    }

    /// Why no further attempt was made, where a layer would have made one.
    #[must_use]
    pub fn gave_up(&self) -> Option<GaveUp> {
        self.0.gave_up
    }

    /// Whether any content had reached the caller.
    #[must_use]
    pub fn is_delivered(&self) -> bool {
        self.0.delivered
    }

    /// The name of who answered, where the client gave one.
    #[must_use]
    pub fn provider_name(&self) -> Option<&str> {
        self.0.provider.as_deref()
    }

    /// The provider's own code, as it came.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// The provider's own words, shortened, with keys masked. They may repeat parts of the prompt: show them to whoever wrote it.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.0.message.as_deref()
    }

    /// The id under which the provider knows the request, for a support ticket.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// The failure behind this one: that which opened the circuit, or that of the route that was asked first.
    #[must_use]
    pub fn root(&self) -> Option<&Self> {
        self.0.root.as_deref()
    }

    /// The name of the route that was asked, in a stack or a failover; its number, where it was given none.
    #[must_use]
    pub fn route(&self) -> Option<&str> {
        self.0.route.as_deref()
    }

    /// The attempts that failed before this one, oldest first.
    #[must_use]
    pub fn trail(&self) -> &Trail {
        &self.0.trail
    }
}

/// A request that makes no sense, found before anything was sent.
impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Self::refusal(Kind::InvalidRequest).with_message(invalid.to_string())
    }
}
