use secrecy::{ExposeSecret, SecretString};
use std::fmt;

/// A key or a token: never shown, wiped from memory when dropped.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Takes a key over.
    pub fn new(text: impl Into<String>) -> Self {
        Self(SecretString::from(text.into()))
    }

    /// The key itself, for the one place that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl<T: Into<String>> From<T> for Secret {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// How keys of providers begin.
const KEYS: [&str; 12] = ["sk-", "pk-", "rk-", "gsk_", "xai-", "hf_", "r8_", "pplx-", "nvapi-", "AIza", "AKIA", "eyJ"];
/// A key is longer than the prefix alone in a sentence about keys.
const SHORTEST: usize = 12;
/// Letters and digits in one run of this length are no word, no model and no id with dashes.
const RUN: usize = 28;

/// The text with whatever looks like a key cut down to its first four characters: providers repeat the key that they refuse.
pub(crate) fn mask(text: &str) -> String {
    let of_key = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(of_key) {
        let (before, from) = rest.split_at(start);
        let (word, after) = from.split_at(from.find(|char| !of_key(char)).unwrap_or(from.len()));
        masked.push_str(before);
        match is_key(word) {
            true => masked.extend([&word[..4], "…"]),
            false => masked.push_str(word),
        }
        rest = after;
    }
    masked + rest
}

fn is_key(word: &str) -> bool {
    let mixed = |run: &str| {
        run.len() >= RUN
            && run.contains(|c: char| c.is_ascii_digit())
            && run.contains(|c: char| c.is_ascii_alphabetic())
    };
    word.len() >= SHORTEST && KEYS.iter().any(|key| word.starts_with(key)) || word.split(['-', '_', '.']).any(mixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_key_is_cut_and_the_rest_stays() {
        for (text, masked) in [
            ("Incorrect API key provided: sk-proj-abcDEF123456.", "Incorrect API key provided: sk-p…"),
            ("key=AIzaSyA1234567890abcdef&alt=sse", "key=AIza…&alt=sse"),
            ("Bearer eyJhbGciOi.eyJzdWIiOiIx.c2ln", "Bearer eyJh…"),
            ("key 0123456789abcdef0123456789abcdef", "key 0123…"),
            ("keys begin with sk-", "keys begin with sk-"),
            (
                "gpt-4o-mini-2024-07-18 in org-XXXX, req_011CXXXXXXXXXXXXXXXXXXXX",
                "gpt-4o-mini-2024-07-18 in org-XXXX, req_011CXXXXXXXXXXXXXXXXXXXX",
            ),
            ("00000000-0000-0000-0000-00000000000a — schlüssel", "00000000-0000-0000-0000-00000000000a — schlüssel"),
            ("", ""),
        ] {
            assert_eq!(mask(text), masked);
        }
    }
}
