//! What an OpenAI-style provider says: chat completions, and errors by status.
use super::{
    limits::{Limiter, Refusal, Unit},
    script::Answer,
};
use bytes::Bytes;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::json;
use std::{borrow::Cow, time::Duration};

/// A whole answer, before anything goes wrong with it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(Cow<'static, str>, String)>,
    pub(super) body: Bytes,
}

impl Reply {
    fn json(status: u16, body: &serde_json::Value) -> Self {
        let headers = vec![(Cow::from("content-type"), "application/json".to_owned())];
        Self { status, headers, body: Bytes::from(body.to_string()) }
    }

    /// Sets a header, in place of one of the same name.
    pub(super) fn set(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<String>) {
        let name = name.into();
        self.headers.retain(|(old, _)| !old.eq_ignore_ascii_case(&name));
        self.headers.push((name, value.into()));
    }

    /// The error that OpenAI's own would be at this status.
    pub(super) fn error(status: u16) -> Self {
        let (kind, code, message) = match status {
            200..=299 => return Self::json(status, &json!({})),
            401 => ("invalid_request_error", Some("invalid_api_key"), "Incorrect API key provided."),
            403 => ("invalid_request_error", None, "You are not allowed to use this model."),
            404 => ("invalid_request_error", Some("model_not_found"), "The model does not exist."),
            409 => ("conflict_error", None, "The request conflicts with another one."),
            429 => ("requests", Some("rate_limit_exceeded"), "Rate limit reached. Please slow down."),
            400..=499 => ("invalid_request_error", None, "The request is invalid."),
            503 => ("server_error", None, "The server is currently unavailable."),
            529 => ("overloaded_error", None, "Overloaded"),
            _ => ("server_error", None, "The server had an error while processing your request."),
        };
        Self::says(status, kind, code, message)
    }

    pub(super) fn says(status: u16, kind: &str, code: Option<&str>, message: &str) -> Self {
        Self::json(status, &json!({"error": {"message": message, "type": kind, "param": null, "code": code}}))
    }

    /// The 429 of a limit, with the true wait where there is one.
    pub(super) fn refused(refusal: &Refusal) -> Self {
        let limited = |kind, message: &str| Self::says(429, kind, Some("rate_limit_exceeded"), message);
        match refusal {
            Refusal::Concurrency(limit) => {
                limited("requests", &format!("Too many concurrent requests: limit {limit}. Please slow down."))
            }
            Refusal::TooLarge { bucket, requested } => {
                let (kind, _, on) = words(bucket.unit);
                let limit = bucket.per_minute;
                limited(kind, &format!("Request too large on {on}: Limit {limit}, Requested {requested}."))
            }
            Refusal::Empty { bucket, requested, wait } => {
                let (kind, _, on) = words(bucket.unit);
                let (limit, used) =
                    (bucket.per_minute, u128::from(bucket.per_minute).saturating_sub(bucket.remaining()));
                let again = go_duration(*wait);
                let message = format!(
                    "Rate limit reached on {on}: Limit {limit}, Used {used}, Requested {requested}. Please try again in {again}."
                );
                let mut reply = limited(kind, &message);
                reply.set("retry-after", wait.as_millis().div_ceil(1000).max(1).to_string());
                reply.set("retry-after-ms", millis(*wait).to_string());
                reply
            }
        }
    }

    /// Tells what is left of each limit, as OpenAI does on every answer.
    pub(super) fn tell_limits(&mut self, limiter: &Limiter) {
        for bucket in [limiter.requests, limiter.tokens].into_iter().flatten() {
            let (_, name, _) = words(bucket.unit);
            self.set(format!("x-ratelimit-limit-{name}"), bucket.per_minute.to_string());
            self.set(format!("x-ratelimit-remaining-{name}"), bucket.remaining().to_string());
            self.set(format!("x-ratelimit-reset-{name}"), go_duration(bucket.full_in()));
        }
    }
}

