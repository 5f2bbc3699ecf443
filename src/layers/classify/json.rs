//! JSON of strangers, read as a tree of bounded size.
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::{fmt, iter};

/// No error says what it is any deeper, and the stack of a thread ends somewhere.
const LEVELS: usize = 16;
/// How many values are kept of each level: what lies flat is kept however much lies deep beside it.
const KEPT: u32 = 1024;
/// How many bytes the values of a level may take, besides a quarter of the length of the text: an object of a few fields is one
/// node of a tree, of 640 bytes, however short it is on the wire.
const BYTES: usize = 16 * 1024;
const NODE: usize = 640;

/// Reads a text that is JSON and nothing else. What is too deep or too much in it is passed over.
///
/// serde_json's own [`Value`] takes a hundred times the memory of some texts, and follows the JSON in a string under a key
/// of its own, without counting how deep it goes.
pub(super) fn read(text: &str) -> serde_json::Result<Value> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = next(&mut json, text.len())?;
    json.end()?;
    Ok(value)
}

/// The JSON at the start of a text.
pub(super) fn first(text: &str) -> serde_json::Result<Value> {
    next(&mut serde_json::Deserializer::from_str(text), text.len())
}

fn next<'de>(json: impl Deserializer<'de, Error = serde_json::Error>, length: usize) -> serde_json::Result<Value> {
    let room = Room { values: KEPT, bytes: BYTES + length / 4 };
    Tree { level: 0, room: &mut [room; LEVELS] }.deserialize(json)
}

/// A value at its level, and how many more each level may have.
struct Tree<'a> {
    level: usize,
    room: &'a mut [Room; LEVELS],
}

#[derive(Clone, Copy)]
struct Room {
    values: u32,
    bytes: usize,
}

impl Tree<'_> {
    /// The place for one value of so many bytes more below this one; `None`: that level is full, or too deep.
    fn below(&mut self, bytes: usize) -> Option<Tree<'_>> {
        let level = self.level + 1;
        let room = self.room.get_mut(level)?;
        *room = Room { values: room.values.checked_sub(1)?, bytes: room.bytes.checked_sub(bytes)? };
        Some(Tree { level, room: self.room })
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut kept = Vec::new();
        // A list grows by doubling, from four on.
        while let Some(place) =
            self.below(if kept.is_empty() { 4 * size_of::<Value>() } else { 3 * size_of::<Value>() })
        {
            match items.next_element_seed(place)? {
                Some(item) => kept.push(item),
                None => return Ok(kept.into()),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(kept.into())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        // A node that is full is split into halves.
        while let Some(place) = self.below(if kept.is_empty() { NODE } else { NODE / 5 }) {
            let Some(name) = fields.next_key::<String>()? else { return Ok(kept.into()) };
            kept.insert(name, fields.next_value_seed(place)?);
        }
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(kept.into())
    }
}

/// The texts of the items of an array, one by one: it may have more of them than are kept. What a cut leaves of the last
/// one comes too.
pub(super) fn items(array: &str) -> impl Iterator<Item = &str> {
    let mut rest = array.trim_start().strip_prefix('[').unwrap_or_default();
    iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c == ',' || c.is_ascii_whitespace());
        if rest.is_empty() || rest.starts_with(']') {
            return None;
        }
        let mut texts = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        let whole = matches!(texts.next(), Some(Ok(_)));
        let (item, after) = rest.split_at(if whole { texts.byte_offset() } else { rest.len() });
        rest = after;
        Some(item)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_small_is_read_as_it_is() {
        let text = r#"{"a":[1,-2,3.5,true,null,"x",{"b":{}}],"c":"\ud83c\udf0a","a2":18446744073709551615}"#;
        assert_eq!(read(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(first("{} tail").unwrap(), json!({}));
        for bad in ["", "{} tail", "[1,]", "{\"a\":}", "[", "nul"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_deep_is_passed_over_and_what_follows_is_read() {
        let deep = format!("{{\"x\":{}{},\"error\":\"late\"}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(read(&deep).unwrap().get("error"), Some(&json!("late")));
    }

    #[test]
    fn what_is_wide_is_kept_in_part_and_what_lies_beside_it_is_read() {
        let wide =
            format!(r#"{{"choices":[{{"logprobs":{{"content":[{}0]}},"error":"late"}}]}}"#, "{},".repeat(50_000));
        let value = read(&wide).unwrap();
        let choice = &value["choices"][0];
        assert_eq!(choice["error"], json!("late"));
        assert!(choice["logprobs"]["content"].as_array().unwrap().len() <= KEPT as usize);
    }

    #[test]
    fn items_come_one_by_one_and_the_cut_one_last() {
        let all = |text| items(text).collect::<Vec<_>>();
        assert_eq!(all(r#" [{"a":[1,2]}, 7 ,"x,]"]"#), [r#"{"a":[1,2]}"#, "7", r#""x,]""#]);
        assert_eq!(all(r#"[{}, {"a":"b"#), ["{}", r#"{"a":"b"#]);
        assert_eq!(all("[]"), [""; 0]);
        assert_eq!(all("no array"), [""; 0]);
    }
}
