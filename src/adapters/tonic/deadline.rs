//! The deadline of a call, on its way in and on its way out.
use crate::{
    Context,
    time::{self, Instant},
};
use ::tonic::metadata::MetadataMap;
use http::{HeaderMap, HeaderName, HeaderValue, request::Parts};
use std::time::Duration;

const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// What a call still may do: its caller's `grpc-timeout` is its deadline. A header that is no timeout is passed over.
#[must_use]
pub fn context(metadata: &MetadataMap) -> Context {
    in_headers(metadata.as_ref()).map_or_else(Context::default, |timeout| Context::default().with_timeout(timeout))
}

/// Makes the timeout of a request the deadline of its call, where that has no earlier one.
pub(super) fn take(request: &mut Parts) {
    let Some(timeout) = in_headers(&request.headers) else { return };
    let context = request.extensions.get().copied().unwrap_or_else(Context::default);
    let ends = time::after(time::now(), timeout);
    if context.deadline.is_none_or(|deadline| ends < deadline) {
        request.extensions.insert(context.with_deadline(ends));
    }
}

/// Tells the server how much is left until then, unless it is told of less.
pub(super) fn tell(headers: &mut HeaderMap, ends: Instant) {
    let left = ends.saturating_duration_since(time::now());
    if in_headers(headers).is_none_or(|told| left < told)
        && let Ok(value) = HeaderValue::from_str(&written(left))
    {
        headers.insert(TIMEOUT, value);
    }
}

fn in_headers(headers: &HeaderMap) -> Option<Duration> {
    timeout(headers.get(TIMEOUT)?.to_str().ok()?)
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

/// In the finest unit that has room for it, and never more than it is. There is no timeout of zero.
fn written(timeout: Duration) -> String {
    const ROOM: u128 = 99_999_999;
    let units = [(1, 'n'), (1_000, 'u'), (1_000_000, 'm'), (1_000_000_000, 'S'), (60_000_000_000, 'M')];
    let fits = units.into_iter().find(|(nanos, _)| timeout.as_nanos() / nanos <= ROOM);
    let (nanos, unit) = fits.unwrap_or((3_600_000_000_000, 'H'));
    format!("{}{unit}", (timeout.as_nanos() / nanos).clamp(1, ROOM))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_is_never_more() {
        for nanos in [0, 1, 99_999_999, 100_000_000, 1_500_000_001, 3_600_000_000_000, u64::MAX] {
            let left = Duration::from_nanos(nanos);
            let text = written(left);
            let read = timeout(&text).unwrap();
            assert!(read <= left.max(Duration::from_nanos(1)), "{text}");
            assert!(left - read.min(left) <= left / 1_000_000, "{text} of {left:?}");
        }
        assert_eq!(written(Duration::MAX), "99999999H");
    }
}
