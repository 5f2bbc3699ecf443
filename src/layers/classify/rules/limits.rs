use super::{On, Rule};
use crate::Kind::{Overloaded, RateLimited};

const RATE_CODES: &[&str] = &[
    "rate_limit_exceeded",
    "rate_limit_error",
    "rate_limit_reached_error",
    "rate_limit_reached",
    "rate_limited",
    "rate_limit",
    "ratelimitreached",
    "ratelimitexceeded",
    "ratelimiterror",
    "ratelimit",
    "rate-limited",
    "request_rate_limit_exceeded",
    "model_rate_limit",
    "throttling*",
    "throttled*",
    "throttling_error",
    "toomanyrequests*",
    "too_many_requests",
    "too_many_requests_error",
    "too-many-requests",
    "request_limit_exceeded",
    "requestlimitexceeded",
    "requestthrottled*",
    "limit_requests",
    "limit_tokens",
    "limit_burst_rate",
    "token_quota_exceeded",
    "too_many_tokens_error",
    "ramp_limit_exceeded",
    "concurrency_limit_exceeded",
    "usage_limit_reached",
    "slowdown",
    "1300",
    "1302",
    "1303",
    "1304",
    "1308",
    "base_resp 1002",
    "base_resp 1039",
    "base_resp 1041",
    "base_resp 2056",
    "policies.ratelimit.*",
];

/// One request that is larger than the bucket: waiting never helps.
pub(super) const TOO_LARGE: &[Rule] = &[
    Rule::codes(RateLimited, On::Of(&[413, 429]), RATE_CODES).saying(&["request too large"]).hopeless(),
    Rule::words(RateLimited, On::Only(&[429]), &["request too large for"]).hopeless(),
];

/// No capacity for anybody. A 429 may say this too.
pub(super) const OVERLOAD: &[Rule] = &[
    Rule::codes(RateLimited, On::Only(&[429]), &["slow_down"]).beside(&[
        "rate_limit_error",
        "rate_limit_exceeded",
        "requests",
    ]),
    Rule::codes(
        Overloaded,
        On::Any,
        &[
            "overloaded_error",
            "overloaded",
            "server_is_overloaded",
            "server_overloaded",
            "model_overloaded",
            "slow_down",
            "engine_overloaded_error",
            "engine_overloaded",
            "provider_overloaded",
            "capacity_exceeded",
            "service_tier_capacity_exceeded",
            "queue_exceeded",
            "model_capacity_exhausted",
            "modelnotready*",
            "serviceunavailable*",
            "service_unavailable",
            "service_unavailable_error",
            "unavailable",
            "system_busy",
            "server_busy",
            "modelserviceoverloaded",
            "nocapacity",
            "no_capacity",
            "3505",
            "1305",
            "1312",
            "50505",
            "50508",
            "50603",
        ],
    ),
    Rule::words(
        Overloaded,
        On::Of(&[429]),
        &[
            "overloaded",
            "high demand",
            "temporarily unable",
            "at capacity",
            "capacity exceeded",
            "capacity temporarily exceeded",
            "over capacity",
            "high traffic",
            "server busy",
            "server is busy",
            "too busy",
            "no capacity available",
            "maximum pending requests",
            "queue is full",
            "out of capacity",
            "访问量过大",
            "overloaded or not ready",
            "model is currently loading",
        ],
    ),
];

/// Google's word for its limits counts under a 429 alone: its other statuses use it for sizes.
pub(super) const RATE: &[Rule] = &[
    Rule::codes(RateLimited, On::Any, RATE_CODES),
    Rule::codes(RateLimited, On::Of(&[429]), &["resource_exhausted", "resource-exhausted"]),
];

/// Throttling that is only worded, under another status.
pub(super) const WORDS: &[Rule] = &[Rule::words(
    RateLimited,
    On::Of(&[400, 403]),
    &["too many requests", "rate limit exceeded", "rate limit reached", "rate-limited", "being rate limited"],
)];
