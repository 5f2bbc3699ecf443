//! The questions that layers ask of an error, answered in one table.
use super::{Error, Kind, Origin};
use Failover::{Always, ByName, Never, OnRateLimit};
use Retry::{IfWaitIsNamed, No, Yes};

/// May another route be asked instead?
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failover {
    /// As soon as failover is on at all: this route was never asked.
    Always,
    /// Where failover on 429 was asked for.
    OnRateLimit,
    /// Only where this kind was asked for by name.
    ByName,
    /// It would fail there too, or it would hide a mistake.
    Never,
}

/// Would the same call, later, do better?
#[derive(Clone, Copy)]
enum Retry {
    Yes,
    IfWaitIsNamed,
    /// Unless the provider says otherwise.
    No,
    Never,
}

/// One row a kind: asked again, asked elsewhere, held against the provider.
const fn row(kind: Kind) -> (Retry, Failover, bool) {
    match kind {
        Kind::RateLimited => (Yes, OnRateLimit, false),
        Kind::Overloaded | Kind::Server | Kind::Timeout | Kind::Transport => (Yes, ByName, true),
        Kind::Conflict => (Yes, Never, false),
        Kind::QuotaExhausted => (Retry::Never, ByName, false),
        Kind::ContextLength => (No, ByName, false),
        Kind::NotFound
        | Kind::InvalidRequest
        | Kind::UnsupportedParameter
        | Kind::PayloadTooLarge
        | Kind::ContentFiltered
        | Kind::Cancelled
        | Kind::Unknown => (No, Never, false),
        Kind::CircuitOpen | Kind::CoolingDown | Kind::LocalLimit => (IfWaitIsNamed, Always, false),
        Kind::Auth | Kind::Permission | Kind::Deadline | Kind::SendsExhausted | Kind::Credit => {
            (Retry::Never, Never, false)
        }
    }
}

impl Error {
    /// Whether the same call to the same provider may pass later, with nobody acting.
    ///
    /// How long it is worth waiting for is the retry policy's own question. Nothing is retryable once content was
    /// delivered.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        !self.is_delivered()
            && match row(self.kind()).0 {
                Yes => self.0.retryable.unwrap_or(true),
                No => self.0.retryable.unwrap_or(false),
                IfWaitIsNamed => self.retry_after().is_some(),
                Retry::Never => false,
            }
    }

    /// Whether another route may be asked, and what must have been asked for before it is.
    #[must_use]
    pub fn failover(&self) -> Failover {
        match (row(self.kind()).1, self.kind()) {
            _ if self.is_delivered() => Never,
            (_, Kind::Overloaded) if self.status() == Some(429) => OnRateLimit,
            (failover, _) => failover,
        }
    }

    /// Whether it speaks against the provider's health, as a circuit breaker counts it.
    #[must_use]
    pub fn is_against_provider(&self) -> bool {
        self.origin() == Origin::Provider && row(self.kind()).2
    }

    /// Whether this is a refusal of ours, for which nothing was sent.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.kind().is_refusal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn made(kind: Kind) -> Error {
        if kind.is_refusal() { Error::refusal(kind) } else { Error::provider(kind) }
    }

    #[test]
    fn what_is_worth_asking_again() {
        let retryable: Vec<_> = Kind::ALL.iter().copied().filter(|&kind| made(kind).is_retryable()).collect();
        let transient =
            [Kind::RateLimited, Kind::Overloaded, Kind::Server, Kind::Timeout, Kind::Transport, Kind::Conflict];
        assert_eq!(retryable, transient);
        let waits = |&kind: &Kind| made(kind).with_retry_after(Duration::ZERO).is_retryable();
        let named = [Kind::CircuitOpen, Kind::CoolingDown, Kind::LocalLimit];
        assert_eq!(Kind::ALL.iter().copied().filter(waits).skip(6).collect::<Vec<_>>(), named);
        assert!(Kind::ALL.iter().copied().all(|kind| !made(kind).delivered().is_retryable()));
    }

    #[test]
    fn a_provider_may_overrule_the_kind_but_not_a_wall() {
        assert!(!made(Kind::RateLimited).with_retryable(false).is_retryable());
        assert!(made(Kind::InvalidRequest).with_retryable(true).is_retryable());
        for kind in [Kind::Auth, Kind::Permission, Kind::QuotaExhausted, Kind::Credit, Kind::Deadline] {
            assert!(!made(kind).with_retryable(true).with_retry_after(Duration::ZERO).is_retryable(), "{kind:?}");
        }
    }

    #[test]
    fn overload_that_came_as_a_429_switches_with_the_rate_limits() {
        assert_eq!(made(Kind::Overloaded).failover(), ByName);
        assert_eq!(made(Kind::Overloaded).with_status(429).failover(), OnRateLimit);
        assert_eq!(made(Kind::RateLimited).delivered().failover(), Never);
    }

    #[test]
    fn only_the_providers_own_failures_speak_against_it() {
        let against: Vec<_> = Kind::ALL.iter().copied().filter(|&kind| made(kind).is_against_provider()).collect();
        assert_eq!(against, [Kind::Overloaded, Kind::Server, Kind::Timeout, Kind::Transport]);
        assert!(!Error::token_server(Kind::Server).is_against_provider());
    }
}
