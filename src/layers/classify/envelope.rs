//! Where errors hide in what looks like a success.
use super::facts::Facts;
use serde_json::Value;

/// An error in a body or a frame: what it says beyond its fields.
#[derive(Debug)]
pub(super) enum Found {
    /// Its own fields say all.
    Here,
    /// It was recognised by a word that stands where no error is looked for.
    Code(&'static str),
    /// A frame of the AWS event stream: the name of the exception, and its payload.
    Aws(String, Option<Value>),
}

impl Found {
    pub(super) fn tell(&self, value: &Value, facts: &mut Facts) {
        match self {
            Self::Here => facts.json(value),
            Self::Code(code) => facts.code(code),
            Self::Aws(name, payload) => {
                facts.code(name);
                payload.iter().for_each(|payload| facts.json(payload));
            }
        }
    }
}

/// The error in a JSON body under a success, or in the data of a frame.
pub(super) fn error_in(event: Option<&str>, value: &Value) -> Option<Found> {
    let value = match value {
        Value::Array(items) => items.first()?,
        value => value,
    };
    let told = |name: &str| value.get(name).filter(|error| !is_void(error));
    let kind = value.get("type").and_then(Value::as_str);
    if let Some(exception) = aws(value) {
        return Some(exception);
    }
    let named = event == Some("error") || matches!(kind, Some("error" | "response.failed" | "response.error"));
    let flat = value.get("object").and_then(Value::as_str) == Some("error") || told("error_type").is_some();
    let failed = value.get("base_resp").and_then(|response| response.get("status_code")).is_some_and(|code| code != 0);
    let wrapped = value.get("Response").and_then(|response| response.get("Error")).is_some_and(|error| !is_void(error));
    let listed = value.get("success") == Some(&Value::Bool(false)) && told("errors").is_some();
    let own = told("error").is_some() || listed || wrapped || choice_error(value);
    if named || flat || failed || own || code_and_message(value) {
        return Some(Found::Here);
    }
    let failed = FAILED.iter().find(|(reason, _)| finished_with(value, reason));
    withheld(value).or_else(|| failed.map(|(_, code)| Found::Code(code)))
}

/// Finish reasons of answers that broke off (OpenRouter, z.ai, DeepSeek), and the codes they stand for.
const FAILED: &[(&str, &str)] =
    &[("error", "error"), ("network_error", "network_error"), ("insufficient_system_resource", "overloaded")];

/// `null` and what is empty are how some say that there is no error.
fn is_void(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn choices(value: &Value) -> impl Iterator<Item = &Value> {
    value.get("choices").and_then(Value::as_array).into_iter().flatten()
}

fn choice_error(value: &Value) -> bool {
    choices(value).filter_map(|choice| choice.get("error")).any(|error| !is_void(error))
}

/// Vendors' flat form: a code and a message and nothing that an answer would have.
fn code_and_message(value: &Value) -> bool {
    let has = |name: &str| value.get(name).is_some_and(|value| !value.is_null());
    let refused = match ["code", "statusCode", "error_code"].iter().find_map(|name| value.get(*name)) {
        Some(Value::String(code)) => !matches!(code.as_str(), "" | "0" | "200" | "ok" | "success" | "Success"),
        Some(Value::Number(code)) => !matches!(code.as_i64(), Some(0 | 200 | 20000)),
        _ => false,
    };
    let answers = ["choices", "candidates", "output", "content", "id_generated", "results", "generated_text"];
    let text = ["message", "msg", "error_msg"].iter().any(|name| value.get(*name).is_some_and(Value::is_string));
    refused && text && !answers.iter().any(|name| has(name))
}

/// A filter that withheld the answer.
fn withheld(value: &Value) -> Option<Found> {
    let blocked = value.get("promptFeedback").and_then(|feedback| feedback.get("blockReason"));
    let response = value.get("response");
    let reason = response.and_then(|response| response.get("incomplete_details")?.get("reason")?.as_str());
    let filtered = blocked.is_some_and(Value::is_string) || reason == Some("content_filter");
    filtered.then_some(Found::Code("content_filter"))
}

/// A stream that a filter ended. In a whole reply that is its finish reason.
pub(super) fn cut_by_filter(value: &Value) -> Option<Found> {
    ["content_filter", "error_toxic", "sensitive"]
        .iter()
        .any(|reason| finished_with(value, reason))
        .then_some(Found::Code("content_filter"))
}

pub(super) fn finished_with(value: &Value, reason: &str) -> bool {
    let finishes = choices(value).filter_map(|choice| choice.get("finish_reason")?.as_str());
    let flat = ["finish_reason", "finishReason"].iter().filter_map(|name| value.get(*name)?.as_str());
    let delta = value.get("delta").and_then(|delta| delta.get("finish_reason")?.as_str());
    finishes.chain(flat).chain(delta).any(|finish| finish.eq_ignore_ascii_case(reason))
}

/// A decoded frame of the AWS event stream that is an exception or an error.
fn aws(frame: &Value) -> Option<Found> {
    let headers = frame.get("headers")?;
    let header = |name: &str| headers.get(name).and_then(Value::as_str);
    let name = match header(":message-type")? {
        "exception" => header(":exception-type"),
        "error" => header(":error-code"),
        _ => return None,
    };
    let mut payload = frame.get("payload").and_then(|payload| match payload {
        Value::String(text) => super::body::nested(text),
        payload => Some(payload.clone()),
    });
    if payload.is_none() {
        payload = header(":error-message").map(|message| serde_json::json!({ "message": message }));
    }
    Some(Found::Aws(name.unwrap_or_default().to_owned(), payload))
}
