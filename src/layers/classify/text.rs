//! How a provider's words are looked at.

/// At most so many bytes, cut between characters.
pub(super) fn clip(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Lower case, with typewriter apostrophes.
pub(super) fn lower(text: &str) -> String {
    text.to_lowercase().replace('\u{2019}', "'")
}

/// A text that wraps another error says so before it; what it quotes is that error, not a prompt.
const WRAPPERS: &[&str] = &["litellm", "exception", "error code:", "status code", "error from", "returned", "upstream"];

pub(super) fn is_wrapper(text: &str) -> bool {
    WRAPPERS.iter().any(|wrapper| text.contains(wrapper))
}

/// Blanks quoted sentences, which may be the prompt that the provider complains of. Quoted words stay.
pub(super) fn blank_quotes(text: &str) -> String {
    let wrapped = ["{'", "{\""].iter().filter_map(|open| text.find(open)).min();
    if wrapped.is_some_and(|open| is_wrapper(&text[..open])) {
        return text.to_owned();
    }
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find(['\'', '"', '`', '\u{201c}']) {
        let quote = rest[open..].chars().next().unwrap_or('"');
        let (before, inside) = (&rest[..open], &rest[open + quote.len_utf8()..]);
        let apostrophe =
            before.chars().next_back().or_else(|| masked.chars().next_back()).is_some_and(char::is_alphanumeric);
        masked.push_str(before);
        match (!apostrophe).then(|| closing(inside, quote)).flatten() {
            Some(close) => {
                let quoted = &inside[..close];
                masked.push(quote);
                masked.push_str(if quoted.trim().contains(char::is_whitespace) { "…" } else { quoted });
                rest = &inside[close..];
                let end = rest.chars().next().map_or(0, char::len_utf8);
                masked.push_str(&rest[..end]);
                rest = &rest[end..];
            }
            None => {
                masked.push(quote);
                rest = inside;
            }
        }
    }
    masked.push_str(rest);
    // A text that is one quotation is the provider's own.
    if masked.contains(char::is_alphabetic) { masked } else { text.to_owned() }
}

/// How far away a closing quote is looked for, which keeps the search linear.
const QUOTED: usize = 4096;

fn closing(inside: &str, open: char) -> Option<usize> {
    let close = if open == '\u{201c}' { '\u{201d}' } else { open };
    let near = clip(inside, QUOTED);
    near.match_indices(close).map(|(at, _)| at).find(|at| {
        let after = near[at + close.len_utf8()..].chars().next();
        !after.is_some_and(char::is_alphanumeric)
    })
}

/// Whether `pattern` occurs in `text`: pieces between `*` in this order. A pattern that ends in a digit ends the number.
pub(super) fn says(text: &str, pattern: &str) -> bool {
    let mut rest = text;
    let mut pieces = pattern.split('*').peekable();
    while let Some(piece) = pieces.next() {
        let last = pieces.peek().is_none() && piece.ends_with(|last: char| last.is_ascii_digit());
        let mut found = rest.match_indices(piece).map(|(at, _)| &rest[at + piece.len()..]);
        let ends =
            |after: &&str| !last || !after.trim_start_matches(['.', ',']).starts_with(|c: char| c.is_ascii_digit());
        match found.find(ends) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    true
}

/// Whether a code is `pattern`, which may begin or end with `*`.
pub(super) fn is(code: &str, pattern: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => code.ends_with(end),
        (_, Some(start)) => code.starts_with(start),
        _ => code == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_sentences_are_blanked_and_quoted_words_stay() {
        assert_eq!(blank_quotes("prompt: 'credit balance is too low'!"), "prompt: '…'!");
        assert_eq!(blank_quotes("the model `gpt-4` doesn't support 'x y'"), "the model `gpt-4` doesn't support '…'");
        assert_eq!(blank_quotes("`inputs` tokens + `max_new_tokens` must"), "`inputs` tokens + `max_new_tokens` must");
        assert_eq!(blank_quotes("left \"open and"), "left \"open and");
        assert!(
            !blank_quotes("got {'text': 'why does the status code 429 say rate limit reached?'}")
                .contains("rate limit")
        );
        assert_eq!(blank_quotes("litellm: error code: 429 - {'message': 'rate limit reached'}").find('…'), None);
    }

    #[test]
    fn patterns_hold_gaps_and_whole_numbers() {
        assert!(says("quota, limit: 0, model: x", "limit: 0"));
        assert!(!says("quota, limit: 05", "limit: 0") && !says("limit: 0.5 a second", "limit: 0"));
        assert!(says("the model `x` does not exist", "model*does not exist"));
        assert!(!says("does not exist: model", "model*does not exist"));
        assert!(is("org_spend_limit_reached", "*_spend_limit_reached") && is("throttling.x", "throttling*"));
    }
}
