//! An answer in Anthropic's form.
use super::said::{Said, Stopped, Words};
use crate::chat::Input;
use serde::Serialize;
use serde_json::{Value, json};

/// Written field by field, so that arguments stay the bytes that they are.
#[derive(Serialize)]
pub(super) struct Message<'a> {
    pub(super) id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    role: &'static str,
    pub(super) model: &'a str,
    pub(super) content: Vec<Block<'a>>,
    pub(super) stop_reason: &'static str,
    pub(super) stop_sequence: Option<&'a str>,
    pub(super) stop_details: Value,
    container: (),
    diagnostics: (),
    pub(super) usage: Value,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Thinking { thinking: &'a str, signature: String },
    Text { text: &'a str, citations: () },
    ToolUse { id: String, name: &'a str, input: Input<'a>, caller: Value },
}

impl<'a> Message<'a> {
    pub(super) fn of(said: &'a Said<'_>) -> Self {
        let stop_sequence = match &said.stopped {
            Stopped::At(text) => Some(text.as_str()),
            _ => None,
        };
        let stop_details = match (&said.words, &said.stopped) {
            (Words::Refusal(text), _) => json!({"type": "refusal", "category": null, "explanation": text}),
            (_, Stopped::Filtered) => json!({"type": "refusal", "category": null, "explanation": null}),
            _ => Value::Null,
        };
        Self {
            id: format!("msg_mock_{}", said.number),
            kind: "message",
            role: "assistant",
            model: said.model,
            content: content(said),
            stop_reason: stop_reason(said),
            stop_sequence,
            stop_details,
            container: (),
            diagnostics: (),
            usage: usage(said),
        }
    }
}

fn content<'a>(said: &'a Said<'_>) -> Vec<Block<'a>> {
    let thinking = |text: &'a String| Block::Thinking { thinking: text, signature: said.word("", 64) };
    let mut blocks = Vec::from_iter(said.reasoning.as_ref().map(thinking));
    match &said.words {
        Words::Text(text) if text.is_empty() => {}
        Words::Text(text) => blocks.push(Block::Text { text, citations: () }),
        Words::Refusal(_) => {}
        Words::Calls(calls) => blocks.extend(calls.iter().map(|call| Block::ToolUse {
            id: said.word("toolu_01", 22),
            name: &call.name,
            input: Input::of(&call.arguments),
            caller: json!({"type": "direct"}),
        })),
    }
    blocks
}

fn stop_reason(said: &Said<'_>) -> &'static str {
    match (&said.words, &said.stopped) {
        (Words::Refusal(_), _) | (_, Stopped::Filtered) => "refusal",
        (_, Stopped::Cut) => "max_tokens",
        (Words::Calls(_), _) => "tool_use",
        (Words::Text(_), Stopped::At(_)) => "stop_sequence",
        (Words::Text(_), Stopped::Done) => "end_turn",
    }
}

/// What came from a cache and what went to one are no part of the input here.
fn usage(said: &Said<'_>) -> Value {
    let counts = &said.counts;
    json!({
        "input_tokens": counts.prompt - counts.cached - counts.cache_written, "output_tokens": counts.completion,
        "cache_creation_input_tokens": counts.cache_written, "cache_read_input_tokens": counts.cached,
        "cache_creation": {"ephemeral_5m_input_tokens": counts.cache_written, "ephemeral_1h_input_tokens": 0},
        "output_tokens_details": {"thinking_tokens": counts.reasoning},
        "server_tool_use": null, "service_tier": "standard", "inference_geo": null, "speed": "standard",
    })
}