/// The type of the error, the ending of the headers, and the words of the message.
fn words(unit: Unit) -> (&'static str, &'static str, &'static str) {
    match unit {
        Unit::Requests => ("requests", "requests", "requests per min (RPM)"),
        Unit::Tokens => ("tokens", "tokens", "tokens per min (TPM)"),
    }
}

/// Rounded up, so that a wait which is told is never too short.
fn millis(wait: Duration) -> u128 {
    wait.as_nanos().div_ceil(1_000_000)
}

/// As Go prints durations: `20ms`, `1.5s`, `6m0s`.
fn go_duration(wait: Duration) -> String {
    let millis = millis(wait);
    let (minutes, seconds) = (millis / 60_000, (millis % 60_000) as f64 / 1000.0);
    match (minutes, millis) {
        (0, 0..1000) => format!("{millis}ms"),
        (0, _) => format!("{seconds}s"),
        _ => format!("{minutes}m{seconds}s"),
    }
}

/// What a chat request asks for, as far as the answer depends on it.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    model: String,
    #[serde(rename = "messages")]
    _messages: Vec<IgnoredAny>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
}

impl Asked {
    pub(super) fn read(path: &str, body: &[u8]) -> Result<Self, Reply> {
        let path = path.split('?').next().unwrap_or(path);
        if !path.ends_with("/chat/completions") {
            let message = format!("Unknown request URL: {path}. The mock provider knows /v1/chat/completions.");
            return Err(Reply::says(404, "invalid_request_error", Some("unknown_url"), &message));
        }
        serde_json::from_slice(body).map_err(|error| {
            let message = format!("We could not parse the JSON body of your request: {error}");
            Reply::says(400, "invalid_request_error", None, &message)
        })
    }

    fn most(&self) -> Option<u32> {
        self.max_completion_tokens.or(self.max_tokens)
    }

    /// A quarter of the body's bytes, and what may be answered: what a limit counts before the answer is known.
    pub(super) fn tokens(&self, body: &[u8]) -> u32 {
        prompt_tokens(body).saturating_add(self.most().unwrap_or(0))
    }

    pub(super) fn answer(&self, number: u64, elapsed: Duration, body: &[u8], how: &Answer) -> Reply {
        let text = how.text.clone().unwrap_or_else(|| format!("This is answer {number} of the mock provider."));
        let needed = tokens(text.len());
        let completion = self.most().unwrap_or(needed).min(needed);
        let said: String = text.chars().take(completion as usize * BYTES_A_TOKEN).collect();
        let finish = if completion < needed { "length" } else { "stop" };
        let prompt = prompt_tokens(body);
        // Seconds of the script and not of a clock, so that a seed gives the same bytes again.
        let created = 1_700_000_000 + elapsed.as_secs();
        let mut reply = Reply::json(
            200,
            &json!({
                "id": format!("chatcmpl-mock-{number}"), "object": "chat.completion", "created": created,
                "model": self.model,
                "choices": [{
                    "index": 0, "finish_reason": finish, "logprobs": null,
                    "message": {"role": "assistant", "content": said, "refusal": null},
                }],
                "usage": {
                    "prompt_tokens": prompt, "completion_tokens": completion,
                    "total_tokens": u64::from(prompt) + u64::from(completion),
                },
            }),
        );
        reply.set("x-request-id", format!("req_mock_{number}"));
        reply
    }
}

const BYTES_A_TOKEN: usize = 4;

fn tokens(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(BYTES_A_TOKEN)).unwrap_or(u32::MAX)
}

fn prompt_tokens(body: &[u8]) -> u32 {
    tokens(body.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_go_prints_them() {
        let printed =
            [0, 20, 999, 1000, 1574, 60_000, 360_000, 90_500].map(|ms| go_duration(Duration::from_millis(ms)));
        assert_eq!(printed, ["0ms", "20ms", "999ms", "1s", "1.574s", "1m0s", "6m0s", "1m30.5s"]);
        assert_eq!(go_duration(Duration::from_nanos(1)), "1ms", "never too short");
    }
}
