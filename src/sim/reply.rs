//! What a provider says: whole replies, and errors by status.
use super::{
    api::Api,
    limits::{Limiter, Refusal, Unit},
    script::Answer,
};
use bytes::Bytes;
use serde::{Deserialize, de::IgnoredAny};
use std::{borrow::Cow, time::Duration};

/// A whole answer, before anything goes wrong with it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reply {
    pub(super) api: Api,
    pub(super) status: u16,
    pub(super) headers: Vec<(Cow<'static, str>, String)>,
    pub(super) body: Bytes,
}

impl Reply {
    pub(super) fn json(api: Api, status: u16, body: &serde_json::Value) -> Self {
        let headers = vec![(Cow::from("content-type"), "application/json".to_owned())];
        Self { api, status, headers, body: Bytes::from(body.to_string()) }
    }

    /// Sets a header, in place of one of the same name.
    pub(super) fn set(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<String>) {
        let name = name.into();
        self.headers.retain(|(old, _)| !old.eq_ignore_ascii_case(&name));
        self.headers.push((name, value.into()));
    }

    /// The 429 of a limit, with the true wait where there is one.
    pub(super) fn refused(api: Api, refusal: &Refusal) -> Self {
        let limited = |kind, message: &str| match api {
            Api::OpenAi => api.says(429, kind, Some("rate_limit_exceeded"), message),
            Api::Anthropic => api.says(429, "rate_limit_error", None, message),
        };
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
                if api == Api::OpenAi {
                    reply.set("retry-after-ms", millis(*wait).to_string());
                }
                reply
            }
        }
    }

    /// Tells what is left of each limit, on every answer. Anthropic tells instants of a clock, which no script has: left out.
    pub(super) fn tell_limits(&mut self, limiter: &Limiter) {
        for bucket in [limiter.requests, limiter.tokens].into_iter().flatten() {
            let (_, name, _) = words(bucket.unit);
            let (limit, left, reset) =
                (bucket.per_minute.to_string(), bucket.remaining().to_string(), go_duration(bucket.full_in()));
            let front = self.api.limits();
            match self.api {
                Api::OpenAi => {
                    self.set(format!("{front}limit-{name}"), limit);
                    self.set(format!("{front}remaining-{name}"), left);
                    self.set(format!("{front}reset-{name}"), reset);
                }
                Api::Anthropic => {
                    self.set(format!("{front}{name}-limit"), limit);
                    self.set(format!("{front}{name}-remaining"), left);
                }
            }
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
    #[serde(skip)]
    api: Option<Api>,
    model: String,
    #[serde(rename = "messages")]
    _messages: Vec<IgnoredAny>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
}

impl Asked {
    pub(super) fn read(path: &str, body: &[u8]) -> Result<Self, Reply> {
        let Some(api) = Api::at(path) else {
            let path = path.split('?').next().unwrap_or(path);
            let message =
                format!("Unknown request URL: {path}. The mock provider knows /v1/chat/completions and /v1/messages.");
            return Err(Api::OpenAi.says(404, "invalid_request_error", Some("unknown_url"), &message));
        };
        let invalid = |message: String| api.says(400, "invalid_request_error", None, &message);
        let asked: Self = serde_json::from_slice(body)
            .map_err(|error| invalid(format!("We could not parse the JSON body of your request: {error}")))?;
        match (api, asked.max_tokens) {
            (Api::Anthropic, None) => Err(invalid("max_tokens: Field required".to_owned())),
            _ => Ok(Self { api: Some(api), ..asked }),
        }
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
        let said = Said {
            number,
            // Seconds of the script and not of a clock, so that a seed gives the same bytes again.
            created: 1_700_000_000 + elapsed.as_secs(),
            model: &self.model,
            text: &said,
            cut: completion < needed,
            prompt: prompt_tokens(body),
            completion,
        };
        self.api.unwrap_or(Api::OpenAi).whole(&said)
    }
}

/// What an answer says, whoever says it.
pub(super) struct Said<'a> {
    pub(super) number: u64,
    pub(super) created: u64,
    pub(super) model: &'a str,
    pub(super) text: &'a str,
    /// Whether the cap on tokens ended it.
    pub(super) cut: bool,
    pub(super) prompt: u32,
    pub(super) completion: u32,
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
