//! What the dialects have in common on the wire.
use crate::{Error, Invalid, Kind, Phase};
use http::{
    HeaderMap, HeaderValue, Uri,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde::{
    Deserialize, Serialize,
    de::{
        DeserializeOwned, Deserializer, Error as _, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
    ser::SerializeMap,
};
use serde_json::{error::Category, value::RawValue};
use std::{borrow::Cow, fmt, marker::PhantomData};

/// The URL of a base and what follows it, each with a query of its own.
pub(super) fn uri(base_url: &str, path: &str) -> Result<Uri, Invalid> {
    let (base, own) = parted(base_url);
    let (path, more) = parted(path);
    let mut url = format!("{}/{}", base.trim_end_matches('/'), path.trim_start_matches('/'));
    for (separator, query) in ['?', '&'].into_iter().zip(own.into_iter().chain(more)) {
        url.push(separator);
        url.push_str(query);
    }
    // What follows a `#` would be dropped without a word, and the path with it.
    let whole = (!url.contains('#')).then_some(url);
    let uri = whole.and_then(|url| Uri::try_from(url).ok());
    let uri = uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")));
    let uri = uri.ok_or_else(|| Invalid::new("base_url", "is no URL: write it as `https://host/v1`"))?;
    match uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        true => Err(Invalid::new("base_url", "holds a user or a password, which would not be sent: leave it out")),
        false => Ok(uri),
    }
}

/// What stands before a query, and the query.
fn parted(url: &str) -> (&str, Option<&str>) {
    url.split_once('?').map_or((url, None), |(front, query)| (front, Some(query)))
}

/// The headers of a body of JSON whose answer is one.
pub(super) fn headers() -> HeaderMap {
    let json = HeaderValue::from_static("application/json");
    HeaderMap::from_iter([(CONTENT_TYPE, json.clone()), (ACCEPT, json)])
}

pub(super) fn value(setting: &'static str, text: &str) -> Result<HeaderValue, Invalid> {
    let refused =
        |_| Invalid::new(setting, "holds a character that no header may hold, such as a line break: remove it");
    HeaderValue::from_str(text).map_err(refused)
}

/// A variable of the environment that says something.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

pub(super) fn optional<M: SerializeMap>(
    map: &mut M,
    field: &str,
    value: Option<impl Serialize>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(field, &value))
}

/// Without what the classifier passes over too: a byte order mark, and comments that keep a connection alive.
pub(super) fn bare(body: &[u8]) -> &[u8] {
    let mut rest = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body).trim_ascii_start();
    while rest.starts_with(b":") {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        rest = rest[end..].trim_ascii_start();
    }
    rest
}

/// Cut or damaged on the way, or not of this dialect. serde's own words may quote the answer: its place is told alone.
pub(super) fn unreadable(error: &serde_json::Error) -> Error {
    let (kind, what) = match error.classify() {
        Category::Eof => (Kind::Transport, "the answer is cut"),
        Category::Syntax | Category::Io => (Kind::Transport, "the answer is damaged"),
        Category::Data => (Kind::Unknown, "the answer is not of this dialect"),
    };
    let place = match error.line() {
        0 => what.to_owned(),
        line => format!("{what} (line {line}, column {})", error.column()),
    };
    Error::provider(kind).with_phase(Phase::Body).with_message(place)
}

/// A name that is no text is left out: a paid answer is not refused for it.
pub(super) fn word(raw: Option<&RawValue>) -> Option<Box<str>> {
    from_raw(raw.filter(|raw| raw.get().starts_with('"'))?).ok()
}

pub(super) fn from_raw<T: DeserializeOwned>(raw: &RawValue) -> Result<T, serde_json::Error> {
    serde_json::from_str(raw.get())
}

/// The empty text, as JSON: what is longer holds something.
pub(super) const NO_TEXT: &str = "\"\"";

/// What an object says. serde takes a list of the fields for it too, which is shorter than all that is made of it here.
pub(super) fn object<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, serde_json::Error> {
    match raw.get().starts_with('{') {
        true => serde_json::from_str(raw.get()),
        false => Err(serde_json::Error::custom("not an object")),
    }
}

/// What is no text. serde writes a text that stands in the place of something else into its error, at several times its length.
pub(super) struct Lean<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lean<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LeanVisitor(PhantomData)).map(Self)
    }
}

struct LeanVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for LeanVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, a list or a count")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<T, A::Error> {
        T::deserialize(SeqAccessDeserializer::new(items))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        T::deserialize(number.into_deserializer())
    }

    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<T, E> {
        Err(E::custom("a text"))
    }
}

/// A field that may be left out: see [`Lean`].
pub(super) fn lean<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<Lean<T>>::deserialize(deserializer)?.map(|Lean(value)| value))
}

/// A whole answer: see [`Lean`].
pub(super) fn whole<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, serde_json::Error> {
    match bare(body) {
        [b'"', ..] => Err(serde_json::Error::custom("a text")),
        body => serde_json::from_slice(body),
    }
}

/// Whether an object has other fields than these.
pub(super) fn has_more(object: &RawValue, known: &[&str]) -> bool {
    any_field(object, |name| !known.contains(&name))
}

pub(super) fn has_field(object: &RawValue, field: &str) -> bool {
    any_field(object, |name| name == field)
}

fn any_field(object: &RawValue, is_one: impl Fn(&str) -> bool) -> bool {
    let is_object = object.get().starts_with('{');
    is_object && serde_json::Deserializer::from_str(object.get()).deserialize_map(AnyField(is_one)).unwrap_or_default()
}

struct AnyField<F>(F);

impl<'de, F: Fn(&str) -> bool> Visitor<'de> for AnyField<F> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<bool, A::Error> {
        let mut any = false;
        while let Some(Key(name)) = fields.next_key()? {
            any |= (self.0)(&name);
            fields.next_value::<IgnoredAny>()?;
        }
        Ok(any)
    }
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

pub(super) fn has_items(list: &RawValue) -> bool {
    // Which take no room.
    list.get().starts_with('[') && from_raw::<Vec<IgnoredAny>>(list).is_ok_and(|items| !items.is_empty())
}

/// Hands over the items of a list, one by one, up to the first that is refused.
///
/// What is made of them takes more room than they do. Gone through twice, a list is known before anything is made of it.
pub(super) fn each<'a>(
    list: &'a RawValue,
    take: impl FnMut(&'a RawValue) -> Result<(), serde_json::Error>,
) -> Result<(), serde_json::Error> {
    if !list.get().starts_with('[') {
        return Err(serde_json::Error::custom("not a list"));
    }
    let mut refused = None;
    let read = serde_json::Deserializer::from_str(list.get()).deserialize_seq(Each { take, refused: &mut refused });
    refused.map_or(read, Err)
}

struct Each<'r, F> {
    take: F,
    /// Kept as it is, since it tells damage from another dialect.
    refused: &'r mut Option<serde_json::Error>,
}

impl<'a, F: FnMut(&'a RawValue) -> Result<(), serde_json::Error>> Visitor<'a> for Each<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'a>>(mut self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element()? {
            if let Err(error) = (self.take)(item) {
                *self.refused = Some(error);
                return Err(A::Error::custom("refused"));
            }
        }
        Ok(())
    }
}
