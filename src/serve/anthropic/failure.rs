//! A failure as Anthropic tells it.
use crate::{Kind, serve::Failure};
use bytes::Bytes;
use serde::Serialize;

#[derive(Serialize)]
#[serde(tag = "type", rename = "error")]
struct Envelope<'a> {
    error: Told<'a>,
    request_id: (),
}

#[derive(Serialize)]
struct Told<'a> {
    #[serde(rename = "type")]
    class: &'static str,
    message: &'a str,
}

pub(super) fn body(failure: &Failure) -> Bytes {
    let told = Told { class: class(failure.kind()), message: failure.message() };
    serde_json::to_vec(&Envelope { error: told, request_id: () }).unwrap_or_default().into()
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::RateLimited | Kind::CoolingDown | Kind::LocalLimit => "rate_limit_error",
        Kind::Overloaded | Kind::CircuitOpen => "overloaded_error",
        Kind::Timeout | Kind::Deadline => "timeout_error",
        Kind::Credit => "billing_error",
        Kind::PayloadTooLarge => "request_too_large",
        Kind::NotFound => "not_found_error",
        Kind::InvalidRequest | Kind::UnsupportedParameter | Kind::ContextLength | Kind::ContentFiltered => {
            "invalid_request_error"
        }
        _ => "api_error",
    }
}
