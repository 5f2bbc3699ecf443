//! The verdict as a person reads it.
use std::{
    io::{self, Write},
    time::Duration,
};

use seawall::{Error, Failover, Kind, retry::RetryLayer};

use super::answer::Answer;

const CAP: Duration = RetryLayer::MAX_WAIT;

pub(super) fn print(answer: &Answer, error: Option<&Error>, output: &mut impl Write) -> io::Result<()> {
    let Some(error) = error else {
        return writeln!(output, "{}: nothing is wrong with this answer", answer.status);
    };
    writeln!(output, "{}: {}", error.kind().as_str(), next(error))?;
    let mut row = |name: &str, text: &str| writeln!(output, "  {name:<9}{}", harmless(text));
    let reason = answer.status.canonical_reason().unwrap_or_default();
    row("answer", format!("{} {reason}", answer.status.as_str()).trim_end())?;
    if let Some(code) = error.code() {
        row("code", code)?;
    }
    if let Some(scope) = error.scope() {
        row("limit", scope.as_str())?;
    }
    if let Some(message) = error.message() {
        row("says", &message.split_whitespace().collect::<Vec<_>>().join(" "))?;
    }
    row("why", why(error.kind()))?;
    row("retry", &retry(error))?;
    row("switch", switch(error))?;
    row("circuit", if error.is_against_provider() { "counts as a failure of the provider" } else { "not touched" })
}

/// Without what a terminal obeys instead of showing it: an answer may hold anything.
fn harmless(text: &str) -> String {
    let obeyed = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if obeyed(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

fn next(error: &Error) -> String {
    match (error.is_retryable(), error.retry_after()) {
        (false, _) => "the stack gives up at once".into(),
        (true, Some(wait)) if wait > CAP => format!("the stack gives up: {wait:?} is more than it waits"),
        (true, Some(wait)) => format!("the stack waits {wait:?} and retries"),
        (true, None) => "the stack backs off and retries".into(),
    }
}

fn retry(error: &Error) -> String {
    match (error.is_retryable(), error.retry_after()) {
        (false, None) => "no: the same call would fail again".into(),
        (false, Some(wait)) => format!("no, although a wait of {wait:?} is named"),
        (true, Some(wait)) if wait > CAP => {
            format!("no: told to wait {wait:?}, and the cap is {CAP:?}; the caller is told")
        }
        (true, Some(wait)) => format!("up to twice, each after {wait:?} and some jitter"),
        (true, None) => "up to twice, after a random part of 1s, then of 2s".into(),
    }
}

fn switch(error: &Error) -> &'static str {
    match error.failover() {
        Failover::Always => "yes, wherever there is another route",
        Failover::OnRateLimit => "where failover on 429 was asked for",
        Failover::ByName => "where failover on this kind was asked for by name",
        _ => "never: it would fail there too, or hide a mistake",
    }
}

fn why(kind: Kind) -> &'static str {
    match kind {
        Kind::RateLimited => "a limit of the account or key; it passes by itself",
        Kind::Overloaded => "the provider has no capacity for anybody; it passes by itself",
        Kind::Server => "the provider failed; the request was not at fault",
        Kind::Timeout => "no answer in time; it may still have been worked on and billed",
        Kind::Transport => "the connection failed, or the answer is cut or damaged",
        Kind::Conflict => "it met another request; it may pass later",
        Kind::Auth => "the key or token is missing, wrong or expired: somebody must change it",
        Kind::Permission => "the key may not do this, or somebody in front refused: somebody must allow it",
        Kind::NotFound => "no such model, deployment or path (any more): change the name",
        Kind::InvalidRequest => "the request is malformed: change it",
        Kind::UnsupportedParameter => "this model refuses a parameter: leave it out",
        Kind::ContextLength => "the prompt does not fit the model: shorten it, or use a larger model",
        Kind::PayloadTooLarge => "the body is larger than the server takes: send less",
        Kind::ContentFiltered => "a filter refused the prompt or the answer: change the prompt",
        Kind::QuotaExhausted => {
            "the account is out of credit or over its spend limit: no waiting helps, somebody must pay"
        }
        Kind::Cancelled => "the call was given up by its own side",
        _ => "nothing in this answer explains it: read it yourself",
    }
}
