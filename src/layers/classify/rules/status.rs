use super::{On, Rule};
use crate::Kind::{self, Cancelled, Conflict, InvalidRequest, PayloadTooLarge, Server, Timeout};

/// Codes that say what a status would.
pub(super) const CODES: &[Rule] = &[
    Rule::codes(
        PayloadTooLarge,
        On::Of(&[400, 413]),
        &["request_too_large", "payload_too_large", "request_entity_too_large"],
    ),
    Rule::codes(
        Timeout,
        On::Any,
        &[
            "timeout",
            "internalerror.timeout",
            "timeout_error",
            "request_timeout",
            "requesttimeout",
            "gateway_timeout",
            "modeltimeout*",
            "deadline_exceeded",
            "base_resp 1001",
        ],
    ),
    Rule::codes(Conflict, On::Of(&[400, 409]), &["conflict_error", "conflictexception"]),
];

/// What a frame without a status says, after all words were looked at.
pub(super) const FRAME_CODES: &[Rule] = &[
    Rule::codes(Cancelled, On::Of(&[]), &["cancelled", "canceled", "request_cancelled"]),
    Rule::codes(
        InvalidRequest,
        On::Of(&[]),
        &[
            "invalid_request_error",
            "invalid_request",
            "invalid_argument",
            "badrequesterror",
            "validation*",
            "bad_request",
            "base_resp 2013",
            "base_resp 1042",
        ],
    ),
];

/// What a status means where nothing else is said. No status: the provider failed after it had begun.
pub(in super::super) fn by_status(status: Option<u16>) -> Kind {
    match status {
        Some(400 | 405 | 412 | 415 | 422) => InvalidRequest,
        Some(401) => Kind::Auth,
        Some(402) => Kind::QuotaExhausted,
        Some(403 | 451) => Kind::Permission,
        Some(404 | 410) => Kind::NotFound,
        Some(408 | 504 | 522 | 524) => Timeout,
        Some(409) => Conflict,
        Some(413 | 431) => PayloadTooLarge,
        Some(429) => Kind::RateLimited,
        Some(498 | 503 | 529) => Kind::Overloaded,
        Some(499) => Cancelled,
        None | Some(424 | 500 | 502 | 520 | 521 | 523 | 525 | 530) => Server,
        Some(_) => Kind::Unknown,
    }
}
