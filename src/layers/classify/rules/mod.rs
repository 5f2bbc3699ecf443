//! What providers say, as rows: the first that holds names the kind.
//!
//! To teach a new wording or code: add it to the row of its kind (or a row), and a line with an answer that has it to
//! `tests/fixtures/errors/`. Order matters between the tables of [`ORDER`] and between the rows of a table.
mod access;
mod billing;
mod context;
mod filter;
mod limits;
mod models;
mod parameters;
mod status;

use super::{
    facts::Facts,
    text::{is, says},
};
use crate::Kind;

pub(super) use status::by_status;

/// Codes before words, walls before waits: an empty account often looks like a rate limit, never the other way round.
const ORDER: &[&[Rule]] = &[
    parameters::CODES,
    billing::CODES,
    access::COUNTRY,
    billing::WORDS,
    access::KEY_CODES,
    filter::CODES,
    context::CODES,
    filter::WORDS,
    access::WORDS,
    access::CODES,
    models::CODES,
    limits::TOO_LARGE,
    limits::OVERLOAD,
    limits::RATE,
    status::CODES,
    context::WORDS,
    models::RETIRED_PARAMETERS,
    models::WORDS,
    parameters::WORDS,
    limits::WORDS,
    status::FRAME_CODES,
];

/// One row. What it leaves out, it does not ask.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) kind: Kind,
    /// Set where the same request can never pass.
    pub(super) hopeless: bool,
    on: On,
    /// Any of these, in lower case; `*` at one end stands for anything.
    codes: &'static [&'static str],
    /// And any of these codes.
    beside: &'static [&'static str],
    /// And any of these phrases, in lower case; `*` within stands for anything between.
    words: &'static [&'static str],
    /// And not from Google, which words two things alike.
    unless_google: bool,
    /// And only from a provider whose name contains this.
    provider: Option<&'static str>,
}

/// The statuses under which a row counts. A frame of a stream may have none.
#[derive(Clone, Copy, Debug)]
enum On {
    Any,
    /// 4xx, or no status.
    Client,
    /// 4xx but not 429, or no status.
    Refused,
    /// One of these, or no status.
    Of(&'static [u16]),
    /// One of these.
    Only(&'static [u16]),
}

impl On {
    fn holds(self, status: Option<u16>) -> bool {
        match (self, status) {
            (Self::Only(statuses), status) => status.is_some_and(|status| statuses.contains(&status)),
            (Self::Any, _) | (_, None) => true,
            (Self::Client, Some(status)) => (400..500).contains(&status),
            (Self::Refused, Some(status)) => (400..500).contains(&status) && status != 429,
            (Self::Of(statuses), Some(status)) => statuses.contains(&status),
        }
    }
}

impl Rule {
    const fn new(kind: Kind, on: On) -> Self {
        let none: &[&str] = &[];
        Self { kind, on, codes: none, beside: none, words: none, hopeless: false, unless_google: false, provider: None }
    }

    const fn codes(kind: Kind, on: On, codes: &'static [&'static str]) -> Self {
        Self { codes, ..Self::new(kind, on) }
    }

    const fn words(kind: Kind, on: On, words: &'static [&'static str]) -> Self {
        Self { words, ..Self::new(kind, on) }
    }

    const fn beside(self, beside: &'static [&'static str]) -> Self {
        Self { beside, ..self }
    }

    const fn saying(self, words: &'static [&'static str]) -> Self {
        Self { words, ..self }
    }

    const fn hopeless(self) -> Self {
        Self { hopeless: true, ..self }
    }

    const fn unless_google(self) -> Self {
        Self { unless_google: true, ..self }
    }

    const fn from(self, provider: &'static str) -> Self {
        Self { provider: Some(provider), ..self }
    }

    fn holds(&self, facts: &Facts, provider: Option<&str>) -> bool {
        let any = |codes: &[&str]| codes.is_empty() || find(facts, codes).is_some();
        self.on.holds(facts.status)
            && any(self.codes)
            && any(self.beside)
            && self.provider.is_none_or(|name| provider.is_some_and(|provider| provider.contains(name)))
            && !(self.unless_google && is_google(facts))
            && (self.words.is_empty() || self.words.iter().any(|phrase| says(&facts.words, phrase)))
    }

    /// The code by which the row was recognised, as the provider wrote it.
    pub(super) fn code<'a>(&self, facts: &'a Facts) -> Option<&'a str> {
        find(facts, self.codes)
    }
}

/// By its own status word, in a code or in a text that another provider wraps.
fn is_google(facts: &Facts) -> bool {
    facts.has_code("resource_exhausted") || says(&facts.words, "resource_exhausted")
}

fn find<'a>(facts: &'a Facts, codes: &[&str]) -> Option<&'a str> {
    let (code, _) = facts.codes.iter().find(|(_, lower)| codes.iter().any(|pattern| is(lower, pattern)))?;
    Some(code)
}

/// The first row that holds.
pub(super) fn first(facts: &Facts, provider: Option<&str>) -> Option<&'static Rule> {
    ORDER.iter().flat_map(|table| table.iter()).find(|rule| rule.holds(facts, provider))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_in_lower_case_and_ask_something() {
        for rule in ORDER.iter().copied().flatten() {
            let all = [rule.codes, rule.beside, rule.words].concat();
            assert!(all.iter().all(|text| *text == text.to_lowercase() && !text.is_empty()), "{rule:?}");
            assert!(!all.is_empty() || matches!(rule.on, On::Only(_)), "{rule:?}");
        }
    }
}
