use crate::{Error, Kind};
use http::StatusCode;
use std::{borrow::Cow, time::Duration};

/// What a client of yours is told of an [`Error`]: what it means for the client, and nothing of what is behind.
///
/// No provider's name, key, account or URL is in it. The provider's own words are, where they are about the request, as its
/// writer must know what to change; keys are masked there as everywhere.
///
/// | [`Kind`] | status |
/// |---|---|
/// | `RateLimited`, `CoolingDown`, `LocalLimit` | 429, with the wait where one is known |
/// | `Overloaded`, `CircuitOpen`, `Conflict`, `Cancelled` | 503, with the wait where one is known |
/// | `Timeout`, `Deadline` | 504 |
/// | `Credit` | 402 |
/// | `PayloadTooLarge` | 413 |
/// | `InvalidRequest`, `UnsupportedParameter`, `ContentFiltered`, `ContextLength` | 400 |
/// | `NotFound` | 404: there is no such model |
/// | all else: a key, an account, a bug, for us to mend | 502 |
#[derive(Clone, Debug)]
pub struct Failure {
    status: StatusCode,
    kind: Kind,
    message: Cow<'static, str>,
    retry_after: Option<Duration>,
    is_retryable: bool,
}

impl Failure {
    /// Says what an error means.
    #[must_use]
    pub fn of(error: &Error) -> Self {
        let kind = error.kind();
        let (status, words) = meaning(kind);
        let own = error.message().filter(|_| is_about_the_request(kind));
        let message = own.map_or(Cow::Borrowed(words), |own| Cow::Owned(own.to_owned()));
        let is_retryable = error.is_retryable() || matches!(kind, Kind::Cancelled);
        let retry_after = error.retry_after().filter(|_| status.as_u16() == 429 || status.as_u16() == 503);
        Self { status, kind, message, retry_after, is_retryable }
    }

    /// With another status, for what is HTTP's own, such as a method that nobody serves.
    #[must_use]
    pub fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// The status of an HTTP response.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// A sentence for people.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// When to ask again, where that is known.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The same in whole seconds, rounded up, as the header `Retry-After` has it: one second at least.
    #[must_use]
    pub fn retry_after_secs(&self) -> Option<u64> {
        let wait = self.retry_after?;
        Some((wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1))
    }

    /// Whether the same request may do better later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.is_retryable
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Self::of(error)
    }
}

fn is_about_the_request(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::InvalidRequest
            | Kind::UnsupportedParameter
            | Kind::ContextLength
            | Kind::PayloadTooLarge
            | Kind::ContentFiltered
    )
}

fn meaning(kind: Kind) -> (StatusCode, &'static str) {
    match kind {
        Kind::RateLimited | Kind::CoolingDown => {
            (StatusCode::TOO_MANY_REQUESTS, "Too many requests: a limit of the model is used up. Ask again later.")
        }
        Kind::LocalLimit => (StatusCode::TOO_MANY_REQUESTS, "Too many requests at once. Ask again later."),
        Kind::Overloaded | Kind::CircuitOpen => {
            (StatusCode::SERVICE_UNAVAILABLE, "The model has no capacity at the moment. Ask again later.")
        }
        Kind::Conflict => (StatusCode::SERVICE_UNAVAILABLE, "The request met another one. Ask again."),
        Kind::Cancelled => (StatusCode::SERVICE_UNAVAILABLE, "The service gave the request up. Ask again."),
        Kind::Timeout => (StatusCode::GATEWAY_TIMEOUT, "The model did not answer in time."),
        Kind::Deadline => (StatusCode::GATEWAY_TIMEOUT, "The time for this request is over."),
        Kind::Credit => (StatusCode::PAYMENT_REQUIRED, "Your credit does not cover this request."),
        Kind::PayloadTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "The request is too large."),
        Kind::ContextLength => (StatusCode::BAD_REQUEST, "The prompt is longer than the model's context."),
        Kind::ContentFiltered => (StatusCode::BAD_REQUEST, "A content filter refused the request."),
        Kind::UnsupportedParameter => (StatusCode::BAD_REQUEST, "The model refuses a parameter of the request."),
        Kind::InvalidRequest => (StatusCode::BAD_REQUEST, "The request is malformed."),
        Kind::NotFound => (StatusCode::NOT_FOUND, "There is no such model."),
        Kind::Auth
        | Kind::Permission
        | Kind::QuotaExhausted
        | Kind::Server
        | Kind::Transport
        | Kind::SendsExhausted
        | Kind::Unknown => (StatusCode::BAD_GATEWAY, "The model could not be asked, or its answer was lost."),
    }
}
