//! What an answer says, gathered from wherever providers put it.
use super::{
    body::{self, NESTING},
    text::{blank_quotes, clip, lower},
    wait,
};
use serde_json::{Map, Value};
use std::time::Duration;

/// A hostile answer may hold any number of these.
const CODES: usize = 32;
const TEXTS: usize = 16;
const TEXT_BYTES: usize = 8 * 1024;
const WORDS_BYTES: usize = 16 * 1024;
const ITEMS: usize = 8;
const DEPTH: usize = 12;

/// Fields that name the error.
const CODE_FIELDS: &[&str] =
    &["code", "type", "status", "error_code", "errorcode", "__type", "error_type", "limit_source", "reason"];
/// Fields that hold the status of the answer that a gateway got.
const STATUS_FIELDS: &[&str] =
    &["code", "status", "error_code", "statuscode", "status_code", "raw_status_code", "originalstatuscode"];
/// Fields that explain, the best first.
const TEXT_FIELDS: &[&str] = &[
    "message",
    "detail",
    "error",
    "msg",
    "status_msg",
    "raw",
    "title",
    "details",
    "error_message",
    "error_msg",
    "errormessage",
    "error_description",
    "faultstring",
    "originalmessage",
];
/// Objects in which the fields above may lie. What echoes the request (`input`, `param`, `ctx`) is none of them.
const CONTAINERS: &[&str] = &[
    "errors",
    "detail",
    "details",
    "message",
    "metadata",
    "response",
    "base_resp",
    "violations",
    "incomplete_details",
    "fault",
];

/// Gateways name what they wrap: `innererror`, `last_error`, `external_model_error`.
fn is_container(name: &str) -> bool {
    CONTAINERS.contains(&name) || name.ends_with("error")
}

/// Everything that a rule or a wait may ask of an answer.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// The status that counts: the answer's, or the number in an error frame.
    pub(super) status: Option<u16>,
    /// The provider's codes as they came, and in lower case.
    pub(super) codes: Vec<(String, String)>,
    /// A status named in the body.
    pub(super) number: Option<u16>,
    /// Whether a 429 is among the statuses named in the body.
    pub(super) limited: bool,
    /// The provider's words, by how well they explain.
    pub(super) texts: Vec<(usize, String)>,
    /// All words in lower case, quoted sentences left out: those may be the prompt.
    pub(super) words: String,
    /// All words as they came.
    pub(super) all: String,
    /// Quota names, as Google tells them.
    pub(super) quotas: String,
    /// A wait that a field of the body names.
    pub(super) wait: Option<Duration>,
    /// When the limit is lifted, as a field of the body names it.
    pub(super) lifted: Option<String>,
    /// Headers of another provider, handed on in the body.
    pub(super) headers: Vec<(String, String)>,
}

impl Facts {
    pub(super) fn code(&mut self, code: &str) {
        let code = code.rsplit('#').next().unwrap_or(code).trim();
        if !code.is_empty() && code.len() <= 128 && self.codes.len() < CODES {
            self.codes.push((code.to_owned(), code.to_ascii_lowercase()));
        }
    }

    /// Reads a JSON body: an object, an array whose first object counts, or JSON in a string.
    pub(super) fn json(&mut self, value: &Value) {
        self.value(value, 0, 0);
    }

    pub(super) fn text(&mut self, rank: usize, text: &str) {
        if self.texts.len() < TEXTS && !text.trim().is_empty() {
            self.texts.push((rank, clip(text, TEXT_BYTES).to_owned()));
        }
    }

    /// Joins what was gathered, for the rules to look at.
    pub(super) fn finish(mut self) -> Self {
        self.texts.sort_by_key(|text| text.0);
        for (_, text) in &self.texts {
            if self.all.len() >= WORDS_BYTES {
                break;
            }
            self.words.push_str(&blank_quotes(&lower(text)));
            self.words.push('\n');
            self.all.push_str(text);
            self.all.push('\n');
        }
        self
    }

    pub(super) fn message(&self) -> Option<&str> {
        self.texts.first().map(|(_, text)| text.as_str())
    }

    pub(super) fn has_code(&self, code: &str) -> bool {
        self.codes.iter().any(|(_, lower)| lower == code)
    }

    fn value(&mut self, value: &Value, depth: usize, strings: usize) {
        match value {
            _ if depth > DEPTH => {}
            Value::Object(fields) => self.object(fields, depth, strings),
            Value::Array(items) => {
                let top = if depth == 0 { 1 } else { ITEMS };
                items
                    .iter()
                    .filter(|item| item.is_object())
                    .take(top)
                    .for_each(|item| self.value(item, depth + 1, strings));
            }
            _ => {}
        }
    }

    fn object(&mut self, fields: &Map<String, Value>, depth: usize, strings: usize) {
        for (name, value) in fields {
            let name = name.to_ascii_lowercase();
            let name = name.as_str();
            self.field(name, value);
            if let (Some(rank), Value::String(text)) = (TEXT_FIELDS.iter().position(|field| *field == name), value) {
                match body::nested(text).filter(|_| strings < NESTING) {
                    Some(inner) => self.value(&inner, depth + 1, strings + 1),
                    None => {
                        self.text(rank, text);
                        if let Some(inner) = body::embedded(text).filter(|_| strings < NESTING) {
                            self.value(&inner, depth + 1, strings + 1);
                        }
                    }
                }
            }
            if is_container(name) {
                self.value(value, depth + 1, strings);
            }
            if name == "choices" {
                let errors = value.as_array().into_iter().flatten().filter_map(|choice| choice.get("error"));
                errors.take(1).for_each(|error| self.value(&serde_json::json!({ "error": error }), depth + 1, strings));
            }
        }
        if let Some(code) = fields.get("base_resp").and_then(|response| response.get("status_code")) {
            self.code(&format!("base_resp {code}"));
        }
    }

    fn field(&mut self, name: &str, value: &Value) {
        let number = as_number(value);
        let status = number.and_then(|number| u16::try_from(number).ok()).filter(|number| (100..600).contains(number));
        if let Some(status) = status {
            if STATUS_FIELDS.contains(&name) && status >= 400 {
                self.number = self.number.or(Some(status));
                self.limited |= status == 429;
            }
        } else if CODE_FIELDS.contains(&name) {
            match (value, number) {
                (Value::String(code), _) => self.code(code),
                (_, Some(number)) => self.code(&number.to_string()),
                _ => {}
            }
        }
        match (name, value) {
            ("flagged_input", Value::String(_) | Value::Array(_)) => self.code("flagged_input"),
            ("quotaid" | "quota_limit", Value::String(quota)) => {
                self.quotas.push_str(clip(quota, 256));
                self.quotas.push('\n');
            }
            ("resets_at" | "reset_at", Value::Number(_) | Value::String(_)) => {
                self.lifted.get_or_insert_with(|| clip(&text(value), 64).to_owned());
            }
            ("headers", Value::Object(headers)) => {
                let headers = headers.iter().take(CODES);
                self.headers.extend(headers.map(|(name, value)| (name.to_ascii_lowercase(), text(value))));
            }
            _ => self.wait = self.wait.or_else(|| wait::in_field(name, value)),
        }
    }
}

/// A string without its quotes; anything else as JSON.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A whole number, or a string of digits.
fn as_number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    }
}
