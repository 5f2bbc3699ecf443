//! One error, classified once, at the bottom; above it, layers only ask its questions.
mod copy;
mod display;
mod kind;
mod questions;
mod reason;
mod sources;
mod trail;

use crate::{Invalid, secret};
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

    /// Sets how often the last attempt was sent: 1 for an answer, 0 for what never left.
    #[must_use]
    pub fn with_sends(mut self, sends: u32) -> Self {
        self.0.sends = sends;
        self
    }

    /// Sets the wait that the other side asked for.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// Sets the HTTP status that decided, or the numeric code of a stream's error frame.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    /// Overrules the kind where the provider says so (`x-should-retry`, a request that fits no bucket).
    ///
    /// It never makes a bad key, a missing permission, an empty account or a refusal of ours retryable.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = Some(retryable);
        self
    }

    /// Sets which limit was hit.
    #[must_use]
    pub fn with_scope(mut self, scope: Scope) -> Self {
        self.0.scope = Some(scope);
        self
    }

    /// Sets how far the attempt had come.
    #[must_use]
    pub fn with_phase(mut self, phase: Phase) -> Self {
        self.0.phase = Some(phase);
        self
    }

    /// Sets why no further attempt was made. The outermost layer that gave up has the last word, as it overruled the others.
    #[must_use]
    pub fn with_gave_up(mut self, reason: GaveUp) -> Self {
        self.0.gave_up = Some(reason);
        self
    }

    /// Sets who answered, for people to read.
    #[must_use]
    pub fn with_provider(mut self, provider: impl Into<Cow<'static, str>>) -> Self {
        self.0.provider = Some(provider.into());
        self
    }

    /// Sets the provider's own code for this error.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<Box<str>>) -> Self {
        self.0.code = Some(code.into());
        self
    }

    /// Sets the provider's own words, which are kept out of `Display` and `Debug`. What looks like a key is masked.
    ///
    /// Words of ours, on an error of origin [`Local`](Origin::Local), are shown: never put a prompt there.
    #[must_use]
    pub fn with_message(mut self, message: impl AsRef<str>) -> Self {
        self.0.message = Some(secret::mask(message.as_ref()).into());
        self
    }

    /// Sets the id under which the provider knows the request.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<Box<str>>) -> Self {
        self.0.request_id = Some(id.into());
        self
    }

    /// Sets the error that this one was made of.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Sets the failure behind this one: that which opened the circuit, or that of the route that was asked first.
    ///
    /// It goes before any other [source](StdError::source).
    #[must_use]
    pub fn with_root(mut self, root: impl Into<Arc<Self>>) -> Self {
        self.0.root = Some(root.into());
        self
    }

    /// Sets the name of the route that was asked. The innermost layer that names one knows best, and stays.
    #[must_use]
    pub fn with_route(mut self, name: &Arc<str>) -> Self {
        self.0.route.get_or_insert_with(|| Arc::clone(name));
        self.0.trail.name(name);
        self
    }

    /// Marks that content had reached the caller, after which nothing may be replayed.
    #[must_use]
    pub fn delivered(mut self) -> Self {
        self.0.delivered = true;
        self
    }

    /// Takes that mark back, for a client that read the body of an answer and handed nothing of it on.
    #[must_use]
    pub fn undelivered(mut self) -> Self {
        self.0.delivered = false;
        self
    }

    /// Puts what was tried before this error in front of its own trail.
    #[must_use]
    pub fn after(mut self, earlier: Trail) -> Self {
        self.0.trail.prepend(earlier);
        self
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

    /// The name of the route that was asked, where there are several.
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
