//! Pieces of tool calls, borrowed from their event.
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

/// No event brings pieces of so many calls. Each takes more room here than on the wire.
pub(super) const MOST_CALLS: usize = 1024;
/// Nor has a call so many fields that seawall does not know.
pub(super) const MOST_FIELDS: usize = 8;

/// The pieces in a delta. There is mostly one, which takes no allocation.
pub(super) struct Pieces<'a> {
    pub(super) first: Option<Piece<'a>>,
    pub(super) more: Vec<Piece<'a>>,
    pub(super) are_too_many: bool,
}

#[derive(Default)]
pub(super) struct Piece<'a> {
    pub(super) index: Option<&'a RawValue>,
    pub(super) id: Option<&'a RawValue>,
    pub(super) function: Option<Function<'a>>,
    /// What else there is, such as Gemini's signature.
    pub(super) more: Vec<(Cow<'a, str>, &'a RawValue)>,
}

#[derive(Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// Without a copy, where no character of it is escaped.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Pieces<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(PiecesVisitor)
    }
}

struct PiecesVisitor;

impl<'de> Visitor<'de> for PiecesVisitor {
    type Value = Pieces<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Pieces<'de>, A::Error> {
        let mut pieces = Pieces { first: items.next_element()?, more: Vec::new(), are_too_many: false };
        while pieces.more.len() < MOST_CALLS {
            match items.next_element()? {
                Some(piece) => pieces.more.push(piece),
                None => return Ok(pieces),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {
            pieces.are_too_many = true;
        }
        Ok(pieces)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Piece<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PieceVisitor)
    }
}

struct PieceVisitor;

impl<'de> Visitor<'de> for PieceVisitor {
    type Value = Piece<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Piece<'de>, M::Error> {
        let mut piece = Piece::default();
        while let Some(Name(name)) = map.next_key()? {
            match &*name {
                "index" => piece.index = map.next_value()?,
                "id" => piece.id = map.next_value()?,
                "function" => piece.function = map.next_value()?,
                "type" => _ = map.next_value::<IgnoredAny>()?,
                _ if piece.more.len() < MOST_FIELDS => piece.more.push((name, map.next_value()?)),
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(piece)
    }
}
