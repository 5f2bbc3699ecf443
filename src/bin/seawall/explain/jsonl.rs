//! One answer a line in, one verdict a line out, in the same order.
use std::{
    borrow::Cow,
    collections::BTreeMap,
    io::{self, BufRead, Read, Write},
    time::SystemTime,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderMap, StatusCode};
use seawall::{Error, Failover, classify::Classifier};
use serde::{Deserialize, Serialize};

use super::{
    LIMIT,
    answer::{Answer, insert},
};

#[derive(Deserialize)]
struct Line<'a> {
    id: String,
    #[serde(borrow, default)]
    provider: Option<Cow<'a, str>>,
    #[serde(borrow)]
    surface: Cow<'a, str>,
    status: Option<u16>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
    body_b64: Option<String>,
    now: Option<String>,
}

#[derive(Serialize)]
struct Verdict {
    id: Option<String>,
    kind: Option<&'static str>,
    retryable: bool,
    failover_on_429: bool,
    retry_after_ms: Option<u64>,
    scope: Option<&'static str>,
    /// Why a line could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(super) fn run(mut input: impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        if (&mut input).take(LIMIT).read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        let whole = bytes.len() as u64 != LIMIT || bytes.ends_with(b"\n");
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let verdict = match whole {
            true => judge(&bytes).unwrap_or_else(|error| Verdict::unread(number, &error)),
            false => {
                input.skip_until(b'\n')?;
                Verdict::unread(number, &"longer than 16 MiB")
            }
        };
        serde_json::to_writer(&mut *output, &verdict)?;
        output.write_all(b"\n")?;
    }
    Ok(())
}

fn judge(bytes: &[u8]) -> Result<Verdict, Box<dyn std::error::Error>> {
    let line: Line<'_> = serde_json::from_slice(bytes)?;
    let mut classifier = Classifier::new();
    if let Some(provider) = &line.provider {
        classifier = classifier.provider(provider.clone().into_owned());
    }
    if let Some(now) = &line.now {
        classifier = classifier.at(instant(now)?);
    }
    let error = match &*line.surface {
        "transport" => Some(classifier.transport(line.body.as_str().into())),
        "http" | "stream" => answer(&line)?.classify(&classifier),
        surface => return Err(format!("surface is `{surface}`: use http, stream or transport").into()),
    };
    Ok(Verdict::new(line.id, error.as_ref()))
}

fn instant(text: &str) -> Result<SystemTime, Box<dyn std::error::Error>> {
    let since = text.parse::<jiff::Timestamp>()?.as_duration();
    let at = match since.is_negative() {
        true => SystemTime::UNIX_EPOCH.checked_sub(since.unsigned_abs()),
        false => SystemTime::UNIX_EPOCH.checked_add(since.unsigned_abs()),
    };
    at.ok_or_else(|| format!("now is `{text}`: out of range").into())
}

fn answer(line: &Line<'_>) -> Result<Answer, Box<dyn std::error::Error>> {
    let status = StatusCode::from_u16(line.status.ok_or("status is missing: only transport lines have none")?)?;
    let mut headers = HeaderMap::new();
    for (name, value) in &line.headers {
        insert(&mut headers, name.as_bytes(), value.as_bytes());
    }
    let body = match &line.body_b64 {
        Some(text) => BASE64_STANDARD.decode(text)?,
        None => line.body.clone().into_bytes(),
    };
    Ok(Answer { status, headers, body, stream: line.surface == "stream" })
}

impl Verdict {
    fn new(id: String, error: Option<&Error>) -> Self {
        Self {
            id: Some(id),
            kind: error.map(|error| error.kind().as_str()),
            retryable: error.is_some_and(Error::is_retryable),
            failover_on_429: error.is_some_and(|error| error.failover() == Failover::OnRateLimit),
            retry_after_ms: error.and_then(Error::retry_after).map(millis),
            scope: error.and_then(Error::scope).map(seawall::Scope::as_str),
            error: None,
        }
    }

    fn unread(number: u64, error: &dyn std::fmt::Display) -> Self {
        let error = Some(format!("line {number}: {error}"));
        Self { id: None, error, ..Self::new(String::new(), None) }
    }
}

fn millis(wait: std::time::Duration) -> u64 {
    u64::try_from(wait.as_nanos().saturating_add(500_000) / 1_000_000).unwrap_or(u64::MAX)
}
