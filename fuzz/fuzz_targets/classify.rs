//! Any answer to the classifier, written as `429 openai`, its headers a line each, an empty line, and the body.
#![no_main]
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use libfuzzer_sys::fuzz_target;
use seawall::{Error, classify::Classifier};
use seawall_fuzz::{TREE, bounded};
use std::time::{Duration, UNIX_EPOCH};

fuzz_target!(|data: &[u8]| {
    let end = data.windows(2).position(|pair| pair == b"\n\n").unwrap_or(data.len());
    let (head, body) = (&data[..end], data.get(end + 2..).unwrap_or_default());
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = String::from_utf8_lossy(lines.next().unwrap_or_default());
    let (status, provider) = first.split_once(' ').unwrap_or((&*first, ""));
    let status = StatusCode::from_bytes(status.as_bytes()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut headers = HeaderMap::new();
    lines.filter_map(field).for_each(|(name, value)| _ = headers.try_append(name, value));
    let classifier =
        Classifier::new().provider(provider.to_owned()).at(UNIX_EPOCH + Duration::from_secs(1_800_000_000));
    for body in seawall_fuzz::bodies(body, 8 * 1024) {
        tell(&bounded(&body, TREE, |body| classifier.answer(status, &headers, body)));
        let found = [
            bounded(&body, TREE, |body| classifier.success(&headers, body)),
            bounded(&body, TREE, |body| classifier.frame(None, body)),
            bounded(&body, TREE, |body| classifier.frame(Some("error"), body)),
            bounded(&body, TREE, |body| classifier.frame(Some(provider), body)),
            bounded(&body, TREE, |body| classifier.stream(&headers, body)),
        ];
        found.iter().flatten().for_each(tell);
    }
});

fn field(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
    Some((HeaderName::from_bytes(&line[..colon]).ok()?, value))
}

/// Whatever it is, it can be told and asked.
fn tell(error: &Error) {
    let told = format!("{error} {error:?} {:?}", error.message());
    assert!(told.len() < 1 << 20, "an error stays readable");
    let _ = (error.kind(), error.failover(), error.is_retryable(), error.retry_after());
}
