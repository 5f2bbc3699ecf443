//! What stands in JSON text, without a copy where none is needed.
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

/// Appends what a JSON string says to a buffer that is used again; false for what is no string.
///
/// Half of a character escaped as UTF-16 becomes U+FFFD: some servers cut their text between the halves.
pub(super) fn append(text: &mut String, raw: &RawValue) -> bool {
    let Some(mut rest) = inside(raw, '"', '"') else { return false };
    while let Some((plain, escaped)) = rest.split_once('\\') {
        text.push_str(plain);
        rest = unescape(text, escaped);
    }
    text.push_str(rest);
    true
}

/// Appends what a JSON string says, where there is one.
pub(super) fn extend(text: &mut String, raw: Option<&RawValue>) {
    if let Some(raw) = raw {
        append(text, raw);
    }
}

/// What a JSON string says; nothing for what is no string.
pub(super) fn said(raw: Option<&RawValue>) -> Cow<'_, str> {
    match raw.and_then(|raw| Some((raw, inside(raw, '"', '"')?))) {
        Some((raw, inner)) if inner.contains('\\') => {
            let mut text = String::new();
            append(&mut text, raw);
            Cow::Owned(text)
        }
        Some((_, inner)) => Cow::Borrowed(inner),
        None => Cow::Borrowed(""),
    }
}

/// The JSON string that says this.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Appends the items of a list to those of others, and says whether there were any.
pub(super) fn join(items: &mut String, list: &RawValue) -> bool {
    let inner = inside(list, '[', ']').map_or("", |inner| inner.trim_ascii());
    if !inner.is_empty() && !items.is_empty() {
        items.push(',');
    }
    items.push_str(inner);
    !inner.is_empty()
}

/// Whether it is how some say that there is nothing.
pub(super) fn is_void(raw: &RawValue) -> bool {
    matches!(raw.get(), "null" | "false" | "\"\"" | "{}" | "[]")
}

fn inside(raw: &RawValue, open: char, close: char) -> Option<&str> {
    raw.get().strip_prefix(open)?.strip_suffix(close)
}

/// Appends the character behind a backslash, and gives what follows it.
fn unescape<'a>(text: &mut String, escaped: &'a str) -> &'a str {
    let mut chars = escaped.chars();
    let meant = match chars.next() {
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('u') => return unescape_unit(text, chars.as_str()),
        Some(same) => same,
        None => return "",
    };
    text.push(meant);
    chars.as_str()
}

fn unescape_unit<'a>(text: &mut String, digits: &'a str) -> &'a str {
    let Some((first, rest)) = unit(digits) else { return digits };
    let pair = rest.strip_prefix("\\u").and_then(unit);
    let second = pair.map(|(second, _)| second).filter(|second| (0xDC00..0xE000).contains(second));
    match (char::from_u32(first.into()), second) {
        (Some(meant), _) => text.push(meant),
        (None, Some(second)) if first < 0xDC00 => {
            text.extend(char::decode_utf16([first, second]).flatten());
            return pair.map_or(rest, |(_, rest)| rest);
        }
        _ => text.push(char::REPLACEMENT_CHARACTER),
    }
    rest
}

fn unit(digits: &str) -> Option<(u16, &str)> {
    let (digits, rest) = digits.split_at_checked(4)?;
    Some((u16::from_str_radix(digits, 16).ok()?, rest))
}

/// An object with these fields, each JSON text, in the place of its own or behind them; all others stay as they came.
/// `None` where one of them is no JSON.
pub(super) fn patched(object: &RawValue, fields: &[(&str, &str)]) -> Option<Box<RawValue>> {
    let mut json =
        String::with_capacity(object.get().len() + fields.iter().map(|field| field.1.len() + 8).sum::<usize>());
    serde_json::Deserializer::from_str(object.get()).deserialize_map(Patch { fields, json: &mut json }).ok()?;
    RawValue::from_string(json).ok()
}

struct Patch<'f> {
    fields: &'f [(&'f str, &'f str)],
    json: &'f mut String,
}

impl<'de> Visitor<'de> for Patch<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let Self { fields, json } = self;
        json.push('{');
        let mut add = |key: &str, value: &str| {
            if json.len() > 1 {
                json.push(',');
            }
            json.extend([key, ":", value]);
        };
        let mut is_new = vec![true; fields.len()];
        while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            let at = fields.iter().position(|(name, _)| inside(key, '"', '"') == Some(name));
            add(key.get(), at.map_or(value.get(), |at| fields[at].1));
            if let Some(at) = at {
                is_new[at] = false;
            }
        }
        for ((name, value), _) in fields.iter().zip(is_new).filter(|(_, is_new)| *is_new) {
            add(&quoted(name), value);
        }
        json.push('}');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn a_string_says_what_serde_reads_in_it() {
        for json in [r#""""#, r#""plain""#, r#""\"\\\/\b\f\n\r\t é \u00e9 \u20AC \ud83c\udf0a!""#, r#""a\\u0041""#] {
            let mut text = "before ".to_owned();
            assert!(append(&mut text, &raw(json)));
            let read: String = serde_json::from_str(json).unwrap();
            assert_eq!(text, format!("before {read}"));
            assert_eq!(said(Some(&raw(json))), read);
            assert_eq!(serde_json::from_str::<String>(&quoted(&read)).unwrap(), read);
        }
    }

    #[test]
    fn half_a_character_is_replaced_and_what_stands_beside_it_is_kept() {
        for (json, meant) in [
            (r#""a\ud83c""#, "a\u{fffd}"),
            (r#""\udf0ab""#, "\u{fffd}b"),
            (r#""\ud83c\ud83c\udf0a""#, "\u{fffd}\u{1f30a}"),
            (r#""\ud83c\n""#, "\u{fffd}\n"),
            (r#""\udf0a\udf0a""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83cA""#, "\u{fffd}A"),
        ] {
            assert_eq!(said(Some(&raw(json))), meant, "{json}");
        }
    }

    #[test]
    fn what_is_no_string_says_nothing() {
        for json in ["null", "7", "{}", r#"["a"]"#] {
            let mut text = String::new();
            assert!(!append(&mut text, &raw(json)) && text.is_empty());
            assert_eq!(said(Some(&raw(json))), "");
        }
    }

    #[test]
    fn fields_are_replaced_where_they_stand_or_put_behind() {
        let object = raw(r#"{"b": 1.0, "a" :"x","c":{"a":2}}"#);
        let patch = |fields: &[(&str, &str)]| patched(&object, fields).map(|json| json.get().to_owned());
        assert_eq!(patch(&[("a", "[]"), ("d", "4")]).unwrap(), r#"{"b":1.0,"a":[],"c":{"a":2},"d":4}"#);
        assert_eq!(patch(&[]).unwrap(), r#"{"b":1.0,"a":"x","c":{"a":2}}"#);
        assert_eq!(patch(&[("a", "{")]), None);
        assert_eq!(patched(&raw("{}"), &[("a", "1")]).unwrap().get(), r#"{"a":1}"#);
        assert!(patched(&raw("[]"), &[]).is_none());
    }

    #[test]
    fn lists_are_joined_without_the_empty_ones() {
        let mut items = String::new();
        assert!(!join(&mut items, &raw("[ ]")) && !join(&mut items, &raw("7")));
        assert!(join(&mut items, &raw("[1, 2]")) && join(&mut items, &raw("[3]")) && !join(&mut items, &raw("[]")));
        assert_eq!(items, "1, 2,3");
    }
}
