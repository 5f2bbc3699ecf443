//! A stream in OpenAI's form.
use super::{
    ReportUsage,
    answer::Call,
    asked::Asked,
    completion::{finish_reason, usage},
    frame::{Frame, fours, words},
    said::{Said, Words},
    stream::Stream,
};
use serde_json::{Value, json};

pub(super) fn chunks(said: &Said<'_>, asked: &Asked<'_>, stream: &Stream) -> Vec<Frame> {
    let told = stream.usage != ReportUsage::Never;
    let mut chunks = Chunks { said, nulls: told && asked.wants_usage(), frames: Vec::new() };
    let content = if matches!(said.words, Words::Text(_)) { json!("") } else { Value::Null };
    chunks.delta(&json!({"role": "assistant", "content": content, "refusal": null}));
    for word in said.reasoning.iter().flat_map(|text| words(text)) {
        chunks.token(&json!({"reasoning_content": word}));
    }
    match &said.words {
        Words::Text(text) => words(text).for_each(|word| chunks.token(&json!({"content": word}))),
        Words::Refusal(text) => words(text).for_each(|word| chunks.token(&json!({"refusal": word}))),
        Words::Calls(calls) => calls.iter().enumerate().for_each(|(index, call)| chunks.call(index, call)),
    }
    let choices = json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": finish_reason(said)}]);
    chunks.push(&choices, None);
    if chunks.nulls || stream.usage == ReportUsage::Always {
        chunks.push(&json!([]), Some(usage(said)));
    }
    let terminator = stream.terminator.then(|| Frame::new(None, "[DONE]"));
    chunks.frames.into_iter().chain(terminator).collect()
}

struct Chunks<'a> {
    said: &'a Said<'a>,
    /// Whether each chunk says that it has no usage, as those do that come before one that has.
    nulls: bool,
    frames: Vec<Frame>,
}

impl Chunks<'_> {
    fn push(&mut self, choices: &Value, usage: Option<Value>) {
        let mut chunk = json!({
            "id": self.said.completion_id(), "object": "chat.completion.chunk", "created": self.said.created,
            "model": self.said.model, "choices": choices,
        });
        if self.nulls || usage.is_some() {
            chunk["usage"] = usage.into();
        }
        self.frames.push(Frame::json(None, &chunk));
    }

    fn delta(&mut self, delta: &Value) {
        self.push(&json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]), None);
    }

    fn token(&mut self, delta: &Value) {
        self.delta(delta);
        self.frames.last_mut().into_iter().for_each(Frame::show_token);
    }

    fn call(&mut self, index: usize, call: &Call) {
        let function = json!({"name": call.name, "arguments": ""});
        let id = self.said.word("call_", 24);
        self.token(&json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}));
        for piece in fours(&call.arguments) {
            self.token(&json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}));
        }
    }
}
