//! A turn as Anthropic's blocks: those of each of its messages a piece of the body.
use super::encode::Form;
use crate::{
    Change, Invalid, Mend,
    chat::{Input, Media, Message, Native, Part, Source},
    provider::{
        Fit,
        joined::{json, piece},
        turns::{Answered, Called, Side, Spoken, Turn},
        wire::has_field,
    },
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use std::sync::Arc;

/// What a turn says of which nothing is left: it may not be empty, and without it two of the same side would meet.
const NOTHING: &str = "(no content)";

#[derive(Serialize)]
#[serde(untagged)]
enum Block<'a> {
    /// As it was received.
    Native(&'a RawValue),
    Own(Own<'a>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Own<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        citations: Option<&'a RawValue>,
    },
    Image {
        source: Place<'a>,
    },
    Document {
        source: Place<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Input<'a>,
    },
    ToolResult {
        tool_use_id: &'a str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Place<'a> {
    Url { url: &'a str },
    Base64 { media_type: &'a str, data: &'a str },
    Text { media_type: &'a str, data: String },
}

/// The blocks of a turn: some at least. `is_last` is the end of the history, where the model goes on.
pub(super) fn of_turn(turn: &Turn<'_>, is_last: bool, form: &Arc<Form>, fit: &mut Fit) -> Result<Vec<Bytes>, Invalid> {
    let mut pieces = Vec::new();
    match &turn.side {
        Side::Assistant(all) => {
            let trimmed = is_last.then(|| trimmed(all, &form.provider)).flatten();
            for (at, spoken) in all.iter().enumerate() {
                let end = trimmed.filter(|end| at == end.message);
                if end.is_some() {
                    fit.note(Change::Mended { message: turn.first + at, how: Mend::Trimmed });
                }
                let kept = spoken.kept().filter(|_| end.is_none());
                pieces.push(piece(kept, form, || {
                    foreign(spoken.message, form, fit);
                    blocks(assistant(spoken, end, &form.provider))
                })?);
            }
        }
        Side::User { results, messages } => {
            for answered in results {
                pieces.push(piece(answered.kept(), form, || json(&result(answered, fit)))?);
            }
            for message in messages {
                let parts = || message.parts().iter().filter_map(|part| block(part, &form.provider));
                pieces.push(piece(Some(message.kept()), form, || blocks(parts()))?);
            }
        }
    }
    if pieces.iter().all(Bytes::is_empty) {
        fit.note(Change::Mended { message: turn.first, how: Mend::Filled });
        pieces.push(nothing()?);
    }
    Ok(pieces)
}

/// The block of a turn that says nothing.
pub(super) fn nothing() -> Result<Bytes, Invalid> {
    json(&text(NOTHING)).map(Bytes::from)
}

/// A text without the blanks at its end.
#[derive(Clone, Copy)]
struct End<'a> {
    message: usize,
    part: usize,
    text: &'a str,
}

/// What is sent last of all, where it ends with blanks: the model could not go on behind it, and it would be refused.
fn trimmed<'a>(all: &[Spoken<'a>], provider: &str) -> Option<End<'a>> {
    let parts = |(message, spoken): (usize, &Spoken<'a>)| {
        spoken.message.parts().iter().enumerate().map(move |(part, said)| (message, part, said)).rev()
    };
    let is_sent = |part: &Part| matches!(part, Part::ToolCall(_)) || block(part, provider).is_some();
    let (message, part, said) = all.iter().enumerate().rev().flat_map(parts).find(|(.., part)| is_sent(part))?;
    let said = match said {
        Part::Text(said) => said.as_str(),
        Part::Refusal(said) => said,
        _ => return None,
    };
    let text = said.trim_end();
    (text.len() < said.len()).then_some(End { message, part, text })
}

/// With commas between them.
fn blocks<'a>(blocks: impl Iterator<Item = Block<'a>>) -> Result<Vec<u8>, Invalid> {
    let mut joined = Vec::new();
    for block in blocks {
        if !joined.is_empty() {
            joined.push(b',');
        }
        joined.extend(json(&block)?);
    }
    Ok(joined)
}

