//! Recorded answers and their expected verdicts: the project's own fixtures, and the shared corpus where it lies beside.
use base64_lite::decode;
use seawall::{Error, Failover, classify::Classifier};
use serde_json::Value;
use std::{
    error::Error as StdError,
    fmt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// One line: an answer, and what it means.
#[derive(Clone)]
pub struct Line(pub Value);

impl Line {
    fn text(&self, field: &str) -> &str {
        self.0[field].as_str().unwrap_or_default()
    }

    fn headers(&self) -> http::HeaderMap {
        let mut headers = http::HeaderMap::new();
        for (name, value) in self.0["headers"].as_object().into_iter().flatten() {
            headers.append(
                http::HeaderName::try_from(name.as_str()).unwrap(),
                http::HeaderValue::from_str(value.as_str().unwrap()).unwrap(),
            );
        }
        headers
    }

    fn body(&self) -> Vec<u8> {
        match self.0["body_b64"].as_str() {
            Some(text) => decode(text),
            None => self.text("body").as_bytes().to_vec(),
        }
    }

    fn judged(&self) -> Option<Error> {
        let mut classifier = Classifier::new().provider(self.text("provider").to_owned());
        if let Some(now) = self.0["now"].as_str() {
            classifier = classifier.at(SystemTime::UNIX_EPOCH + Duration::from_secs(epoch(now)));
        }
        let (headers, body) = (self.headers(), self.body());
        match self.text("surface") {
            "stream" => classifier.stream(&headers, &body),
            "transport" => Some(classifier.transport(chain(self.text("body")))),
            _ => {
                let status = u16::try_from(self.0["status"].as_u64().unwrap()).unwrap();
                Some(classifier.answer(http::StatusCode::from_u16(status).unwrap(), &headers, &body))
            }
        }
    }

    /// What differs from the expectation.
    fn failures(&self) -> Vec<String> {
        let Some(error) = self.judged() else { return vec!["no error".into()] };
        let expect = &self.0["expect"];
        let wait =
            error.retry_after().map(|wait| u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX));
        let mut failures = Vec::new();
        let mut check = |what: &str, told: Value, expected: &Value| {
            if told != *expected {
                failures.push(format!("{what}: {told} instead of {expected}"));
            }
        };
        check("kind", error.kind().as_str().into(), &expect["kind"]);
        check("retryable", error.is_retryable().into(), &expect["retryable"]);
        check("failover_on_429", (error.failover() == Failover::OnRateLimit).into(), &expect["failover_on_429"]);
        check("scope", error.scope().map(seawall::Scope::as_str).into(), &expect["scope"]);
        let expected = &expect["retry_after_ms"];
        match (wait, expected.as_u64()) {
            (Some(told), Some(expected)) if told.abs_diff(expected) <= 1 => {}
            _ => check("retry_after_ms", wait.into(), expected),
        }
        failures
    }
}

/// `2026-01-15T12:00:00Z`, as the lines write it.
fn epoch(text: &str) -> u64 {
    let date = text.trim_end_matches('Z').replace(['T', ':'], "-");
    let parts: Vec<u64> = date.split('-').map(|part| part.parse().unwrap()).collect();
    let [year, month, day, hour, minute, second] = parts[..] else { panic!("{text}") };
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1 - 719_468;
    ((days * 24 + hour) * 60 + minute) * 60 + second
}

mod base64_lite {
    pub fn decode(text: &str) -> Vec<u8> {
        let value = |byte: u8| match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
        for byte in text.bytes().filter(|byte| *byte != b'=') {
            bits = bits << 6 | u32::from(value(byte));
            held += 6;
            if held >= 8 {
                held -= 8;
                bytes.push((bits >> held & 0xff) as u8);
            }
        }
        bytes
    }
}

/// A failure as its text shows it: one error for each part between `: `.
#[derive(Debug)]
struct Cause(String, Option<Box<dyn StdError + Send + Sync>>);

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for Cause {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.1.as_ref().map(|cause| &**cause as _)
    }
}

pub fn chain(text: &str) -> Box<dyn StdError + Send + Sync> {
    let mut parts: Vec<&str> = text.split(": ").collect();
    let last = parts.pop().unwrap();
    let code = last.split_once("(os error ").and_then(|(_, code)| code.trim_end_matches(')').parse().ok());
    let mut error: Box<dyn StdError + Send + Sync> = match code {
        Some(code) => std::io::Error::from_raw_os_error(code).into(),
        None => Box::new(Cause(last.into(), None)),
    };
    for part in parts.into_iter().rev() {
        error = Box::new(Cause(part.into(), Some(error)));
    }
    error
}

pub fn read(path: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(|line| Line(serde_json::from_str(line).expect(line))).collect()
}

/// The project's own lines, one file a family of providers.
pub fn fixtures() -> Vec<Line> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/errors");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().flat_map(|file| read(file)).collect()
}

/// The shared corpus, if it lies where `SEAWALL_SHARED` says or beside the project.
fn corpus() -> Vec<Line> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = std::env::var_os("SEAWALL_SHARED").map_or(beside, PathBuf::from);
    let path = shared.join("corpus/provider_errors.jsonl");
    if path.is_file() {
        return read(&path);
    }
    eprintln!("{} is not there: only the project's own fixtures are checked", path.display());
    Vec::new()
}

fn assert_all_hold(lines: &[Line]) {
    let mut failed = 0;
    for line in lines {
        let failures = line.failures();
        if !failures.is_empty() {
            failed += 1;
            println!("{}: {}", line.text("id"), failures.join(", "));
        }
    }
    assert_eq!(failed, 0, "of {} lines", lines.len());
}

#[test]
fn every_answer_of_the_fixtures_is_judged_as_expected() {
    let lines = fixtures();
    assert!(lines.len() >= 150, "{} lines", lines.len());
    assert_all_hold(&lines);
}

#[test]
fn every_answer_of_the_corpus_is_judged_as_expected() {
    assert_all_hold(&corpus());
}
