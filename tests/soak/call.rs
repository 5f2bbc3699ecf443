//! What is asked, and with which deed.
use crate::script::TOOL;
use seawall::Rng;
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    OpenAi,
    Anthropic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Reads as fast as it can.
    Reads,
    ReadsSlowly,
    /// Sends its body in four pieces.
    WritesSlowly,
    LeavesInHead,
    LeavesInBody,
    LeavesWaiting(Duration),
    /// Behind so many bytes of body.
    LeavesReading(usize),
    /// Asks what makes no sense, and is told this status.
    Errs(u16),
}

pub struct Call {
    pub id: u64,
    pub protocol: Protocol,
    pub is_stream: bool,
    pub has_tools: bool,
    /// What the answer says, where it calls no tool.
    pub echo: String,
    pub deed: Deed,
    pub head: Vec<u8>,
    pub body: Vec<u8>,
    pub closes: bool,
}

pub fn below(rng: &Rng, most: u64) -> u64 {
    rng.bits() % most
}

fn one_in(rng: &Rng, of: u64) -> bool {
    below(rng, of) == 0
}

/// By this the answer is known, and every send.
fn words(id: u64, count: u64, length: usize) -> String {
    let word = |at| format!(" {id}.{at}{}", "x".repeat(length));
    format!("call {id} says{}", (0..count).map(word).collect::<String>())
}

impl Call {
    /// One of the mix.
    pub fn drawn(id: u64, rng: &Rng) -> Self {
        let (is_stream, gushes) = (!one_in(rng, 3), one_in(rng, 30));
        let echo = if gushes { words(id, 40, 4000) } else { words(id, 3 + below(rng, 40), 0) };
        let deed = match below(rng, 100) {
            0..3 => Deed::LeavesInHead,
            3..6 => Deed::LeavesInBody,
            6..12 => Deed::LeavesWaiting(rng.up_to(Duration::from_millis(600))),
            12..22 => Deed::LeavesReading(below(rng, 4000) as usize),
            22..32 => Deed::ReadsSlowly,
            32..36 => Deed::WritesSlowly,
            36..40 => Deed::Errs(0),
            _ if gushes => Deed::ReadsSlowly,
            _ => Deed::Reads,
        };
        let model = if gushes { "gush" } else { "talk" };
        let has_tools = !gushes && one_in(rng, 5);
        Self::new(id, rng, model, is_stream, has_tools, echo, deed)
    }

    /// One of those that are under way when the process is told to stop.
    pub fn last(id: u64, rng: &Rng) -> Self {
        let (model, is_stream) = match id % 8 {
            0 | 1 => ("slow", true),
            2 => ("slow", false),
            3 | 4 => ("endless", true),
            5 => ("endless", false),
            6 => ("failing", true),
            _ => ("talk", true),
        };
        Self::new(id, rng, model, is_stream, false, words(id, 30, 0), Deed::Reads)
    }

    fn new(id: u64, rng: &Rng, model: &str, is_stream: bool, has_tools: bool, echo: String, deed: Deed) -> Self {
        let protocol = if one_in(rng, 2) { Protocol::OpenAi } else { Protocol::Anthropic };
        let mut call =
            Self { id, protocol, is_stream, has_tools, echo, deed, head: vec![], body: vec![], closes: false };
        call.closes = one_in(rng, 3);
        let mut body = call.json(rng, model);
        let (mut method, mut length) = ("POST", None);
        let mut bytes = None;
        if deed == (Deed::Errs(0)) {
            let (kind, mut status) = (below(rng, 7), 400);
            match kind {
                0 => body["messages"] = "none".into(),
                1 => _ = body.as_object_mut().unwrap().remove("model"),
                2 => body["temperature"] = "hot".into(),
                3 => bytes = Some(body.to_string().into_bytes()[..60].to_vec()),
                4 => {
                    bytes =
                        Some(body.to_string().replace("call", "c\u{e9}ll").bytes().filter(|it| *it != 0xc3).collect())
                }
                // Nothing of it is sent.
                5 => (status, length, bytes) = (413, Some(50_000_000), Some(vec![])),
                _ => (status, method, bytes) = (405, "GET", Some(vec![])),
            }
            call.deed = Deed::Errs(status);
        }
        // What is behind a refusal is of no use to anybody.
        call.closes |= matches!(call.deed, Deed::Errs(_));
        call.body = bytes.unwrap_or_else(|| body.to_string().into_bytes());
        call.head = call.head_of(method, length.unwrap_or(call.body.len()));
        call
    }

    fn head_of(&self, method: &str, length: usize) -> Vec<u8> {
        let path = match self.protocol {
            Protocol::OpenAi => "/v1/chat/completions",
            Protocol::Anthropic => "/v1/messages",
        };
        let close = if self.closes { "connection: close\r\n" } else { "" };
        format!("{method} {path} HTTP/1.1\r\nhost: soak\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{close}\r\n")
            .into_bytes()
    }

    fn json(&self, rng: &Rng, model: &str) -> Value {
        let content = match one_in(rng, 3) {
            true => json!([{ "type": "text", "text": self.echo }]),
            false => json!(self.echo),
        };
        let mut messages = Vec::new();
        // Now and then a history, and now and then a large one.
        let turns = if one_in(rng, 4) { below(rng, 12) } else { 0 };
        let size = if one_in(rng, 10) { 8_000 } else { 100 };
        for turn in 0..turns {
            messages.push(json!({ "role": "user", "content": format!("{turn}? {}", "q".repeat(size)) }));
            messages.push(json!({ "role": "assistant", "content": format!("{turn}. {}", "a".repeat(size)) }));
        }
        messages.push(json!({ "role": "user", "content": content }));
        let mut body = json!({ "model": model, "max_tokens": 60_000, "messages": messages, "stream": self.is_stream });
        if self.is_stream && self.protocol == Protocol::OpenAi && one_in(rng, 2) {
            body["stream_options"] = json!({ "include_usage": true });
        }
        if self.has_tools {
            let schema = json!({ "type": "object", "properties": { "at": { "type": "string" } } });
            body["tools"] = match self.protocol {
                Protocol::OpenAi => json!([{ "type": "function", "function": { "name": TOOL, "parameters": schema } }]),
                Protocol::Anthropic => json!([{ "name": TOOL, "input_schema": schema }]),
            };
        }
        body
    }
}
