use crate::{Error, Kind, serve::Failure};
use ::tonic::{Code, Status};
use std::{collections::HashMap, sync::Arc};
use tonic_types::{ErrorDetails, StatusExt};

/// Its code, words for people, and details: `ErrorInfo` with the [`Kind`] as its reason, `RetryInfo` where a wait is known.
///
/// | [`Kind`] | code |
/// |---|---|
/// | `RateLimited`, `CoolingDown`, `LocalLimit` | `RESOURCE_EXHAUSTED` |
/// | `Overloaded`, `CircuitOpen`, `Server`, `Transport`, `Cancelled` | `UNAVAILABLE` |
/// | `Conflict` | `ABORTED` |
/// | `Timeout`, `Deadline` | `DEADLINE_EXCEEDED` |
/// | `Credit` | `FAILED_PRECONDITION`: it must be filled up first |
/// | `InvalidRequest`, `UnsupportedParameter`, `ContextLength`, `PayloadTooLarge`, `ContentFiltered` | `INVALID_ARGUMENT` |
/// | `NotFound` | `NOT_FOUND` |
/// | all else: a key, an account, a bug, for us to mend | `INTERNAL` |
///
/// What it tells is what [`Failure`] tells: no provider's key, name or account. The error is its source, for whoever serves it.
impl From<Error> for Status {
    fn from(error: Error) -> Self {
        let failure = Failure::of(&error);
        let mut details = ErrorDetails::with_error_info(reason(failure.kind()), "seawall", HashMap::new());
        if let Some(wait) = failure.retry_after() {
            details.set_retry_info(Some(wait));
        }
        let mut status = Self::with_error_details(code(failure.kind()), failure.message(), details);
        status.set_source(Arc::new(error));
        status
    }
}

fn reason(kind: Kind) -> String {
    kind.as_str().to_ascii_uppercase()
}

fn code(kind: Kind) -> Code {
    match kind {
        Kind::RateLimited | Kind::CoolingDown | Kind::LocalLimit => Code::ResourceExhausted,
        Kind::Overloaded | Kind::CircuitOpen | Kind::Server | Kind::Transport | Kind::Cancelled => Code::Unavailable,
        Kind::Conflict => Code::Aborted,
        Kind::Timeout | Kind::Deadline => Code::DeadlineExceeded,
        Kind::Credit => Code::FailedPrecondition,
        Kind::InvalidRequest
        | Kind::UnsupportedParameter
        | Kind::ContextLength
        | Kind::PayloadTooLarge
        | Kind::ContentFiltered => Code::InvalidArgument,
        Kind::NotFound => Code::NotFound,
        Kind::Auth | Kind::Permission | Kind::QuotaExhausted | Kind::SendsExhausted | Kind::Unknown => Code::Internal,
    }
}
