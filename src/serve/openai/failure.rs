//! A failure as OpenAI tells it.
use crate::{Kind, serve::Failure};
use bytes::Bytes;
use serde::Serialize;

#[derive(Serialize)]
struct Envelope<'a> {
    error: Told<'a>,
}

#[derive(Serialize)]
struct Told<'a> {
    message: &'a str,
    #[serde(rename = "type")]
    class: &'static str,
    param: Option<&'a str>,
    code: Option<&'static str>,
}

pub(super) fn body(failure: &Failure) -> Bytes {
    let (class, code) = words(failure.kind());
    let told = Told { message: failure.message(), class, param: param(failure), code };
    serde_json::to_vec(&Envelope { error: told }).unwrap_or_default().into()
}

/// The type and the code.
fn words(kind: Kind) -> (&'static str, Option<&'static str>) {
    match kind {
        Kind::RateLimited | Kind::CoolingDown | Kind::LocalLimit => ("rate_limit_error", Some("rate_limit_exceeded")),
        Kind::Credit => ("insufficient_quota", Some("insufficient_quota")),
        Kind::Overloaded | Kind::CircuitOpen => ("server_error", Some("overloaded")),
        Kind::Timeout | Kind::Deadline => ("server_error", Some("timeout")),
        Kind::InvalidRequest => ("invalid_request_error", None),
        Kind::UnsupportedParameter => ("invalid_request_error", Some("unsupported_parameter")),
        Kind::ContextLength => ("invalid_request_error", Some("context_length_exceeded")),
        Kind::PayloadTooLarge => ("invalid_request_error", Some("request_too_large")),
        Kind::ContentFiltered => ("invalid_request_error", Some("content_filter")),
        Kind::NotFound => ("invalid_request_error", Some("model_not_found")),
        _ => ("server_error", None),
    }
}

/// The field that a message of ours begins with.
fn param(failure: &Failure) -> Option<&str> {
    let (place, _) = failure.message().split_once(": ")?;
    let is_place =
        place.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.[]".contains(&byte));
    Some(place).filter(|place| is_place && !place.is_empty())
}
