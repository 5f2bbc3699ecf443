//! What stands in a message: text, or pieces.
use super::NoText;
use crate::{
    chat::{Media, Message, Part, Source, ToolResult},
    provider::turns::{Answered, Spoken},
};
use serde::{Serialize, Serializer};
use std::{borrow::Cow, fmt};

/// Text where that is all: many servers read nothing else.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Pieces(Vec<Piece<'a>>),
    Null(()),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Piece<'a> {
    Text {
        text: &'a str,
    },
    /// Says whose the pieces behind it are.
    #[serde(rename = "text")]
    Of {
        text: Label<'a>,
    },
    ImageUrl {
        image_url: Url<'a>,
    },
    File {
        file: File<'a>,
    },
}

#[derive(Serialize)]
pub(super) struct Url<'a> {
    url: Address<'a>,
}

#[derive(Serialize)]
pub(super) struct File<'a> {
    filename: &'a str,
    file_data: Address<'a>,
}

/// A URL, or the bytes written as one.
struct Address<'a>(&'a Source);

impl fmt::Display for Address<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Source::Url(url) => f.write_str(url),
            Source::Base64 { media_type, data } => write!(f, "data:{media_type};base64,{data}"),
        }
    }
}

impl Serialize for Address<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The text of a user's turn, and what it shows.
pub(super) fn asked(message: &Message) -> Content<'_> {
    let pieces: Vec<_> = message.parts().iter().filter_map(piece).collect();
    let text = pieces.iter().try_fold(Cow::default(), |all, piece| match piece {
        Piece::Text { text } => Some(joined(all, "\n", text)),
        _ => None,
    });
    text.map_or(Content::Pieces(pieces), Content::Text)
}

/// What the model said in turns that are one, as one text. What cites is one text in pieces; what something else stood
/// between begins a line.
pub(super) fn said<'a>(turns: &[Spoken<'a>], has_refusal: bool) -> Cow<'a, str> {
    let (mut all, mut between) = (Cow::default(), "");
    for turn in turns {
        for part in turn.message.parts() {
            let text = match part {
                Part::Text(text) => text.as_str(),
                Part::Refusal(text) if !has_refusal => {
                    between = "\n";
                    text
                }
                _ => "",
            };
            all = joined(all, between, text);
            between = if matches!(part, Part::Text(_)) { "" } else { "\n" };
        }
        between = "\n";
    }
    all
}

/// Copies only where there are several.
fn joined<'a>(all: Cow<'a, str>, between: &'static str, more: &'a str) -> Cow<'a, str> {
    match (&*all, more) {
        (_, "") => all,
        ("", _) => Cow::Borrowed(more),
        _ => all + between + more,
    }
}

fn piece(part: &Part) -> Option<Piece<'_>> {
    match part {
        Part::Text(text) => Some(text.as_str()).filter(|text| !text.is_empty()).map(|text| Piece::Text { text }),
        Part::Image(media) => Some(Piece::ImageUrl { image_url: Url { url: Address(media.source()) } }),
        Part::Document(media) => Some(Piece::File { file: file(media) }),
        _ => None,
    }
}

/// A file must have a name.
fn file(media: &Media) -> File<'_> {
    File { filename: media.title().unwrap_or("document"), file_data: Address(media.source()) }
}

/// The texts of one call's results.
pub(super) struct Results<'a>(pub(super) &'a [&'a ToolResult]);

impl fmt::Display for Results<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(at, result)| {
            f.write_str(if at == 0 { "" } else { "\n" })?;
            f.write_str(result.content())
        })
    }
}

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What tools gave beside text, which only a user turn may hold: each behind the id of its call.
pub(super) fn shown<'a>(results: &'a [Answered<'a>]) -> Option<Content<'a>> {
    let pieces: Vec<_> = results.iter().flat_map(of_call).collect();
    (!pieces.is_empty()).then_some(Content::Pieces(pieces))
}

fn of_call<'a>(answered: &'a Answered<'a>) -> impl Iterator<Item = Piece<'a>> {
    let mut parts = answered.results.iter().flat_map(|result| result.parts()).filter_map(piece).peekable();
    let label = parts.peek().is_some().then_some(Piece::Of { text: Label(&answered.id) });
    label.into_iter().chain(parts)
}

pub(super) struct Label<'a>(&'a str);

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "From the tool call {}:", self.0)
    }
}

impl Serialize for Label<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl NoText {
    pub(super) fn content(self) -> Option<Content<'static>> {
        match self {
            Self::Empty => Some(Content::Text(Cow::Borrowed(""))),
            Self::Null => Some(Content::Null(())),
            Self::Absent => None,
        }
    }
}