/// Counts what is not for this provider.
fn foreign(message: &Message, form: &Form, fit: &mut Fit) {
    let is_foreign = |part: &&Part| match part {
        Part::Reasoning(reasoning) => received(reasoning.native(), &form.provider).is_none(),
        Part::Native(native) => received(native, &form.provider).is_none(),
        _ => false,
    };
    let parts = message.parts().iter().filter(is_foreign).count();
    if parts > 0 {
        fit.note(Change::Foreign { parts });
    }
}

/// `end` is what is said instead of its last text.
fn assistant<'a>(spoken: &'a Spoken<'a>, end: Option<End<'a>>, provider: &'a str) -> impl Iterator<Item = Block<'a>> {
    let mut calls = spoken.calls.iter();
    spoken.message.parts().iter().enumerate().filter_map(move |(at, part)| match (part, end) {
        (Part::ToolCall(_), _) => calls.next().map(|called| tool_use(called, provider)),
        (_, Some(end)) if at == end.part => Some(text(end.text)),
        (part, _) => block(part, provider),
    })
}

/// What is not for this provider is left out, and blank text, which it refuses.
fn block<'a>(part: &'a Part, provider: &str) -> Option<Block<'a>> {
    let own = match part {
        Part::Reasoning(reasoning) => return received(reasoning.native(), provider),
        Part::Native(native) => return received(native, provider),
        Part::Text(said) if is_blank(said.as_str()) => return None,
        Part::Text(said) => Own::Text {
            text: said.as_str(),
            citations: said.citations().and_then(|citations| citations.json_for(provider)),
        },
        Part::Refusal(said) if is_blank(said) => return None,
        Part::Refusal(said) => return Some(text(said)),
        Part::Image(media) => Own::Image { source: source(media) },
        Part::Document(media) => Own::Document { source: source(media), title: media.title() },
        Part::ToolCall(_) | Part::ToolResult(_) => return None,
    };
    Some(Block::Own(own))
}

/// Whether a turn has a block of this provider's own, as one has that was paused while its tools ran there.
pub(super) fn has_own(all: &[Spoken<'_>], provider: &str) -> bool {
    let mut parts = all.iter().flat_map(|spoken| spoken.message.parts());
    parts.any(|part| matches!(part, Part::Native(native) if received(native, provider).is_some()))
}

/// A provider that speaks in two ways has one name, and only one of them has blocks.
fn received<'a>(native: &'a Native, provider: &str) -> Option<Block<'a>> {
    native.json_for(provider).filter(|json| json.get().starts_with('{')).map(Block::Native)
}

fn text(text: &str) -> Block<'_> {
    Block::Own(Own::Text { text, citations: None })
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn source(media: &Media) -> Place<'_> {
    match media.source() {
        Source::Url(url) => Place::Url { url },
        // Of a document in base64 it takes PDF alone.
        Source::Base64 { media_type, data } if &**media_type == "text/plain" => match plain(data) {
            Some(data) => Place::Text { media_type, data },
            None => Place::Base64 { media_type, data },
        },
        Source::Base64 { media_type, data } => Place::Base64 { media_type, data },
    }
}

fn plain(data: &str) -> Option<String> {
    String::from_utf8(BASE64.decode(data).ok()?).ok()
}

/// A provider that speaks in several ways has one name: what it wrote tells in which.
fn tool_use<'a>(called: &'a Called<'a>, provider: &str) -> Block<'a> {
    let native = called.native(provider).filter(|json| has_field(json, "input"));
    let Called { call, id, name } = called;
    native.map_or_else(|| Block::Own(Own::ToolUse { id, name, input: Input::of(call.arguments()) }), Block::Native)
}

/// A call has one block, whatever number of results it has. It may be empty, but where the tool failed.
fn result<'a>(answered: &'a Answered<'a>, fit: &mut Fit) -> Block<'a> {
    let mut content = Vec::new();
    for result in &answered.results {
        content.extend(Some(result.content()).filter(|content| !is_blank(content)).map(text));
        content.extend(result.parts().iter().filter_map(|part| block(part, "")));
    }
    let is_error = answered.results.iter().any(|result| result.is_error());
    if is_error && content.is_empty() {
        fit.note(Change::Mended { message: answered.index, how: Mend::Filled });
        content.push(text(NOTHING));
    }
    Block::Own(Own::ToolResult { tool_use_id: &answered.id, content, is_error })
}
