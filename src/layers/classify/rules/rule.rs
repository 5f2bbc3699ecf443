use super::super::{
    facts::Facts,
    text::{is, says},
};
use crate::Kind;

/// One row. What it leaves out, it does not ask.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Rule {
    pub(in super::super) kind: Kind,
    /// Set where the same request can never pass.
    pub(in super::super) hopeless: bool,
    pub(super) on: On,
    /// Any of these, in lower case; `*` at one end stands for anything.
    pub(super) codes: &'static [&'static str],
    /// And any of these codes.
    pub(super) beside: &'static [&'static str],
    /// And any of these phrases, in lower case; `*` within stands for anything between.
    pub(super) words: &'static [&'static str],
    /// And not from Google, which words two things alike.
    unless_google: bool,
    /// And only from a provider whose name contains this.
    provider: Option<&'static str>,
}

/// The statuses under which a row counts. A frame of a stream may have none.
#[derive(Clone, Copy, Debug)]
pub(super) enum On {
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
    pub(super) const fn new(kind: Kind, on: On) -> Self {
        let none: &[&str] = &[];
        Self { kind, on, codes: none, beside: none, words: none, hopeless: false, unless_google: false, provider: None }
    }

    pub(super) const fn codes(kind: Kind, on: On, codes: &'static [&'static str]) -> Self {
        Self { codes, ..Self::new(kind, on) }
    }

    pub(super) const fn words(kind: Kind, on: On, words: &'static [&'static str]) -> Self {
        Self { words, ..Self::new(kind, on) }
    }

    pub(super) const fn beside(self, beside: &'static [&'static str]) -> Self {
        Self { beside, ..self }
    }

    pub(super) const fn saying(self, words: &'static [&'static str]) -> Self {
        Self { words, ..self }
    }

    pub(super) const fn hopeless(self) -> Self {
        Self { hopeless: true, ..self }
    }

    pub(super) const fn unless_google(self) -> Self {
        Self { unless_google: true, ..self }
    }

    pub(super) const fn from(self, provider: &'static str) -> Self {
        Self { provider: Some(provider), ..self }
    }

    pub(super) fn holds(&self, facts: &Facts, provider: Option<&str>) -> bool {
        let any = |codes: &[&str]| codes.is_empty() || find(facts, codes).is_some();
        self.on.holds(facts.status)
            && any(self.codes)
            && any(self.beside)
            && self.provider.is_none_or(|name| provider.is_some_and(|provider| provider.contains(name)))
            && !(self.unless_google && is_google(facts))
            && (self.words.is_empty() || self.words.iter().any(|phrase| says(&facts.words, phrase)))
    }

    /// The code by which the row was recognised, as the provider wrote it.
    pub(in super::super) fn code<'a>(&self, facts: &'a Facts) -> Option<&'a str> {
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
