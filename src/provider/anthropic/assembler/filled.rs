//! Fields of a block that nobody here knows, as its deltas bring them.
use crate::provider::text::{append, patched, quoted};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

/// A delta has one or two fields beside its type.
const MOST: usize = 8;

/// What the deltas of a block brought, field by field.
#[derive(Default)]
pub(super) struct Filled(Vec<(Box<str>, Field)>);

enum Field {
    /// Texts are put together, as all deltas do that are known.
    Text(String),
    /// JSON text in pieces, or what is no text, of which the last holds.
    Json(String),
}

impl Filled {
    /// Adds to the input, which comes as pieces of JSON text.
    pub(super) fn input(&mut self, piece: &RawValue) {
        if let Some(Field::Json(json)) = self.field("input", || Field::Json(String::new())) {
            append(json, piece);
        }
    }

    /// Adds the fields of a delta, but for its type.
    pub(super) fn delta(&mut self, delta: &RawValue) {
        let _ = serde_json::Deserializer::from_str(delta.get()).deserialize_map(Fields(self));
    }

    fn add(&mut self, name: &str, value: &RawValue) {
        let text =
            || if value.get().starts_with('"') { Field::Text(String::new()) } else { Field::Json(String::new()) };
        match self.field(name, text) {
            Some(Field::Text(text)) => {
                append(text, value);
            }
            Some(Field::Json(json)) => value.get().clone_into(json),
            None => {}
        }
    }

    fn field(&mut self, name: &str, new: impl FnOnce() -> Field) -> Option<&mut Field> {
        let known = self.0.iter().position(|(known, _)| **known == *name);
        let at = known.unwrap_or(self.0.len());
        if at == MOST {
            return None;
        }
        if known.is_none() {
            self.0.push((name.into(), new()));
        }
        self.0.get_mut(at).map(|(_, field)| field)
    }

    /// The block with its fields in place; `None` where the input is no JSON.
    pub(super) fn into(self, block: &RawValue) -> Option<Box<RawValue>> {
        let fields: Vec<_> = self.0.into_iter().map(|(name, field)| (name, field.json())).collect();
        let fields: Vec<_> =
            fields.iter().filter(|field| !field.1.is_empty()).map(|(name, json)| (&**name, &**json)).collect();
        if fields.is_empty() { Some(block.to_owned()) } else { patched(block, &fields) }
    }
}

impl Field {
    fn json(self) -> String {
        match self {
            Self::Text(text) => quoted(&text),
            Self::Json(json) => json,
        }
    }
}

struct Fields<'f>(&'f mut Filled);

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some((name, value)) = map.next_entry::<Cow<'de, str>, &RawValue>()? {
            if name != "type" && value.get() != "null" {
                self.0.add(&name, value);
            }
        }
        Ok(())
    }
}
