//! How an error reads in a log line.
use super::{Error, GaveUp, Kind, Origin, Phase};
use std::fmt;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(provider) = self.provider_name() {
            write!(f, "{provider}: ")?;
        }
        if self.origin() == Origin::TokenServer {
            f.write_str("token server: ")?;
        }
        f.write_str(words(self.kind()))?;
        if let Some(phase) = self.phase() {
            write!(f, " {}", phase_words(phase))?;
        }
        self.facts(f)?;
        if let Some(message) = self.message().filter(|_| self.origin() == Origin::Local) {
            write!(f, ": {message}")?;
        }
        if let Some(wait) = self.retry_after() {
            let asks = if self.is_refusal() { "holds for" } else { "asks to wait" };
            write!(f, ", {asks} {wait:?}")?;
        }
        if self.is_delivered() {
            f.write_str(", part of the answer was delivered")?;
        }
        match self.sends() {
            0 => f.write_str(", nothing sent")?,
            1 => f.write_str(", 1 send")?,
            sends => write!(f, ", {sends} sends")?,
        }
        match self.gave_up() {
            Some(reason) => write!(f, ", gave up: {reason}"),
            None => Ok(()),
        }
    }
}

impl Error {
    /// Status, code and scope in brackets: short words of the provider's that can hold neither a key nor a prompt.
    fn facts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut open = " (";
        let mut fact = |text: &dyn fmt::Display| {
            let result = write!(f, "{open}{text}");
            open = ", ";
            result
        };
        if let Some(status) = self.status() {
            fact(&status)?;
        }
        if let Some(code) = self.code().filter(|code| is_plain(code)) {
            fact(&code)?;
        }
        if let Some(scope) = self.scope() {
            fact(&scope.as_str())?;
        }
        if open == ", " { f.write_str(")") } else { Ok(()) }
    }
}

/// A code that is a word (`rate_limit_exceeded`) or a short number (`1113`). Keys mix letters and digits.
fn is_plain(code: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-' | b'.');
    let number = code.len() <= 6 && code.bytes().all(|byte| byte.is_ascii_digit());
    !code.is_empty() && (number || code.len() <= 48 && code.bytes().all(word))
}

fn words(kind: Kind) -> &'static str {
    match kind {
        Kind::RateLimited => "rate limited",
        Kind::Overloaded => "overloaded",
        Kind::Server => "server error",
        Kind::Timeout => "timeout",
        Kind::Transport => "transport failure",
        Kind::Conflict => "conflict",
        Kind::Auth => "key or token refused",
        Kind::Permission => "not permitted",
        Kind::NotFound => "not found",
        Kind::InvalidRequest => "invalid request",
        Kind::UnsupportedParameter => "parameter not supported",
        Kind::ContextLength => "prompt exceeds the context length",
        Kind::PayloadTooLarge => "payload too large",
        Kind::ContentFiltered => "content filtered",
        Kind::QuotaExhausted => "account out of credit or over its spend limit",
        Kind::Cancelled => "cancelled",
        Kind::Unknown => "unexplained answer",
        Kind::CircuitOpen => "circuit open",
        Kind::CoolingDown => "cooling down",
        Kind::LocalLimit => "local limit is full",
        Kind::Deadline => "deadline passed",
        Kind::SendsExhausted => "sends exhausted",
        Kind::Credit => "own credit does not cover the call",
    }
}

fn phase_words(phase: Phase) -> &'static str {
    match phase {
        Phase::Connect => "while connecting",
        Phase::FirstByte => "before an answer",
        Phase::FirstToken => "before the first token",
        Phase::Idle => "between two parts of the answer",
        Phase::Body => "in the body",
        Phase::Total => "at the deadline of the call",
    }
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AttemptsSpent => f.write_str("all attempts are spent"),
            Self::SendsSpent => f.write_str("all sends of this call are spent"),
            Self::WaitOverCap(cap) => write!(f, "the wait is over the cap of {cap:?}"),
            Self::WaitPastDeadline => f.write_str("another attempt would come past the deadline"),
            Self::PatienceSpent(most) => write!(f, "refusals are waited out for {most:?} at most"),
            Self::BudgetSpent => f.write_str("the retry budget is spent"),
            Self::NotReplayable => f.write_str("the request cannot be sent twice"),
            Self::NotKept => f.write_str("a refusal of the last attempt is not waited out"),
            Self::OthersOpen => f.write_str("another route is open"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.kind())
            .field("origin", &self.origin())
            .field("provider", &self.provider_name())
            .field("status", &self.status())
            .field("code", &self.code().filter(|code| is_plain(code)))
            .field("phase", &self.phase())
            .field("scope", &self.scope())
            .field("retry_after", &self.retry_after())
            .field("retryable", &self.is_retryable())
            .field("delivered", &self.is_delivered())
            .field("sends", &self.sends())
            .field("gave_up", &self.gave_up())
            .field("trail", &self.trail())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Invalid, Scope, Trail};
    use std::time::Duration;

    #[test]
    fn reads_as_a_log_line() {
        let mut trail = Trail::default();
        trail.push(Error::provider(Kind::Server), Duration::ZERO);
        let error = Error::provider(Kind::RateLimited)
            .with_provider("openai")
            .with_status(429)
            .with_code("rate_limit_exceeded")
            .with_scope(Scope::TokensPerMinute)
            .with_retry_after(Duration::from_secs(3600))
            .after(trail)
            .with_gave_up(GaveUp::WaitOverCap(Duration::from_secs(60)));
        assert_eq!(
            error.to_string(),
            "openai: rate limited (429, rate_limit_exceeded, tpm), asks to wait 3600s, 2 sends, \
             gave up: the wait is over the cap of 60s"
        );
        assert_eq!(Error::refusal(Kind::CircuitOpen).to_string(), "circuit open, nothing sent");
        let silent = Error::provider(Kind::Timeout).with_phase(Phase::FirstByte);
        assert_eq!(silent.to_string(), "timeout before an answer, 1 send");
    }

    #[test]
    fn an_error_of_ours_says_what_to_do() {
        let error = Error::from(Invalid::new("messages", "there are none: add one with `user`"));
        let shown = "invalid request: messages: there are none: add one with `user`, nothing sent";
        assert_eq!((error.to_string().as_str(), error.kind(), error.sends()), (shown, Kind::InvalidRequest, 0));
    }

    #[test]
    fn keys_and_prompts_stay_out_of_both_forms() {
        let secret = "sk-proj-4f9aAbC123";
        let error = Error::provider(Kind::Auth)
            .with_code(secret)
            .with_message(format!("Incorrect API key provided: {secret}"))
            .with_source(format!("https://host/path?key={secret}"));
        for shown in [error.to_string(), format!("{error:?}"), format!("{error:#?}")] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert_eq!(error.message(), Some("Incorrect API key provided: sk-p…"), "whoever asks is told, but for the key");
    }
}
