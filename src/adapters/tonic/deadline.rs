use crate::Context;
use ::tonic::metadata::MetadataMap;
use std::time::Duration;

/// What a call still may do: its caller's `grpc-timeout` is its deadline. A header that is no timeout is passed over.
#[must_use]
pub fn context(metadata: &MetadataMap) -> Context {
    let timeout = metadata.get("grpc-timeout").and_then(|value| timeout(value.to_str().ok()?));
    timeout.map_or_else(Context::default, |timeout| Context::default().with_timeout(timeout))
}

/// At most eight digits and a unit.
fn timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let is_number = (1..=8).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|_| is_number)?;
    match unit {
        "H" => Some(Duration::from_secs(number * 3600)),
        "M" => Some(Duration::from_secs(number * 60)),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}
