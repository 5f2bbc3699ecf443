//! JSON of strangers, read by hand: what is wrong is told with its place, and no text is copied into an error.
mod any;

use crate::{Error, Kind};
use serde::{
    Deserialize, Deserializer as _,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Deserializer as Json, value::RawValue};
use std::{borrow::Cow, fmt};

pub(super) use any::Values;

/// More texts that end an answer than any provider takes.
const MOST_STOPS: usize = 100;

/// So many fields may stand in an object that is read, as each is compared with those before it.
const MOST_FIELDS: usize = 100;

/// What is wrong with a request, and where.
#[derive(Debug)]
pub(super) struct Wrong {
    kind: Kind,
    place: String,
    reason: Cow<'static, str>,
}

impl Wrong {
    pub(super) fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: Kind::InvalidRequest, place: String::new(), reason: reason.into() }
    }

    /// What others may take and nobody here can.
    pub(super) fn unsupported(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: Kind::UnsupportedParameter, ..Self::new(reason) }
    }

    /// It stands in this field.
    pub(super) fn in_field(mut self, name: &str) -> Self {
        let separator = if self.place.is_empty() || self.place.starts_with('[') { "" } else { "." };
        // A name of the sender's own may be as long as a body.
        let name: String = name.chars().take(64).collect();
        self.place.insert_str(0, &format!("{name}{separator}"));
        self
    }

    /// It stands at this place of a list.
    pub(super) fn at(mut self, index: usize) -> Self {
        let separator = if self.place.is_empty() || self.place.starts_with('[') { "" } else { "." };
        self.place.insert_str(0, &format!("[{index}]{separator}"));
        self
    }
}

impl From<Wrong> for Error {
    fn from(Wrong { kind, place, reason }: Wrong) -> Self {
        let separator = if place.is_empty() { "" } else { ": " };
        Self::refusal(kind).with_message(format!("{place}{separator}{reason}"))
    }
}

pub(super) type Read<T> = Result<T, Wrong>;

/// A whole body.
pub(super) fn body(bytes: &[u8]) -> Read<&RawValue> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Wrong::new(format!("the body is no UTF-8 from byte {} on", error.valid_up_to())))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_ascii().is_empty() {
        return Err(Wrong::new("the body is empty: send a JSON object"));
    }
    let raw = serde_json::from_str(text).map_err(|error: serde_json::Error| {
        let (line, column) = (error.line(), error.column());
        Wrong::new(format!("the body is no JSON: it is damaged or cut at line {line}, column {column}"))
    })?;
    Ok(raw)
}

/// `null` says the same as nothing.
pub(super) fn given(raw: &RawValue) -> Option<&RawValue> {
    (raw.get() != "null").then_some(raw)
}

/// A text, copied only where it has escapes.
pub(super) fn text(raw: &RawValue) -> Read<Cow<'_, str>> {
    if !raw.get().starts_with('"') {
        return Err(must_be("a text", raw));
    }
    let Key(text) = serde_json::from_str(raw.get()).map_err(|_| Wrong::new("holds an escape that is no character"))?;
    Ok(text)
}

pub(super) fn flag(raw: &RawValue) -> Read<bool> {
    match raw.get() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(must_be("true or false", raw)),
    }
}

pub(super) fn number(raw: &RawValue) -> Read<f64> {
    let number = raw.get().parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| must_be("a number", raw))
}

/// A whole number that fits.
pub(super) fn whole<T: TryFrom<i64>>(raw: &RawValue) -> Read<T> {
    let number: Option<i64> = raw.get().parse().ok();
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| must_be("a whole number that is not too large", raw))
}

/// JSON that is kept as it came.
pub(super) fn owned(raw: &RawValue) -> Box<RawValue> {
    raw.to_owned()
}

/// Reads each field of an object that says something: `null` says the same as nothing.
pub(super) fn fields<'a>(raw: &'a RawValue, mut read: impl FnMut(&str, &'a RawValue) -> Read<()>) -> Read<()> {
    if !raw.get().starts_with('{') {
        return Err(must_be("an object", raw));
    }
    let (mut wrong, mut seen) = (None, Vec::new());
    let each = Fields(|name: Cow<'a, str>, raw| {
        let done = match given(raw) {
            _ if seen.len() == MOST_FIELDS => Err(Wrong::new(format!("has more than {MOST_FIELDS} fields"))),
            // Whoever filters in front of us may have read the other one.
            _ if seen.contains(&name) => Err(Wrong::new("is given twice: leave one out").in_field(&name)),
            Some(raw) => read(&name, raw).map_err(|it| it.in_field(&name)),
            None => Ok(()),
        };
        seen.push(name);
        done.map_err(|it| wrong = Some(it))
    });
    let done = Json::from_str(raw.get()).deserialize_map(each);
    match (wrong, done) {
        (Some(wrong), _) => Err(wrong),
        (None, Ok(())) => Ok(()),
        (None, Err(_)) => Err(Wrong::new("has a name with an escape that is no character")),
    }
}

/// Reads each element of a list.
pub(super) fn elements<'a>(raw: &'a RawValue, mut read: impl FnMut(usize, &'a RawValue) -> Read<()>) -> Read<()> {
    if !raw.get().starts_with('[') {
        return Err(must_be("a list", raw));
    }
    let mut wrong = None;
    let each = Elements(|index, raw| read(index, raw).map_err(|it| wrong = Some(it.at(index))));
    let done = Json::from_str(raw.get()).deserialize_seq(each);
    match (wrong, done) {
        (Some(wrong), _) => Err(wrong),
        (None, Ok(())) => Ok(()),
        (None, Err(_)) => Err(Wrong::new("is no list that can be read")),
    }
}

/// Texts that end an answer.
pub(super) fn stops(raw: &RawValue) -> Read<Vec<Box<str>>> {
    let mut stops = Vec::new();
    elements(raw, |at, raw| {
        if at == MOST_STOPS {
            return Err(Wrong::new(format!("more than {MOST_STOPS} are too many")));
        }
        stops.push(text(raw)?.into());
        Ok(())
    })?;
    Ok(stops)
}

pub(super) fn must_be(wanted: &'static str, raw: &RawValue) -> Wrong {
    let is = match raw.get().as_bytes().first() {
        Some(b'"') => "a text",
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b't' | b'f') => "true or false",
        Some(b'n') => "null",
        _ => "a number",
    };
    Wrong::new(match is == wanted {
        true => format!("must be {wanted}"),
        false => format!("must be {wanted}, and is {is}"),
    })
}

/// What must be there.
pub(super) fn required<T>(value: Option<T>, name: &str) -> Read<T> {
    value.ok_or_else(|| Wrong::new("is missing").in_field(name))
}

/// A text that is borrowed where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

struct Fields<F>(F);

impl<'de, F: FnMut(Cow<'de, str>, &'de RawValue) -> Result<(), ()>> Visitor<'de> for Fields<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(name)) = map.next_key()? {
            (self.0)(name, map.next_value()?).map_err(|()| A::Error::custom("told"))?;
        }
        Ok(())
    }
}

struct Elements<F>(F);

impl<'de, F: FnMut(usize, &'de RawValue) -> Result<(), ()>> Visitor<'de> for Elements<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        let mut index = 0;
        while let Some(raw) = seq.next_element()? {
            (self.0)(index, raw).map_err(|()| A::Error::custom("told"))?;
            index += 1;
        }
        Ok(())
    }
}
