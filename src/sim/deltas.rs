//! A stream in Anthropic's form.
use super::{
    ReportUsage,
    frame::{Frame, fours, words},
    message::{Block, Message},
    said::Said,
    stream::Stream,
};
use serde::Serialize;
use serde_json::{Value, json};

pub(super) fn deltas(said: &Said<'_>, stream: &Stream) -> Vec<Frame> {
    let message = Message::of(said);
    let told = stream.usage != ReportUsage::Never;
    let mut deltas = Deltas { index: 0, frames: vec![start(&message, told)] };
    message.content.iter().for_each(|block| deltas.block(block));
    // Where providers have it: behind the start of the first block.
    let behind = deltas.frames.len().min(2);
    deltas.frames.insert(behind, ping());
    deltas.push("message_delta", &delta(&message, told));
    if stream.terminator {
        deltas.push("message_stop", &json!({"type": "message_stop"}));
    }
    deltas.frames
}

pub(super) fn ping() -> Frame {
    Frame::json(Some("ping"), &json!({"type": "ping"}))
}

/// The message before anything of it is known, but for its prompt.
fn start(message: &Message<'_>, told: bool) -> Frame {
    let mut start = json!({
        "id": message.id, "type": "message", "role": "assistant", "model": message.model, "content": [],
        "stop_reason": null, "stop_sequence": null, "stop_details": null, "container": null, "diagnostics": null,
    });
    if told {
        start["usage"] = message.usage.clone();
        start["usage"]["output_tokens"] = 1.into();
        start["usage"]["output_tokens_details"] = Value::Null;
    }
    Frame::json(Some("message_start"), &json!({"type": "message_start", "message": start}))
}

fn delta(message: &Message<'_>, told: bool) -> Value {
    let mut delta = json!({"type": "message_delta", "delta": {
        "stop_reason": message.stop_reason, "stop_sequence": message.stop_sequence,
        "stop_details": message.stop_details, "container": null,
    }});
    if told {
        let names = ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
        let names = names.into_iter().chain(["output_tokens_details", "server_tool_use"]);
        delta["usage"] = names.map(|name| (name.to_owned(), message.usage[name].clone())).collect();
    }
    delta
}

struct Deltas {
    index: usize,
    frames: Vec<Frame>,
}

impl Deltas {
    fn push(&mut self, name: &'static str, data: &impl Serialize) {
        self.frames.push(Frame::json(Some(name), data));
    }

    fn block(&mut self, block: &Block<'_>) {
        match block {
            Block::Thinking { thinking, signature } => {
                self.start(&json!({"type": "thinking", "thinking": "", "signature": ""}));
                words(thinking).for_each(|word| self.token(&json!({"type": "thinking_delta", "thinking": word})));
                self.delta(&json!({"type": "signature_delta", "signature": signature}));
            }
            Block::Text { text, .. } => {
                self.start(&json!({"type": "text", "text": "", "citations": null}));
                words(text).for_each(|word| self.token(&json!({"type": "text_delta", "text": word})));
            }
            Block::ToolUse { id, name, input, caller } => {
                self.start(&json!({"type": "tool_use", "id": id, "name": name, "input": {}, "caller": caller}));
                // Its name is something to see.
                self.frames.last_mut().into_iter().for_each(Frame::show_token);
                self.delta(&json!({"type": "input_json_delta", "partial_json": ""}));
                let token = |piece| self.token(&json!({"type": "input_json_delta", "partial_json": piece}));
                fours(&input.text()).for_each(token);
            }
        }
        self.push("content_block_stop", &json!({"type": "content_block_stop", "index": self.index}));
        self.index += 1;
    }

    fn start(&mut self, block: &Value) {
        let data = json!({"type": "content_block_start", "index": self.index, "content_block": block});
        self.push("content_block_start", &data);
    }

    fn delta(&mut self, delta: &Value) {
        self.push("content_block_delta", &json!({"type": "content_block_delta", "index": self.index, "delta": delta}));
    }

    fn token(&mut self, delta: &Value) {
        self.delta(delta);
        self.frames.last_mut().into_iter().for_each(Frame::show_token);
    }
}
