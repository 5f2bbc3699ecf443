//! One event of a stream.
use super::{LineEnds, step::Piece};
use bytes::Bytes;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Frame {
    name: Option<&'static str>,
    data: Vec<u8>,
    /// Whether it shows a token to the reader.
    token: bool,
}

impl Frame {
    pub(super) fn new(name: Option<&'static str>, data: impl Into<Vec<u8>>) -> Self {
        Self { name, data: data.into(), token: false }
    }

    pub(super) fn json(name: Option<&'static str>, data: &impl Serialize) -> Self {
        Self::new(name, serde_json::to_vec(data).expect("texts and numbers are written as JSON"))
    }

    pub(super) fn show_token(&mut self) {
        self.token = true;
    }

    pub(super) fn piece(&self, ends: LineEnds) -> Piece {
        let bytes = [&self.front(ends)[..], ends.bytes(), ends.bytes()].concat();
        Piece { bytes: Bytes::from(bytes), events: 1, tokens: u32::from(self.token) }
    }

    /// Without the ends of its last line and of itself.
    pub(super) fn front(&self, ends: LineEnds) -> Vec<u8> {
        let name = self.name.map(|name| format!("event: {name}").into_bytes());
        let data = self.data.split(|byte| *byte == b'\n').map(|line| [b"data: ", line].concat());
        name.into_iter().chain(data).collect::<Vec<_>>().join(ends.bytes())
    }
}

/// The tokens of a text: its words, each with the space before it.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let begin = rest.find(|char: char| !char.is_whitespace())?;
        let end = rest[begin..].find(char::is_whitespace).map_or(rest.len(), |end| begin + end);
        // Space behind the last word is part of it.
        let end = if rest[end..].trim().is_empty() { rest.len() } else { end };
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
    .chain((!text.is_empty() && text.trim().is_empty()).then_some(text))
}

/// The tokens of arguments: four characters each.
pub(super) fn fours(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(4).map_or(rest.len(), |(end, _)| end);
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_into_words_and_nothing_is_lost() {
        for text in ["", " ", "Six.", "a b", " a  b\n", "日本 語 ", "\t\n"] {
            assert_eq!(words(text).collect::<String>(), text, "{text:?}");
        }
        assert_eq!(words(" a  b\nc ").collect::<Vec<_>>(), [" a", "  b", "\nc "]);
        assert_eq!(fours("{\"é\":日本語}").collect::<Vec<_>>(), ["{\"é\"", ":日本語", "}"]);
    }

    #[test]
    fn data_of_several_lines_is_as_many_fields() {
        let frame = Frame::new(Some("error"), "a\nb");
        assert_eq!(&frame.piece(LineEnds::CrLf).bytes[..], b"event: error\r\ndata: a\r\ndata: b\r\n\r\n");
        assert_eq!(&Frame::new(None, "a").piece(LineEnds::Cr).bytes[..], b"data: a\r\r");
    }
}
