/// What went wrong, named by what it means for the caller.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A limit of requests, tokens or concurrency was hit; it passes by itself.
    RateLimited,
    /// The provider has no capacity for anybody.
    Overloaded,
    /// The provider failed.
    Server,
    /// No answer, or no further part of one, within a limit.
    Timeout,
    /// The connection failed, or the answer came damaged or cut.
    Transport,
    /// The request met another one.
    Conflict,
    /// The key or token is missing, wrong or no longer valid.
    Auth,
    /// The key is good, but may not do this.
    Permission,
    /// There is no such model, deployment or resource (any more).
    NotFound,
    /// The request is malformed.
    InvalidRequest,
    /// The model refuses a parameter that others take.
    UnsupportedParameter,
    /// The prompt is longer than the model's context.
    ContextLength,
    /// The request is larger than the server accepts.
    PayloadTooLarge,
    /// A filter refused the prompt or withheld the answer.
    ContentFiltered,
    /// The account at the provider is out of money or over its spend limit. No waiting helps.
    QuotaExhausted,
    /// The call was given up by its own side.
    Cancelled,
    /// An answer that nothing explains.
    Unknown,
    /// Ours: the circuit to the provider is open.
    CircuitOpen,
    /// Ours: the provider named a wait that is not over.
    CoolingDown,
    /// Ours: a local limit of rate or concurrency is full.
    LocalLimit,
    /// Ours: the call's deadline has passed, or would pass, before anything is sent.
    Deadline,
    /// Ours: the call has used up its sends.
    SendsExhausted,
    /// Ours: the caller's own credit does not cover the call.
    Credit,
}

impl Kind {
    /// Every kind, in the order of their declaration.
    pub const ALL: &[Self] = &[
        Self::RateLimited,
        Self::Overloaded,
        Self::Server,
        Self::Timeout,
        Self::Transport,
        Self::Conflict,
        Self::Auth,
        Self::Permission,
        Self::NotFound,
        Self::InvalidRequest,
        Self::UnsupportedParameter,
        Self::ContextLength,
        Self::PayloadTooLarge,
        Self::ContentFiltered,
        Self::QuotaExhausted,
        Self::Cancelled,
        Self::Unknown,
        Self::CircuitOpen,
        Self::CoolingDown,
        Self::LocalLimit,
        Self::Deadline,
        Self::SendsExhausted,
        Self::Credit,
    ];

    /// The kind in snake case, as logs, metrics and `seawall explain` write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Server => "server",
            Self::Timeout => "timeout",
            Self::Transport => "transport",
            Self::Conflict => "conflict",
            Self::Auth => "auth",
            Self::Permission => "permission",
            Self::NotFound => "not_found",
            Self::InvalidRequest => "invalid_request",
            Self::UnsupportedParameter => "unsupported_parameter",
            Self::ContextLength => "context_length",
            Self::PayloadTooLarge => "payload_too_large",
            Self::ContentFiltered => "content_filtered",
            Self::QuotaExhausted => "quota_exhausted",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
            Self::CircuitOpen => "circuit_open",
            Self::CoolingDown => "cooling_down",
            Self::LocalLimit => "local_limit",
            Self::Deadline => "deadline",
            Self::SendsExhausted => "sends_exhausted",
            Self::Credit => "credit",
        }
    }

    /// Whether this is a refusal of ours, for which nothing was sent.
    #[must_use]
    pub const fn is_refusal(self) -> bool {
        matches!(
            self,
            Self::CircuitOpen
                | Self::CoolingDown
                | Self::LocalLimit
                | Self::Deadline
                | Self::SendsExhausted
                | Self::Credit
        )
    }
}

/// Who an error comes from.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The provider of the model, or the way to it.
    Provider,
    /// The server that hands out tokens.
    TokenServer,
    /// This process.
    Local,
}
