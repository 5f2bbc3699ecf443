use super::super::facts::Facts;
use super::{access, billing, context, filter, limits, models, parameters, rule::Rule, status};

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
    access::TOKEN_WORDS,
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

/// The first row that holds.
pub(in super::super) fn first(facts: &Facts, provider: Option<&str>) -> Option<&'static Rule> {
    ORDER.iter().flat_map(|table| table.iter()).find(|rule| rule.holds(facts, provider))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::classify::{
        rules::On,
        text::{is, says},
    };

    #[test]
    fn rows_are_written_in_lower_case_and_ask_something() {
        for rule in ORDER.iter().copied().flatten() {
            let all = [rule.codes, rule.beside, rule.words].concat();
            assert!(all.iter().all(|text| *text == text.to_lowercase() && !text.is_empty()), "{rule:?}");
            assert!(!all.is_empty() || matches!(rule.on, On::Only(_)), "{rule:?}");
        }
    }
    #[test]
    fn no_entry_of_a_row_is_covered_by_another() {
        let idle = |entries: &[&'static str], covers: fn(&str, &str) -> bool| {
            let covered = |(at, text): &(usize, &&'static str)| {
                entries.iter().enumerate().any(|(other, pattern)| other != *at && covers(text, pattern))
            };
            entries.iter().enumerate().filter(covered).map(|entry| *entry.1).collect::<Vec<_>>()
        };
        let rows = ORDER.iter().copied().flatten();
        let idle: Vec<_> = rows.flat_map(|rule| [idle(rule.words, says), idle(rule.codes, is)].concat()).collect();
        assert!(idle.is_empty(), "{idle:?}");
    }
}
