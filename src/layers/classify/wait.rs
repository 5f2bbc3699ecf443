//! When it is worth asking again, in all the forms that providers say it.
use super::{facts::Facts, text::lower};
use crate::Kind;
use http::HeaderMap;
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// Numbers over these are a point in time, not a wait of thirty years.
const EPOCH_SECONDS: f64 = 1e9;
const EPOCH_MILLIS: f64 = 1e11;

/// The wait that an answer names: its headers first, then its body; resets only of a bucket that is empty.
pub(super) fn told(facts: &Facts, kind: Kind, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let told = in_headers(headers, now);
    let transient = matches!(kind, Kind::RateLimited | Kind::Overloaded)
        || matches!(kind, Kind::Server | Kind::Timeout) && facts.status.is_none_or(|status| status >= 500);
    let told = told.or_else(|| transient.then(|| facts.wait.or_else(|| in_words(&facts.all)))?);
    told.or_else(|| (kind == Kind::RateLimited).then(|| resets(facts, headers, now))?)
}

fn in_headers(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let values = |name| headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).map(str::trim);
    let millis = |text| number(text).map(|millis| seconds(millis / 1e3));
    values("retry-after-ms").find_map(millis).or_else(|| {
        let date = |text| httpdate::parse_http_date(text).ok().map(|date| until(date, now));
        values("retry-after").find_map(|text| number(text).map(|number| sized(number, now)).or_else(|| date(text)))
    })
}

/// A field of a body that holds a wait.
pub(super) fn in_field(name: &str, value: &Value) -> Option<Duration> {
    let amount = || value.as_f64().or_else(|| number(value.as_str()?)).filter(|amount| *amount >= 0.0);
    match name {
        "retrydelay" => duration(value.as_str()?.trim()),
        "estimated_time" | "retry_after" | "retry_after_seconds" | "resets_in_seconds" => Some(seconds(amount()?)),
        "retry_after_ms" => Some(seconds(amount()? / 1e3)),
        _ => None,
    }
}

/// What stands before a wait in a sentence.
const LEADS: &[&str] = &[
    "again in",
    "again after",
    "retry in",
    "retry after",
    "retrying in",
    "request in",
    "request after",
    "wait for",
    "wait",
    "reset in",
    "resets in",
    "reset after",
    "available in",
];

/// A wait in the provider's words: a Go duration, or a number with its unit spelled out.
fn in_words(text: &str) -> Option<Duration> {
    let text = lower(text);
    LEADS.iter().find_map(|lead| text.match_indices(lead).find_map(|(at, _)| spoken(&text[at + lead.len()..])))
}

fn spoken(text: &str) -> Option<Duration> {
    let mut rest = text.trim_start_matches([' ', ':', '~']);
    for filler in ["about ", "approximately ", "at least ", "another "] {
        rest = rest.strip_prefix(filler).unwrap_or(rest);
    }
    let mut sum: Option<Duration> = None;
    while let Some((part, after)) = part(rest) {
        sum = Some(sum.unwrap_or_default().saturating_add(part));
        rest = after.trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    sum
}

/// A number and its unit at the start of `text`, and what follows.
fn part(text: &str) -> Option<(Duration, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let amount = number(&text[..digits])?;
    let rest = text[digits..].trim_start();
    let letters = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
    let unit = match &rest[..letters] {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" | "millisecond" | "milliseconds" => 1e-3,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    };
    Some((seconds(amount * unit), &rest[letters..]))
}

/// A Go or protobuf duration and nothing else: `1m30.5s`, `0.5s`.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let (part, after) = part(rest)?;
        sum = sum.saturating_add(part);
        rest = after;
    }
    (!text.is_empty()).then_some(sum)
}

/// The longest reset of the buckets that are empty.
fn resets(facts: &Facts, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let buckets = super::scope::empty_buckets(headers);
    let of_headers = buckets.filter_map(|name| reset(text(&name.replace("remaining", "reset"))?, now)).max();
    let unified = || match text("anthropic-ratelimit-unified-status")? {
        "rejected" => reset(text("anthropic-ratelimit-unified-reset")?, now),
        _ => None,
    };
    let handed_on = || {
        let named = |name: &str| facts.headers.iter().find(|header| header.0 == name).map(|header| header.1.as_str());
        let again = named("retry-after").and_then(|text| reset(text, now));
        again
            .or_else(|| reset(named("x-ratelimit-reset").filter(|_| named("x-ratelimit-remaining") == Some("0"))?, now))
    };
    of_headers
        .or_else(|| structured(text("ratelimit")?))
        .or_else(unified)
        .or_else(handed_on)
        .or_else(|| reset(facts.lifted.as_deref()?, now))
        .or_else(|| reset(text("x-ratelimit-timeremaining")?, now))
}

