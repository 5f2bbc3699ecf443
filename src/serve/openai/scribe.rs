//! A streamed answer as OpenAI's chat completions give it.
use super::{
    encode::{Call, Tokens, created, finish_reason, id},
    failure,
};
use crate::{
    Usage,
    chat::{FinishReason, Item},
    serve::{Failure, Scribe, event},
};
use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;
use std::sync::Arc;

/// Writes the chunks of one streamed answer.
#[derive(Debug)]
pub struct Chunks {
    /// Kept from the first chunk on: all have the same.
    id: Option<Arc<str>>,
    model: Arc<str>,
    created: u64,
    wants_usage: bool,
    has_begun: bool,
    calls: usize,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    has_told_usage: bool,
    /// Whether the provider's own chunks are handed on.
    is_handed_on: bool,
}

#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: &'a [Choice<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Tokens>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    delta: Delta<'a>,
    logprobs: (),
    finish_reason: Option<&'static str>,
}

#[derive(Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[Call<'a>; 1]>,
}

impl Chunks {
    pub(super) fn new(model: &str, wants_usage: bool) -> Self {
        Self {
            id: None,
            model: model.into(),
            created: created(),
            wants_usage,
            has_begun: false,
            calls: 0,
            finish: None,
            usage: None,
            has_told_usage: false,
            is_handed_on: false,
        }
    }

    fn delta(&mut self, mut delta: Delta<'_>, out: &mut BytesMut) {
        if !self.has_begun {
            self.has_begun = true;
            delta.role = Some("assistant");
        }
        self.write(&[Choice { index: 0, delta, logprobs: (), finish_reason: None }], None, out);
    }

    fn write(&mut self, choices: &[Choice<'_>], usage: Option<Tokens>, out: &mut BytesMut) {
        let id = self.id.get_or_insert_with(|| id(self.created).into());
        let chunk =
            Chunk { id, object: "chat.completion.chunk", created: self.created, model: &self.model, choices, usage };
        out.extend_from_slice(b"data: ");
        // Writing to memory does not fail, and no name in it is anything but text.
        let _ = serde_json::to_writer(out.writer(), &chunk);
        out.extend_from_slice(b"\n\n");
    }
}

impl Scribe for Chunks {
    fn item(&mut self, item: &Item, out: &mut BytesMut) {
        let delta = match item {
            Item::Started { id, model } => {
                self.id = self.id.take().or_else(|| id.clone());
                self.model = model.clone().unwrap_or_else(|| Arc::clone(&self.model));
                return;
            }
            Item::Text(text) => Delta { content: Some(text), ..Delta::default() },
            Item::Reasoning(text) => Delta { reasoning_content: Some(text), ..Delta::default() },
            Item::Refusal(text) => Delta { refusal: Some(text), ..Delta::default() },
            Item::ToolCall(call) => {
                let tool_calls = Some([Call::new(Some(self.calls), call)]);
                self.calls += 1;
                Delta { tool_calls, ..Delta::default() }
            }
            Item::Finish(reason) => {
                self.finish = Some(reason.clone());
                return;
            }
            Item::Usage(usage) => {
                self.usage = Some(*usage);
                return;
            }
            _ => return,
        };
        self.delta(delta, out);
    }

    fn aside(&mut self, item: &Item) {
        match item {
            Item::Started { id, model } => {
                self.id = self.id.take().or_else(|| id.clone());
                self.model = model.clone().unwrap_or_else(|| Arc::clone(&self.model));
            }
            Item::Usage(usage) => self.usage = Some(*usage),
            _ => {}
        }
    }

    fn received(&mut self, name: Option<&str>, data: &Bytes, out: &mut BytesMut) {
        self.is_handed_on = true;
        if data.trim_ascii() == b"[DONE]" {
            return; // at the end
        }
        if is_usage_alone(data) {
            if !self.wants_usage {
                return;
            }
            self.has_told_usage = true;
        }
        event(name, data, out);
    }

    fn alive(&mut self, out: &mut BytesMut) {
        out.extend_from_slice(b": alive\n\n");
    }

    fn end(&mut self, out: &mut BytesMut) {
        if !self.is_handed_on {
            if !self.has_begun {
                self.delta(Delta { content: Some(""), ..Delta::default() }, out);
            }
            let finish_reason = Some(finish_reason(self.finish.as_ref(), self.calls > 0));
            self.write(&[Choice { index: 0, delta: Delta::default(), logprobs: (), finish_reason }], None, out);
        }
        if let Some(usage) = self.usage.filter(|_| self.wants_usage && !self.has_told_usage) {
            self.write(&[], Some(Tokens(usage)), out);
        }
        event(None, b"[DONE]", out);
    }

    fn failure(&mut self, failure: &Failure, out: &mut BytesMut) {
        event(None, &failure::body(failure), out);
    }
}

/// The chunk without a choice that tells the usage.
fn is_usage_alone(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let has = |field: &str, value: char| {
        let rest = text.split_once(field).map(|(_, rest)| rest.trim_start_matches([' ', ':']));
        rest.and_then(|rest| rest.strip_prefix(value)).map(str::trim_start)
    };
    text.len() < 4096
        && has("\"choices\"", '[').is_some_and(|rest| rest.starts_with(']'))
        && has("\"usage\"", '{').is_some()
}
