//! From the bytes of a body to what can be read in it.
use super::{
    json, literal,
    text::{clip, is_wrapper, lower},
};
use serde_json::Value;
use std::borrow::Cow;

/// A body, read as far as it can be.
#[derive(Debug)]
pub(super) enum Body<'a> {
    /// Nothing, or nothing but blank keep-alive lines.
    Empty,
    /// JSON, whatever the content type said.
    Json(Value),
    /// JSON that ends too early or is damaged; with what could be mended.
    Cut(Option<Value>, Cow<'a, str>),
    /// A page for people, mostly of a proxy.
    Html(Cow<'a, str>),
    /// Anything else.
    Text(Cow<'a, str>),
}

/// Strings hold JSON that holds strings that hold JSON: so deep is it followed.
pub(super) const NESTING: usize = 3;

pub(super) fn read(bytes: &[u8]) -> Body<'_> {
    let text = match text(bytes) {
        text if text.is_empty() => return Body::Empty,
        text => text,
    };
    match text.as_bytes()[0] {
        b'{' | b'[' => match json::read(&text) {
            Ok(value) => Body::Json(value),
            Err(_) => Body::Cut(mend(&text), text),
        },
        b'"' => match serde_json::from_str::<String>(&text) {
            Ok(inner) => unwrap(inner),
            Err(_) => Body::Text(text),
        },
        b'<' => Body::Html(text),
        _ => Body::Text(text),
    }
}

/// A body that is one JSON string: JSON again, or just words.
fn unwrap(inner: String) -> Body<'static> {
    match nested(&inner) {
        Some(value) => Body::Json(value),
        None => Body::Text(Cow::Owned(inner)),
    }
}

/// The JSON in a string, if it holds an object or an array.
pub(super) fn nested(text: &str) -> Option<Value> {
    let mut value = json::read(text.trim_start()).ok()?;
    for _ in 0..NESTING {
        let Value::String(inner) = &value else { break };
        value = json::read(inner).ok()?;
    }
    (value.is_object() || value.is_array()).then_some(value)
}

/// The first object in a text that wraps another provider's error, which the text or the object must look like.
pub(super) fn embedded(text: &str) -> Option<Value> {
    let start = text.find(['{', '['])?;
    let (before, object) = text.split_at(start);
    let value = json::first(object).ok().or_else(|| literal::read(object))?;
    let error = match &value {
        Value::Array(items) => items.first().and_then(|item| item.get("error")),
        value => value.get("error"),
    };
    (error.is_some_and(Value::is_object) || is_wrapper(&lower(clip(before, 1024)))).then_some(value)
}

/// What is written in a body.
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    trimmed(String::from_utf8_lossy(bytes))
}

/// Without a byte order mark, blank lines and the comment lines that some send to keep a connection alive.
fn trimmed(text: Cow<'_, str>) -> Cow<'_, str> {
    let mut rest: &str = text.trim_start_matches('\u{feff}').trim();
    while let Some(comment) = rest.strip_prefix(':') {
        rest = comment.split_once('\n').map_or("", |(_, after)| after.trim_start());
    }
    match rest.len() == text.len() {
        true => text,
        false => Cow::Owned(rest.to_owned()),
    }
}

/// How deep a cut body may be nested to be mended.
const DEPTH: usize = 64;

/// Closes what a cut left open: where it was cut, or else behind the last whole member.
pub(super) fn mend(text: &str) -> Option<Value> {
    let mut open = Vec::new();
    let (mut quoted, mut escaped, mut comma) = (false, false, None);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' if open.len() == DEPTH => return None,
            b'{' => open.push('}'),
            b'[' => open.push(']'),
            b'}' | b']' => {
                open.pop();
                comma = comma.filter(|(_, depth)| *depth <= open.len());
            }
            b',' => comma = Some((at, open.len())),
            _ => {}
        }
    }
    let here = if escaped { &text[..text.len() - 1] } else { text };
    let closed = |text: &str, quote: &str, open: &[char]| {
        let ends: String = open.iter().rev().collect();
        json::read(&format!("{text}{quote}{ends}")).ok()
    };
    closed(here, if quoted { "\"" } else { "" }, &open).or_else(|| {
        let (at, depth) = comma?;
        closed(&text[..at], "", &open[..depth])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Option<String> {
        match read(text.as_bytes()) {
            Body::Cut(value, _) => value.map(|value| value.to_string()),
            body => panic!("{body:?}"),
        }
    }

    #[test]
    fn a_cut_body_is_mended_where_it_was_cut() {
        assert_eq!(cut(r#"{"error":{"message":"You exc"#).unwrap(), r#"{"error":{"message":"You exc"}}"#);
        assert_eq!(cut(r#"{"a":[1,2],"b":{"c":3,"de"#).unwrap(), r#"{"a":[1,2],"b":{"c":3}}"#);
        assert_eq!(cut(r#"{"a":"x\"#).unwrap(), r#"{"a":"x"}"#);
        assert_eq!(cut("{"), Some("{}".into()));
        assert_eq!(cut(&"[".repeat(100_000)), None);
        assert_eq!(cut("{]"), None);
    }

    #[test]
    fn json_is_found_behind_marks_blank_lines_and_strings() {
        for text in ["\u{feff}{}", "\n\r\n {}", ": keep-alive\n\n{}\n", r#""{}""#, r#""\"{}\"""#] {
            assert!(matches!(read(text.as_bytes()), Body::Json(_)), "{text:?}");
        }
        assert!(matches!(read(b" \n\n"), Body::Empty));
    }
}
