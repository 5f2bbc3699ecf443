//! From what an answer says to the one error.
use super::{
    body::Body,
    envelope::Found,
    facts::Facts,
    rules::{self, by_status},
    scope,
    text::clip,
    wait,
};
use crate::{Error, Kind, Phase};
use http::HeaderMap;
use serde_json::Value;
use std::time::SystemTime;

/// How much of the provider's words an error keeps.
const MESSAGE_BYTES: usize = 2 * 1024;
const ID_BYTES: usize = 128;
const IDS: &[&str] =
    &["x-request-id", "request-id", "x-amzn-requestid", "x-amzn-request-id", "apim-request-id", "cf-ray"];

/// An answer that is an error, to be judged.
#[derive(Debug)]
pub(super) struct Answer<'a> {
    status: Option<u16>,
    body: Body<'a>,
    found: Option<(Found, &'a Value)>,
}

impl<'a> Answer<'a> {
    /// An answer with a status that is no success.
    pub(super) fn refused(status: u16, body: Body<'a>) -> Self {
        Self { status: Some(status), body, found: None }
    }

    /// An error found in a body or a frame under a success.
    pub(super) fn told(found: Found, value: &'a Value) -> Self {
        Self { status: None, body: Body::Empty, found: Some((found, value)) }
    }

    /// A frame that is an error by its name and holds no whole JSON.
    pub(super) fn broken(body: Body<'a>) -> Self {
        Self { status: None, body, found: None }
    }

    fn facts(&self, headers: &HeaderMap) -> Facts {
        let mut facts = Facts { status: self.status, ..Facts::default() };
        if let Some(code) = headers.get("x-amzn-errortype").and_then(|value| value.to_str().ok()) {
            facts.code(code.split(':').next().unwrap_or(code));
        }
        match (&self.body, self.found.as_ref()) {
            (_, Some((found, value))) => found.tell(value, &mut facts),
            (Body::Json(value) | Body::Cut(Some(value), _), _) => facts.json(value),
            // A page says nothing but, sometimes, when to come back.
            (Body::Html(page), _) => facts.all.push_str(clip(page, MESSAGE_BYTES)),
            (Body::Text(text) | Body::Cut(None, text), _) => facts.text(0, text),
            (Body::Empty, _) => {}
        }
        facts.status = match facts.status.or(facts.number) {
            // A gateway that wraps a limit in a failure of its own.
            Some(500..) if facts.limited => Some(429),
            status => status,
        };
        facts.finish()
    }

    pub(super) fn verdict(&self, headers: &HeaderMap, provider: Option<&str>, now: impl Fn() -> SystemTime) -> Error {
        let facts = self.facts(headers);
        let rule = rules::first(&facts, provider);
        let kind = match (rule, facts.status) {
            _ if facts.status == Some(429) && scope::never_allowed(headers) => Kind::QuotaExhausted,
            (Some(rule), _) => rule.kind,
            (None, status) => by_status(status),
        };
        let mut error = Error::provider(kind);
        if let Some(status) = facts.status.or(self.status) {
            error = error.with_status(status);
        }
        if let Some(code) = rule.and_then(|rule| rule.code(&facts)).or_else(|| facts.codes.first().map(|code| &*code.0))
        {
            error = error.with_code(code);
        }
        if let Some(message) = facts.message() {
            error = error.with_message(clip(message, MESSAGE_BYTES));
        }
        if let Some(id) = IDS.iter().find_map(|name| headers.get(*name)?.to_str().ok()) {
            error = error.with_request_id(clip(id, ID_BYTES));
        }
        if let Some(wait) = wait::told(&facts, kind, headers, now()) {
            error = error.with_retry_after(wait);
        }
        if let Some(scope) = (kind == Kind::RateLimited).then(|| scope::of(&facts, provider, headers)).flatten() {
            error = error.with_scope(scope);
        }
        if self.status.is_none() {
            error = error.with_phase(Phase::Body);
        }
        match headers.get("x-should-retry").map(http::HeaderValue::as_bytes) {
            Some(b"true") => error.with_retryable(true),
            Some(b"false") => error.with_retryable(false),
            _ if rule.is_some_and(|rule| rule.hopeless) => error.with_retryable(false),
            _ => error,
        }
    }
}
