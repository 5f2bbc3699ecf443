//! Errors that a Python gateway wraps: `Error code: 429 - {'error': {'code': None}}`.
use super::json;
use serde_json::Value;

/// The dictionary at the start of `text`, written as Python shows one.
pub(super) fn read(text: &str) -> Option<Value> {
    let mut json = String::with_capacity(text.len());
    let mut rest = text.chars();
    let mut open = 0_usize;
    while let Some(next) = rest.next() {
        match next {
            '\'' | '"' => string(&mut json, &mut rest, next),
            _ if next.is_alphabetic() => {
                let tail = rest.as_str();
                let length = tail.find(|c: char| !c.is_alphabetic()).unwrap_or(tail.len());
                json.push_str(match (next, &tail[..length]) {
                    ('N', "one") => "null",
                    ('T', "rue") => "true",
                    ('F', "alse") => "false",
                    _ => return None,
                });
                rest = tail[length..].chars();
            }
            '{' | '[' | '(' => {
                open += 1;
                json.push(if next == '(' { '[' } else { next });
            }
            '}' | ']' | ')' => {
                open = open.checked_sub(1)?;
                json.push(if next == ')' { ']' } else { next });
            }
            _ => json.push(next),
        }
        if open == 0 {
            break;
        }
    }
    json::read(&json).ok()
}

/// A string up to its closing quote, with JSON's quotes and escapes.
fn string(json: &mut String, rest: &mut std::str::Chars<'_>, quote: char) {
    json.push('"');
    while let Some(next) = rest.next().filter(|next| *next != quote) {
        match next {
            '\\' => match rest.next() {
                Some('\'') => json.push('\''),
                Some('x') => json.push_str("\\u00"),
                Some(escaped) => json.extend(['\\', escaped]),
                None => {}
            },
            '"' => json.push_str("\\\""),
            _ => json.push(next),
        }
    }
    json.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dictionary_is_read_with_its_quotes_and_escapes() {
        let text =
            r#"{'error': {'message': "it's \"so\"", 'a': 'b\'c"d\xe9', 'code': None, 'ok': (True, False, 4.5)}} - x"#;
        let value = serde_json::json!({"error": {"message": "it's \"so\"", "a": "b'c\"dé", "code": null, "ok": [true, false, 4.5]}});
        assert_eq!(read(text), Some(value));
    }

    #[test]
    fn what_is_no_dictionary_is_left_alone() {
        for text in ["{", "{'a': x}", "}", "{'a': 'b", "{'a'}", "", "{\\"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read(&"[".repeat(100_000)), None);
    }

    #[test]
    fn what_is_wide_is_kept_in_part() {
        let wide = read(&format!("{{'error': 'x', 'a': [{}None]}}", "{}, ".repeat(50_000))).unwrap();
        assert!(wide["error"] == "x" && wide["a"].as_array().unwrap().len() <= 1024);
    }
}
