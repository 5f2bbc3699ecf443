//! What a status, or the lack of one, means.
use super::details::Details;
use crate::{Error, Kind, Phase, classify::Classifier, error::chain};
use ::tonic::{Code, ConnectError, Status, TimeoutExpired};
use http::{HeaderMap, StatusCode};
use serde_json::json;
use std::{error::Error as StdError, sync::Arc, time::Duration};

type Boxed = Box<dyn StdError + Send + Sync>;

const PUSHBACK: &str = "grpc-retry-pushback-ms";
const CODE_BYTES: usize = 128;

/// Its name, and the HTTP status that `google.rpc.Code` gives for it, by which the rules of HTTP judge what comes with it.
///
/// But for a method that nobody serves, which is told as 404 on the way back too.
const fn told_as(code: Code) -> (&'static str, u16) {
    match code {
        Code::Ok => ("OK", 200),
        Code::Cancelled => ("CANCELLED", 499),
        Code::Unknown => ("UNKNOWN", 500),
        Code::InvalidArgument => ("INVALID_ARGUMENT", 400),
        Code::DeadlineExceeded => ("DEADLINE_EXCEEDED", 504),
        Code::NotFound => ("NOT_FOUND", 404),
        Code::AlreadyExists => ("ALREADY_EXISTS", 409),
        Code::PermissionDenied => ("PERMISSION_DENIED", 403),
        Code::ResourceExhausted => ("RESOURCE_EXHAUSTED", 429),
        Code::FailedPrecondition => ("FAILED_PRECONDITION", 400),
        Code::Aborted => ("ABORTED", 409),
        Code::OutOfRange => ("OUT_OF_RANGE", 400),
        Code::Unimplemented => ("UNIMPLEMENTED", 404),
        Code::Internal => ("INTERNAL", 500),
        Code::Unavailable => ("UNAVAILABLE", 503),
        Code::DataLoss => ("DATA_LOSS", 500),
        Code::Unauthenticated => ("UNAUTHENTICATED", 401),
    }
}

/// How gRPC's libraries say that a message is over their limit: some call it a resource, tonic a range.
const TOO_LARGE: &[&str] = &["message length too large", "message larger than max", "message exceeds maximum size"];
/// How proxies and gRPC's libraries say `UNAVAILABLE` where it is the way to a server that failed.
const NO_WAY: &[&str] = &[
    "upstream connect error",
    "failed to connect",
    "connection refused",
    "connection reset",
    "connection error",
    "connection closed",
    "transport is closing",
    "socket closed",
    "error reading from server",
];

/// The error that a status is, with that among its sources.
pub(super) fn of_status(classifier: &Classifier, status: Status) -> Error {
    let details = Details::read(status.details());
    let (name, number) = told_as(status.code());
    let words = status.message().to_ascii_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
    let number = match status.code() {
        Code::ResourceExhausted | Code::OutOfRange if says(TOO_LARGE) => 413,
        _ => number,
    };
    let headers = status.metadata().as_ref();
    let mut error = match status.code() {
        Code::Unavailable if says(NO_WAY) => {
            classifier.named(Error::provider(Kind::Transport)).with_message(status.message())
        }
        _ => {
            let details_json = &details.json;
            let error = json!({ "code": number, "message": status.message(), "status": name, "details": details_json });
            let body = json!({ "error": error }).to_string();
            let number = StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            classifier.answer(number, headers, body.as_bytes())
        }
    };
    error = error.with_code(details.reason.as_deref().filter(|reason| reason.len() <= CODE_BYTES).unwrap_or(name));
    // It would meet the same thing again.
    if status.code() == Code::AlreadyExists {
        error = error.with_retryable(false);
    }
    if let Some(wait) = details.wait {
        error = error.with_retry_after(wait);
    }
    match pushback(headers) {
        Some(Ok(wait)) => error = error.with_retry_after(wait),
        Some(Err(NotAgain)) => error = error.with_retryable(false),
        None => {}
    }
    error.with_source(status)
}

/// The server does not want to be asked again.
struct NotAgain;

/// gRFC A6: a number of milliseconds, alone. Anything else asks not to be asked again.
fn pushback(headers: &HeaderMap) -> Option<Result<Duration, NotAgain>> {
    let mut values = headers.get_all(PUSHBACK).iter();
    let value = values.next()?.to_str().ok().filter(|_| values.next().is_none());
    let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let millis = value.filter(is_number).and_then(|text| text.parse().ok());
    Some(millis.map(Duration::from_millis).ok_or(NotAgain))
}

/// The error that a failure without a status is, with the status that tonic would make of it among its sources.
pub(super) fn of_failure(classifier: &Classifier, error: Boxed) -> Error {
    if Error::find(&*error).is_some() {
        return classifier.transport(error);
    }
    let status = match error.downcast::<Status>() {
        Ok(status) if status.source().is_none() => return of_status(classifier, *status),
        Ok(status) => *status,
        Err(error) => Status::from_error(error),
    };
    let finds = |is: fn(&(dyn StdError + 'static)) -> bool| chain(&status).any(is);
    if finds(|cause| cause.is::<TimeoutExpired>()) {
        let error = classifier.named(Error::provider(Kind::Timeout)).with_phase(Phase::FirstByte);
        return error.with_source(renamed(Code::DeadlineExceeded, status));
    }
    let is_connect = finds(|cause| cause.is::<ConnectError>());
    let judged = classifier.transport(Box::new(status.clone()));
    let judged = if is_connect { judged.with_phase(Phase::Connect) } else { judged };
    match (judged.kind(), status.code()) {
        (Kind::Transport, Code::Unknown) => judged.with_source(renamed(Code::Unavailable, status)),
        _ => judged,
    }
}

/// The same failure by the code that gRPC has for it.
fn renamed(code: Code, status: Status) -> Status {
    let mut renamed = Status::new(code, status.message());
    renamed.set_source(Arc::new(status));
    renamed
}

/// The error that an answer without a status is: it was cut, however clean its end.
pub(super) fn of_cut(classifier: &Classifier) -> Error {
    let status = Status::unknown("the answer ended without a status");
    classifier.named(Error::provider(Kind::Transport)).with_phase(Phase::Body).with_source(status)
}

/// The error that a page is, or whatever else stands in the place of an answer under a success.
pub(super) fn of_stranger(classifier: &Classifier, status: StatusCode) -> Error {
    let error = classifier.named(Error::provider(Kind::Unknown)).with_status(status.as_u16());
    error.with_source(Status::unknown("the answer is not gRPC"))
}

/// The status for an HTTP status in the place of one, by gRPC's own table.
pub(super) fn for_http(status: StatusCode) -> Status {
    let code = match status.as_u16() {
        400 => Code::Internal,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::Unimplemented,
        429 | 502 | 503 | 504 => Code::Unavailable,
        _ => Code::Unknown,
    };
    Status::new(code, format!("HTTP status {} in the place of a gRPC answer", status.as_u16()))
}
