//! An answer as OpenAI's chat completions give it.
use crate::{
    Usage,
    chat::{Answer, FinishReason, Part, Request, ToolCall},
    time,
};
use bytes::Bytes;
use serde::{Serialize, Serializer};
use std::{
    borrow::Cow,
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

#[derive(Serialize)]
struct Completion<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: [Choice<'a>; 1],
    usage: Option<Tokens>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    message: Said<'a>,
    logprobs: (),
    finish_reason: &'static str,
}

#[derive(Serialize)]
struct Said<'a> {
    role: &'static str,
    content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    refusal: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

pub(super) fn whole(request: &Request, answer: &Answer) -> Bytes {
    let created = created();
    let id = answer.id().map_or_else(|| Cow::Owned(id(created)), Cow::Borrowed);
    let message = answer.message();
    let thoughts: String = message.reasoning().map(|thoughts| thoughts.text()).collect();
    let tool_calls: Vec<_> = message.tool_calls().map(|call| Call::new(None, call)).collect();
    let is_said = message.parts().iter().any(|part| matches!(part, Part::Text(_)));
    let refusal = message.refusal();
    let completion = Completion {
        id: &id,
        object: "chat.completion",
        created,
        model: answer.model().unwrap_or_else(|| request.model_name()),
        choices: [Choice {
            index: 0,
            finish_reason: finish_reason(answer.finish_reason(), !tool_calls.is_empty()),
            logprobs: (),
            message: Said {
                role: "assistant",
                content: (is_said || refusal.is_none() && tool_calls.is_empty()).then(|| message.text()),
                reasoning_content: Some(thoughts).filter(|thoughts| !thoughts.is_empty()),
                refusal,
                tool_calls,
            },
        }],
        usage: answer.usage().map(Tokens),
    };
    serde_json::to_vec(&completion).unwrap_or_default().into()
}

/// Seconds since 1970, as others count them.
pub(super) fn created() -> u64 {
    time::wall().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// For an answer whose provider gave none.
pub(super) fn id(created: u64) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("chatcmpl-{created:x}-{:x}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A word that clients know: they go by it.
pub(super) fn finish_reason(reason: Option<&FinishReason>, has_calls: bool) -> &'static str {
    match reason {
        Some(FinishReason::Length) => "length",
        Some(FinishReason::ContentFilter) => "content_filter",
        _ if has_calls => "tool_calls",
        _ => "stop",
    }
}

#[derive(Serialize)]
pub(super) struct Call<'a> {
    /// In a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl<'a> Call<'a> {
    pub(super) fn new(index: Option<usize>, call: &'a ToolCall) -> Self {
        let function = Function { name: call.name(), arguments: call.arguments() };
        Self { index, id: call.id(), kind: "function", function }
    }
}

/// The usage as it is told.
pub(super) struct Tokens(pub(super) Usage);

impl Serialize for Tokens {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Told {
            prompt_tokens: u64,
            completion_tokens: u64,
            total_tokens: u64,
            prompt_tokens_details: Prompt,
            completion_tokens_details: Completion,
        }
        #[derive(Serialize)]
        struct Prompt {
            cached_tokens: u64,
            audio_tokens: u64,
        }
        #[derive(Serialize)]
        struct Completion {
            reasoning_tokens: u64,
            audio_tokens: u64,
            accepted_prediction_tokens: u64,
            rejected_prediction_tokens: u64,
        }
        let Usage { input, output, cached, reasoning, .. } = self.0;
        let told = Told {
            prompt_tokens: input,
            completion_tokens: output,
            total_tokens: input.saturating_add(output),
            prompt_tokens_details: Prompt { cached_tokens: cached, audio_tokens: 0 },
            completion_tokens_details: Completion {
                reasoning_tokens: reasoning,
                audio_tokens: 0,
                accepted_prediction_tokens: 0,
                rejected_prediction_tokens: 0,
            },
        };
        told.serialize(serializer)
    }
}
