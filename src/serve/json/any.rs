//! What is handed on unread.
use super::{Read, Wrong};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};
use std::fmt;

/// So many values may stand in the fields of a request that are handed on unread, as each takes forty bytes
/// of memory, and some four hundred where it is an object of one field.
const MOST_VALUES: usize = 100_000;

/// How many values the unknown fields of one request may still hold together.
pub(in crate::serve) struct Values(usize);

impl Default for Values {
    fn default() -> Self {
        Self(MOST_VALUES)
    }
}

impl Values {
    /// Any value, for a field that seawall does not know.
    pub(in crate::serve) fn read(&mut self, raw: &RawValue) -> Read<Value> {
        let left = self.0.checked_sub(values(raw.get()));
        self.0 =
            left.ok_or_else(|| Wrong::new(format!("holds more than {MOST_VALUES} values, with those before it")))?;
        let Any(value) = serde_json::from_str(raw.get())
            .map_err(|_| Wrong::new("is nested too deep, or holds a number or an escape that nobody can read"))?;
        Ok(value)
    }
}

/// Any value. `Value` itself takes an object with one key of serde_json's own for something else, and parses what stands in it without
/// counting the depth.
struct Any(Value);

impl<'de> Deserialize<'de> for Any {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyVisitor).map(Self)
    }
}

struct AnyVisitor;

impl<'de> Visitor<'de> for AnyVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Any(value)) = seq.next_element()? {
            all.push(value);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut all = serde_json::Map::new();
        while let Some((name, Any(value))) = map.next_entry()? {
            all.insert(name, value);
        }
        Ok(Value::Object(all))
    }
}

/// At most so many values stand in a text of JSON.
fn values(text: &str) -> usize {
    let (mut count, mut in_text, mut is_escaped) = (1, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => count += 1,
            _ => {}
        }
    }
    count
}
