//! A history as Anthropic's turns and blocks.
use crate::{
    chat::{Media, Message, Native, Part, Source, ToolCall},
    provider::turns::{Answered, Id, Spoken, Turn},
};
use serde::Serialize;
use serde_json::value::RawValue;

/// What a turn says of which nothing is left: it may not be empty, and without it two of the same side would meet.
const NOTHING: &str = "(no content)";

#[derive(Serialize)]
pub(super) struct Said<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

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
}

/// Must be an object.
#[derive(Serialize)]
#[serde(untagged)]
enum Input<'a> {
    Json(&'a RawValue),
    Nothing {},
    Broken {
        #[serde(rename = "INVALID_JSON")]
        text: &'a str,
    },
}

/// The turns of a history, which begin with the user's and alternate.
pub(super) fn said<'a>(turns: &'a [Turn<'a>], provider: &str) -> Vec<Said<'a>> {
    let first = match turns.first() {
        Some(Turn::User { .. }) => None,
        Some(Turn::Assistant(_)) | None => Some(Said { role: "user", content: vec![text(NOTHING)] }),
    };
    first.into_iter().chain(turns.iter().map(|turn| turn_said(turn, provider))).collect()
}

fn turn_said<'a>(turn: &'a Turn<'a>, provider: &str) -> Said<'a> {
    let (role, mut content) = match turn {
        Turn::Assistant(spoken) => {
            ("assistant", spoken.iter().flat_map(|spoken| assistant(spoken, provider)).collect::<Vec<_>>())
        }
        Turn::User { results, messages } => {
            let parts = messages.iter().copied().flat_map(Message::parts);
            ("user", results.iter().map(result).chain(parts.filter_map(|part| block(part, provider))).collect())
        }
    };
    if content.is_empty() {
        content.push(text(NOTHING));
    }
    Said { role, content }
}

fn assistant<'a>(spoken: &'a Spoken<'a>, provider: &str) -> impl Iterator<Item = Block<'a>> {
    let mut ids = spoken.ids.iter();
    spoken.message.parts().iter().filter_map(move |part| match part {
        Part::ToolCall(call) => Some(tool_use(call, ids.next()?)),
        part => block(part, provider),
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
        Source::Base64 { media_type, data } => Place::Base64 { media_type, data },
    }
}

fn tool_use<'a>(call: &'a ToolCall, id: &'a Id<'a>) -> Block<'a> {
    let arguments = call.arguments();
    let input = match serde_json::from_str::<&RawValue>(arguments) {
        Ok(json) if json.get().starts_with('{') => Input::Json(json),
        _ if is_blank(arguments) => Input::Nothing {},
        _ => Input::Broken { text: arguments },
    };
    Block::Own(Own::ToolUse { id, name: call.name(), input })
}

/// A call has one block, whatever number of results it has.
fn result<'a>(answered: &'a Answered<'a>) -> Block<'a> {
    let mut content = Vec::new();
    for result in &answered.results {
        content.extend(Some(result.content()).filter(|content| !is_blank(content)).map(text));
        content.extend(result.parts().iter().filter_map(|part| block(part, "")));
    }
    let is_error = answered.results.iter().any(|result| result.is_error());
    Block::Own(Own::ToolResult { tool_use_id: &answered.id, content, is_error })
}
