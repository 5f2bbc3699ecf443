//! How an error is told more.
use super::{Error, GaveUp, Phase, Scope, Trail};
use crate::secret;
use std::{borrow::Cow, error::Error as StdError, sync::Arc, time::Duration};

impl Error {
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
    /// Words of ours, on an error of origin [`Local`](crate::Origin::Local), are shown: never put a prompt there.
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
}
