//! An answer as Anthropic's messages give it.
use crate::{
    Usage,
    chat::{Answer, FinishReason, Input, Part, Request},
};
use bytes::Bytes;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::value::RawValue;
use std::{
    borrow::Cow,
    sync::atomic::{AtomicU64, Ordering},
};

#[derive(Serialize)]
struct Whole<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    role: &'static str,
    model: &'a str,
    content: Vec<Block<'a>>,
    stop_reason: &'static str,
    stop_sequence: (),
    usage: Tokens,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Block<'a> {
    Native(&'a RawValue),
    Own(Own<'a>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Own<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        citations: Option<&'a RawValue>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'static str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Input<'a>,
    },
}

pub(super) fn whole(request: &Request, answer: &Answer, provider: &str) -> Bytes {
    let id = answer.id().map_or_else(|| Cow::Owned(id()), Cow::Borrowed);
    let message = answer.message();
    let is_refused = message.refusal().is_some();
    let whole = Whole {
        id: &id,
        kind: "message",
        role: "assistant",
        model: answer.model().unwrap_or_else(|| request.model_name()),
        content: message.parts().iter().filter_map(|part| block(part, provider)).collect(),
        stop_reason: stop_reason(answer.finish_reason(), message.tool_calls().next().is_some(), is_refused),
        stop_sequence: (),
        usage: Tokens(answer.usage().unwrap_or_default()),
    };
    serde_json::to_vec(&whole).unwrap_or_default().into()
}

fn block<'a>(part: &'a Part, provider: &str) -> Option<Block<'a>> {
    Some(match part {
        Part::Text(text) if text.as_str().is_empty() => return None,
        Part::Text(text) => Block::Own(Own::Text {
            text: text.as_str(),
            citations: text.citations().and_then(|citations| citations.json_for(provider)),
        }),
        Part::Reasoning(thoughts) => match thoughts.native().json_for(provider) {
            Some(json) if json.get().starts_with('{') => Block::Native(json),
            _ if thoughts.text().is_empty() => return None,
            _ => Block::Own(Own::Thinking { thinking: thoughts.text(), signature: "" }),
        },
        Part::Refusal(text) => Block::Own(Own::Text { text, citations: None }),
        Part::ToolCall(call) => {
            Block::Own(Own::ToolUse { id: call.id(), name: call.name(), input: Input::of(call.arguments()) })
        }
        Part::Native(native) => Block::Native(native.json_for(provider).filter(|json| json.get().starts_with('{'))?),
        Part::Image(_) | Part::Document(_) | Part::ToolResult(_) => return None,
    })
}

/// For an answer whose provider gave none.
pub(super) fn id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("msg_seawall_{:x}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A word that clients know: they go by it.
pub(super) fn stop_reason(reason: Option<&FinishReason>, has_calls: bool, is_refused: bool) -> &'static str {
    match reason {
        Some(FinishReason::Length) => "max_tokens",
        Some(FinishReason::ContentFilter) => "refusal",
        Some(FinishReason::Other(word)) if &**word == "pause_turn" => "pause_turn",
        _ if is_refused => "refusal",
        _ if has_calls => "tool_use",
        _ => "end_turn",
    }
}

/// The usage as it is told: what came from a cache, and what went to it, apart from the rest of the prompt.
pub(super) struct Tokens(pub(super) Usage);

impl Serialize for Tokens {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Usage { input, output, cached, cache_write, .. } = self.0;
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("input_tokens", &input.saturating_sub(cached).saturating_sub(cache_write))?;
        map.serialize_entry("cache_creation_input_tokens", &cache_write)?;
        map.serialize_entry("cache_read_input_tokens", &cached)?;
        map.serialize_entry("output_tokens", &output)?;
        map.end()
    }
}
