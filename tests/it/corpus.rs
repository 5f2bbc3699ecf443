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
pub fn corpus() -> Vec<Line> {
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

// -- what must not matter

/// How a JSON body is written anew.
#[derive(Clone, Copy)]
struct Style {
    reversed: bool,
    spaced: bool,
    extra: bool,
}

fn written(value: &Value, style: Style, out: &mut String) {
    let gap = if style.spaced { "\n\t " } else { "" };
    let list = |out: &mut String, open: char, close: char, items: Vec<String>| {
        out.push(open);
        out.push_str(&items.join(&format!("{gap},{gap}")));
        out.push_str(gap);
        out.push(close);
    };
    match value {
        Value::Object(fields) => {
            let mut items: Vec<String> = Vec::new();
            for (name, value) in fields {
                let mut item = format!("{}{gap}:{gap}", Value::from(name.as_str()));
                written(value, style, &mut item);
                items.push(item);
            }
            if style.extra {
                items.push(r#""x_trace":{"span":"0af7","codes":[429,"insufficient_quota"]}"#.into());
                items.insert(0, r#""_unknown":"the prompt is too long""#.into());
            }
            if style.reversed {
                items.reverse();
            }
            list(out, '{', '}', items);
        }
        Value::Array(items) => {
            let texts = items.iter().map(|item| {
                let mut text = String::new();
                written(item, style, &mut text);
                text
            });
            list(out, '[', ']', texts.collect());
        }
        other => out.push_str(&other.to_string()),
    }
}

fn rewritten(text: &str, style: Style) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok().filter(|value: &Value| value.is_object() || value.is_array())?;
    let mut out = String::new();
    written(&value, style, &mut out);
    Some(out)
}

/// The same answer with its JSON written another way, where it has any; in a stream frame by frame.
fn with_style(line: &Line, style: Style) -> Line {
    let mut line = line.clone();
    let one_line = Style { spaced: false, ..style };
    let body = line.text("body");
    let frames = body.lines().map(|frame| match frame.strip_prefix("data:") {
        Some(data) => rewritten(data.trim(), one_line).map_or_else(|| frame.to_owned(), |data| format!("data: {data}")),
        None => rewritten(frame, one_line).unwrap_or_else(|| frame.to_owned()),
    });
    let body = match line.text("surface") {
        "stream" => rewritten(body, style).unwrap_or_else(|| frames.map(|frame| frame + "\r\n").collect()),
        _ => rewritten(body, style).unwrap_or_else(|| body.to_owned()),
    };
    if line.0["body_b64"].is_null() {
        line.0["body"] = body.into();
    }
    line
}

/// Other ids, and headers in capitals and another order.
fn with_other_headers(line: &Line) -> Line {
    let mut line = line.clone();
    let headers = line.0["headers"].as_object().cloned().unwrap_or_default();
    let capital = |(name, value): (String, Value)| match name.as_str() {
        name if name.ends_with("id") => (name.to_uppercase(), "another-id-429-1113".into()),
        name => (name.to_uppercase(), value),
    };
    line.0["headers"] = headers.into_iter().rev().map(capital).collect();
    line.0["headers"]["X-Unknown"] = "retry-after: 7".into();
    for id in ["org_XXXX", "req_XXXX", "org-XXXX", "chatcmpl-XXXX", "00000000-0000-0000-0000-000000000000"] {
        line.0["body"] = line.text("body").replace(id, "b7-402-x").into();
    }
    line
}

#[test]
fn order_case_extra_fields_white_space_and_ids_change_no_verdict() {
    let plain = Style { reversed: false, spaced: false, extra: false };
    let mut lines = fixtures();
    lines.extend(corpus());
    lines.retain(|line| line.text("surface") != "transport");
    let styles = [
        Style { reversed: true, ..plain },
        Style { spaced: true, ..plain },
        Style { extra: true, ..plain },
        Style { reversed: true, spaced: true, extra: true },
    ];
    for style in styles {
        assert_all_hold(&lines.iter().map(|line| with_style(line, style)).collect::<Vec<_>>());
    }
    assert_all_hold(&lines.iter().map(with_other_headers).collect::<Vec<_>>());
}

#[test]
fn no_verdict_needs_the_providers_name_but_where_headers_are_ambiguous() {
    let anonymous = |line: &Line| {
        let mut line = line.clone();
        line.0["provider"] = "somebody".into();
        line
    };
    // Groq counts requests by the day under the headers that others use for the minute.
    let needs = |line: &&Line| line.text("provider") == "groq" && line.0["expect"]["scope"] == "rpd";
    let mut lines = fixtures();
    lines.extend(corpus());
    let lines: Vec<Line> = lines.iter().filter(|line| !needs(line)).map(anonymous).collect();
    assert_all_hold(&lines);
}
