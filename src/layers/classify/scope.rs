//! Which limit was hit.
use super::{facts::Facts, text::says};
use crate::Scope::{self, Concurrency, RequestsPerDay, RequestsPerMinute, TokensPerDay, TokensPerMinute};
use http::HeaderMap;

/// Phrases in the provider's words; the first row that holds decides.
const WORDS: &[(Scope, &[&str])] = &[
    (
        TokensPerDay,
        &[
            "tokens per day",
            "tokens/day",
            "tokens / day",
            "token*per-day",
            "tokensbyday",
            "tokens_per_day",
            "tokensperday",
            "request tokens*daily rate limit",
        ],
    ),
    (
        RequestsPerDay,
        &[
            "requests per day",
            "requests/day",
            "requests / day",
            "queries per day",
            "calls per day",
            "calls / day",
            "-per-day",
            "byday",
            "requests_per_day",
            "requestsperday",
            "requests*daily rate limit",
            "daily request",
            "今日调用次数",
        ],
    ),
    (
        Concurrency,
        &[
            "concurrent request",
            "concurrent connection",
            "concurrency",
            "concurrentrequests",
            "in-flight",
            "并发",
            "parallel request limit",
            "parallel requests limit",
            "limit type: max_parallel_requests",
        ],
    ),
    (
        TokensPerMinute,
        &[
            "tokens per min",
            "tokens/min",
            "tokens / min",
            "tokensbyminute",
            "byminutetokens",
            "tokens_per_min",
            "tokensperminute",
            "tokens-per-min",
            "tokens*per-minute",
            "token rate limit",
            "limit type: tokens",
        ],
    ),
    (
        RequestsPerMinute,
        &[
            "requests per min",
            "request per min",
            "requests/min",
            "requests / min",
            "queries per min",
            "calls per min",
            "calls / min",
            "-per-min",
            "byminute",
            "requests_per_min",
            "requests*per-minute",
            "requestsperminute",
            "per minute request limit",
            "call rate limit",
            "limit type: requests",
        ],
    ),
];

/// Abbreviations that stand as words.
const ABBREVIATIONS: &[(Scope, &str)] =
    &[(TokensPerDay, "tpd"), (RequestsPerDay, "rpd"), (TokensPerMinute, "tpm"), (RequestsPerMinute, "rpm")];

/// Codes that name a limit by themselves.
const CODES: &[(Scope, &[&str])] = &[
    (Concurrency, &["openrouter_in_flight_budget", "concurrency_limit_exceeded", "base_resp 1041"]),
    (RequestsPerDay, &["openrouter_free_tier_daily"]),
    (TokensPerMinute, &["token_quota_exceeded", "base_resp 1039"]),
];

/// AWS says neither minute nor bucket: its throttling knows two sentences.
const THROTTLING: &[(Scope, &[&str])] =
    &[(TokensPerMinute, &["too many tokens"]), (RequestsPerMinute, &["too many requests"])];

/// The scope of a rate limit, where the answer tells one and only one.
pub(super) fn of(facts: &Facts, provider: Option<&str>, headers: &HeaderMap) -> Option<Scope> {
    let words = super::text::lower(&facts.all);
    let spoken = |table: &[(Scope, &[&str])]| {
        table.iter().find(|row| row.1.iter().any(|phrase| says(&words, phrase))).map(|row| row.0)
    };
    let coded = CODES.iter().find(|row| row.1.iter().any(|code| facts.has_code(code))).map(|row| row.0);
    let throttled = || facts.codes.iter().any(|code| code.1.starts_with("throttlingexception"));
    of_quota(&facts.quotas)
        .or_else(|| abbreviated(&words))
        .or_else(|| spoken(WORDS))
        .or(coded)
        .or_else(|| throttled().then(|| spoken(THROTTLING))?)
        .or_else(|| of_type(headers))
        .or_else(|| of_buckets(provider, headers))
}

/// By the one abbreviation in the words; a list of all of them tells nothing.
fn abbreviated(words: &str) -> Option<Scope> {
    let mut found: Vec<Scope> = Vec::new();
    for word in words.split(|c: char| !c.is_ascii_alphanumeric()) {
        let scope = ABBREVIATIONS.iter().find(|row| row.1 == word).map(|row| row.0);
        found.extend(scope.filter(|scope| !found.contains(scope)));
    }
    found.pop().filter(|_| found.is_empty())
}

/// Google's quota names: `GenerateRequestsPerMinutePerProjectPerModel-FreeTier`.
fn of_quota(quotas: &str) -> Option<Scope> {
    let quota = quotas.lines().max_by_key(|quota| quota.contains("PerDay"))?;
    match (quota.contains("Token"), quota.contains("PerDay"), quota.contains("PerMinute")) {
        (true, true, _) => Some(TokensPerDay),
        (true, _, true) => Some(TokensPerMinute),
        (false, true, _) => Some(RequestsPerDay),
        (false, _, true) => Some(RequestsPerMinute),
        _ => None,
    }
}

/// GitHub's `x-ratelimit-type: UserByModelByDay`.
fn of_type(headers: &HeaderMap) -> Option<Scope> {
    let limit = headers.get("x-ratelimit-type")?.to_str().ok()?.to_ascii_lowercase();
    WORDS.iter().find(|row| row.1.iter().any(|phrase| limit.contains(phrase))).map(|row| row.0)
}

/// By the names of the empty buckets, if they agree.
fn of_buckets(provider: Option<&str>, headers: &HeaderMap) -> Option<Scope> {
    let mut scopes = empty_buckets(headers).filter_map(|name| of_bucket(provider, name));
    let first = scopes.next()?;
    scopes.all(|scope| scope == first).then_some(first)
}

fn of_bucket(provider: Option<&str>, name: &str) -> Option<Scope> {
    let tokens = name.contains("token");
    let requests = name.contains("req");
    // Groq counts requests by the day and tokens by the minute, and its headers do not say so.
    let daily = name.contains("day") || requests && provider.is_some_and(|provider| provider.contains("groq"));
    match (tokens, requests, daily) {
        (true, _, true) => Some(TokensPerDay),
        (true, _, false) => Some(TokensPerMinute),
        (_, true, true) => Some(RequestsPerDay),
        (_, true, false) => Some(RequestsPerMinute),
        _ => None,
    }
}

/// Names of the headers that say that nothing is left of a limit.
pub(super) fn empty_buckets(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    named(headers, "remaining").filter(|header| header.1.parse() == Ok(0.0)).map(|header| header.0)
}

/// Whether the plan has no allowance at all: such a limit never refills.
pub(super) fn never_allowed(headers: &HeaderMap) -> bool {
    named(headers, "limit-").any(|(name, value)| name.contains("ratelimit-limit-") && value.parse() == Ok(0.0))
}

fn named<'a>(headers: &'a HeaderMap, part: &'static str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let text = headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?.trim())));
    text.filter(move |(name, _)| name.contains("ratelimit") && name.contains(part))
}