/// The IETF drafts: `"api";r=0;t=55`, and the older `limit=10, remaining=0, reset=5`.
fn structured(text: &str) -> Option<Duration> {
    let of = |list: &str, left: &str, time: &str, separator: char| {
        let parameter = |name: &str| {
            list.split(separator)
                .filter_map(|part| part.trim().split_once('='))
                .find(|part| part.0 == name)
                .map(|part| part.1)
        };
        (number(parameter(left)?)? == 0.0).then(|| number(parameter(time)?).map(seconds))?
    };
    text.split(',').filter_map(|item| of(item, "r", "t", ';')).max().or_else(|| of(text, "remaining", "reset", ','))
}

/// A reset: a number of seconds, an epoch, a duration, an instant or a date.
fn reset(text: &str, now: SystemTime) -> Option<Duration> {
    let instant = || {
        let millis = text.parse::<jiff::Timestamp>().ok()?.as_millisecond().max(0).unsigned_abs();
        Some(until(SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(millis))?, now))
    };
    let date = || httpdate::parse_http_date(text).ok().map(|date| until(date, now));
    number(text).map(|number| sized(number, now)).or_else(|| duration(text)).or_else(instant).or_else(date)
}

/// A number by its size: seconds, or an epoch in seconds or milliseconds.
fn sized(number: f64, now: SystemTime) -> Duration {
    let epoch = |since| until(SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(now), now);
    match number {
        millis if millis > EPOCH_MILLIS => {
            SystemTime::UNIX_EPOCH.checked_add(seconds(millis / 1e3)).map_or(Duration::MAX, |at| until(at, now))
        }
        since if since > EPOCH_SECONDS => epoch(seconds(since)),
        wait => seconds(wait),
    }
}

fn until(at: SystemTime, now: SystemTime) -> Duration {
    at.duration_since(now).unwrap_or_default()
}

/// Digits with at most one point: no sign, no exponent, no `NaN` and no `inf`. Of too many digits it is infinite, which
/// is a wait as long as any.
fn number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|_| plain)
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_by_size_and_never_overflow() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_768_478_400);
        assert_eq!(sized(1_768_478_430.0, now), Duration::from_secs(30));
        assert_eq!(sized(1_768_478_430_500.0, now), Duration::from_millis(30_500));
        assert_eq!(sized(86_400.0, now), Duration::from_secs(86_400));
        assert_eq!(sized(1e300, now), Duration::MAX);
        assert_eq!(number("99999999999999999999999").map(|number| sized(number, now)), Some(Duration::MAX));
        for garbage in ["NaN", "inf", "-5", "+5", "1e3", "", ".", "1.2.3", "soon", "5s"] {
            assert_eq!(number(garbage), None, "{garbage}");
        }
    }

    #[test]
    fn waits_are_read_out_of_sentences() {
        let wait = |text: &str| in_words(text).map(|wait| wait.as_millis());
        assert_eq!(wait("Please try again in 1m30.5s."), Some(90_500));
        assert_eq!(wait("try again in 7m12s. Visit"), Some(432_000));
        assert_eq!(wait("Please retry after 1 second."), Some(1000));
        assert_eq!(wait("try again after 1 hour and 5 minutes"), Some(3_900_000));
        assert_eq!(wait("Try again in a few minutes, or try again in 28ms"), Some(28));
        assert_eq!(wait("please wait a moment and try again later"), None);
        assert_eq!(wait("retry after 5 apples"), None);
    }

    #[test]
    fn only_an_empty_bucket_of_a_structured_header_counts() {
        assert_eq!(structured(r#""api";r=0;t=55"#), Some(Duration::from_secs(55)));
        assert_eq!(structured(r#""a";r=3;t=55, "b";r=0;t=7"#), Some(Duration::from_secs(7)));
        assert_eq!(structured("limit=100, remaining=0, reset=30"), Some(Duration::from_secs(30)));
        assert_eq!(structured(r#""api";r=1;t=55"#), None);
    }
}
