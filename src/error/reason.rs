use std::time::Duration;

/// Which limit a rate limit is about.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Requests a minute.
    RequestsPerMinute,
    /// Tokens a minute.
    TokensPerMinute,
    /// Requests a day.
    RequestsPerDay,
    /// Tokens a day.
    TokensPerDay,
    /// Requests at once.
    Concurrency,
}

impl Scope {
    /// The field's usual abbreviation: `rpm`, `tpm`, `rpd`, `tpd`, `concurrency`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RequestsPerMinute => "rpm",
            Self::TokensPerMinute => "tpm",
            Self::RequestsPerDay => "rpd",
            Self::TokensPerDay => "tpd",
            Self::Concurrency => "concurrency",
        }
    }
}

/// How far an attempt had come when it failed.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Before there was a connection: the provider saw nothing. It counts as a send all the same, as the attempt was made.
    Connect,
    /// Sent, and no head of an answer yet; where only whole replies come up, no reply yet.
    FirstByte,
    /// A head, and no content yet.
    FirstToken,
    /// Between two parts of the answer.
    Idle,
    /// In the body of the answer.
    Body,
    /// At the deadline of the whole call.
    Total,
}

impl Phase {
    /// The phase in snake case, as logs and metrics write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::FirstByte => "first_byte",
            Self::FirstToken => "first_token",
            Self::Idle => "idle",
            Self::Body => "body",
            Self::Total => "total",
        }
    }
}

/// Why a retryable failure was not retried (again).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GaveUp {
    /// All attempts that the policy allows were made.
    AttemptsSpent,
    /// The call has used up its sends.
    SendsSpent,
    /// The wait is longer than the policy's cap, given here.
    WaitOverCap(Duration),
    /// The wait would end after the call's deadline, or that is reached.
    WaitPastDeadline,
    /// Waiting out refusals has taken as long as it may, given here.
    PatienceSpent(Duration),
    /// The retry budget of this provider is spent.
    BudgetSpent,
    /// The request cannot be sent a second time.
    NotReplayable,
    /// The last attempt was refused before it was sent, and went without a copy to wait with.
    NotKept,
    /// Another route is open, and is the better way on.
    OthersOpen,
}

impl GaveUp {
    /// The reason in snake case, as logs and metrics write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AttemptsSpent => "attempts_spent",
            Self::SendsSpent => "sends_spent",
            Self::WaitOverCap(_) => "wait_over_cap",
            Self::WaitPastDeadline => "wait_past_deadline",
            Self::PatienceSpent(_) => "patience_spent",
            Self::BudgetSpent => "budget_spent",
            Self::NotReplayable => "not_replayable",
            Self::NotKept => "not_kept",
            Self::OthersOpen => "others_open",
        }
    }
}
