//! An answer in OpenAI's form.
use super::said::{Said, Stopped, Words};
use serde_json::{Value, json};

pub(super) fn completion(said: &Said<'_>) -> Value {
    json!({
        "id": said.completion_id(), "object": "chat.completion", "created": said.created,
        "model": said.model,
        "choices": [{"index": 0, "finish_reason": finish_reason(said), "logprobs": null, "message": message(said)}],
        "usage": usage(said),
    })
}

pub(super) fn usage(said: &Said<'_>) -> Value {
    let counts = &said.counts;
    json!({
        "prompt_tokens": counts.prompt, "completion_tokens": counts.completion,
        "total_tokens": u64::from(counts.prompt) + u64::from(counts.completion),
        "prompt_tokens_details": {
            "cached_tokens": counts.cached, "cache_write_tokens": counts.cache_written, "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": counts.reasoning, "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
        },
    })
}

pub(super) fn finish_reason(said: &Said<'_>) -> &'static str {
    match (&said.stopped, &said.words) {
        (Stopped::Filtered, _) => "content_filter",
        (Stopped::Cut, _) => "length",
        (_, Words::Calls(_)) => "tool_calls",
        _ => "stop",
    }
}

fn message(said: &Said<'_>) -> Value {
    let mut message = json!({"role": "assistant", "content": null, "refusal": null, "annotations": []});
    match &said.words {
        Words::Text(text) => message["content"] = text.as_str().into(),
        Words::Refusal(text) => message["refusal"] = (*text).into(),
        Words::Calls([]) => {}
        Words::Calls(calls) => {
            let call = |call: &super::answer::Call| {
                let function = json!({"name": call.name, "arguments": call.arguments});
                json!({"id": said.word("call_", 24), "type": "function", "function": function})
            };
            message["tool_calls"] = calls.iter().map(call).collect();
        }
    }
    if let Some(text) = &said.reasoning {
        message["reasoning_content"] = text.as_str().into();
    }
    message
}
