//! What a provider sends: a status, headers and a body.
use super::{
    api::Api,
    frame::Frame,
    limits::{Limiter, Refusal, Unit},
};
use bytes::Bytes;
use serde::Serialize;
use std::{borrow::Cow, time::Duration};

/// A whole answer, before anything goes wrong with it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reply {
    pub(super) api: Api,
    pub(super) status: u16,
    pub(super) headers: Vec<(Cow<'static, str>, String)>,
    pub(super) body: Bytes,
    /// In place of the body, if there are any.
    pub(super) events: Vec<Frame>,
}

impl Reply {
    pub(super) fn json(api: Api, status: u16, body: &impl Serialize) -> Self {
        let headers = vec![(Cow::from("content-type"), "application/json".to_owned())];
        let body = serde_json::to_vec(body).expect("texts and numbers are written as JSON");
        Self { api, status, headers, body: Bytes::from(body), events: Vec::new() }
    }

    pub(super) fn events(api: Api, events: Vec<Frame>) -> Self {
        let headers = [("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache")];
        let headers = headers.map(|(name, value)| (Cow::from(name), value.to_owned())).to_vec();
        Self { api, status: 200, headers, body: Bytes::new(), events }
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
