//! A reply as Anthropic's messages say it.
use crate::{
    Error, Kind, Usage,
    chat::{Answer, FinishReason, Message, Native, Part, Reasoning, Reply, Role, Text, ToolCall},
    provider::wire::{NO_TEXT, each, from_raw, has_items, has_more, lean, object, unreadable, whole, word},
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{borrow::Cow, sync::Arc};

/// Blocks that seawall does not know are kept up to this number, since they cost more memory here than on the wire.
pub(super) const UNKNOWN: usize = 1024;

pub(super) fn reply(body: &[u8], provider: &str) -> Result<Reply, Error> {
    let wire: Completion<'_> = whole(body).map_err(|error| unreadable(&error))?;
    let Some(content) = wire.content else {
        return Err(Error::provider(Kind::Server).with_message("the answer has no content"));
    };
    let parts = parts(content, provider).map_err(|error| unreadable(&error))?;
    let mut answer = Answer::new(Message::new(Role::Assistant, parts))
        .with_finish_reason(word(wire.stop_reason).map(finish_reason))
        .with_usage(wire.usage.and_then(usage));
    if let Some(model) = word(wire.model) {
        answer = answer.with_model(model);
    }
    if let Some(id) = word(wire.id) {
        answer = answer.with_id(id);
    }
    Ok(Reply::whole(answer))
}

pub(super) fn finish_reason(word: Box<str>) -> FinishReason {
    match &*word {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "tool_use" => FinishReason::ToolCalls,
        "refusal" => FinishReason::ContentFilter,
        _ => FinishReason::Other(word), // `pause_turn` among them: send the turn back to have it continued
    }
}

fn usage(raw: &RawValue) -> Option<Usage> {
    object::<Counts>(raw).ok()?.usage()
}

impl Counts {
    /// Anthropic counts what came from a cache, and what went to it, apart from the rest of the prompt.
    pub(super) fn usage(&self) -> Option<Usage> {
        let (cached, written) =
            (self.cache_read_input_tokens.unwrap_or_default(), self.cache_creation_input_tokens.unwrap_or_default());
        let input = self.input_tokens?.saturating_add(cached).saturating_add(written);
        let mut usage = Usage::new(input, self.output_tokens.unwrap_or_default());
        (usage.cached, usage.cache_write) = (cached, written);
        let details = self.output_tokens_details.as_ref();
        usage.reasoning = details.and_then(|details| details.thinking_tokens).unwrap_or_default();
        Some(usage)
    }

    /// Adds what a stream tells later: each count is of all that came until then.
    pub(super) fn merge(&mut self, later: Self) {
        self.input_tokens = self.input_tokens.max(later.input_tokens);
        self.output_tokens = self.output_tokens.max(later.output_tokens);
        self.cache_read_input_tokens = self.cache_read_input_tokens.max(later.cache_read_input_tokens);
        self.cache_creation_input_tokens = self.cache_creation_input_tokens.max(later.cache_creation_input_tokens);
        self.output_tokens_details = later.output_tokens_details.or_else(|| self.output_tokens_details.take());
    }
}

/// Room is made for as many as there are: one takes several times of what it does on the wire.
fn parts(content: &RawValue, provider: &str) -> Result<Vec<Part>, serde_json::Error> {
    let provider = Arc::from(provider);
    let (mut count, mut room) = (0, UNKNOWN);
    each(content, |raw| {
        count += usize::from(kept(raw, &mut room)?.is_some());
        Ok(())
    })?;
    let mut parts = Vec::with_capacity(count);
    room = UNKNOWN;
    each(content, |raw| {
        if let Some(kind) = kept(raw, &mut room)? {
            parts.push(part(&kind, raw, &provider)?);
        }
        Ok(())
    })?;
    Ok(parts)
}

/// The kind of a block that becomes a part. There is room for so many more unknown ones.
fn kept<'a>(raw: &'a RawValue, room: &mut usize) -> Result<Option<Cow<'a, str>>, serde_json::Error> {
    let Kindred { kind } = object(raw)?;
    let kept = match &*kind {
        "" => false,
        "text" => object::<Said<'_>>(raw)?.text.get() != NO_TEXT,
        "thinking" | "redacted_thinking" | "tool_use" => true,
        _ => {
            let kept = *room > 0;
            *room = room.saturating_sub(1);
            kept
        }
    };
    Ok(kept.then_some(kind))
}

fn part(kind: &str, raw: &RawValue, provider: &Arc<str>) -> Result<Part, serde_json::Error> {
    let native = |json: &RawValue| Native::new(Arc::clone(provider), json.to_owned());
    Ok(match kind {
        "text" => {
            let Said { text, citations } = object(raw)?;
            let citations = citations.filter(|list| has_items(list)).map(native);
            Part::Text(Text::from(from_raw::<String>(text)?).with_citations(citations))
        }
        "thinking" => {
            let Thought { thinking } = object(raw)?;
            Part::Reasoning(Reasoning::new(thinking, native(raw)))
        }
        "redacted_thinking" => Part::Reasoning(Reasoning::new("", native(raw))),
        "tool_use" => {
            let Called { id, name, input, caller } = object(raw)?;
            let more = says_more(caller, raw).then(|| native(raw));
            Part::ToolCall(ToolCall::new(id, name, input.get()).with_native(more))
        }
        _ => Part::Native(native(raw)),
    })
}

/// Whether a call has more to it than seawall knows. Mostly the model itself is its caller.
pub(super) fn says_more(caller: Option<&RawValue>, call: &RawValue) -> bool {
    let is_own = caller.is_none_or(|caller| object::<Kindred<'_>>(caller).is_ok_and(|by| by.kind == "direct"));
    !is_own || has_more(call, &["type", "id", "name", "input", "caller"])
}

#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    stop_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Kindred<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
    #[serde(borrow)]
    citations: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Thought {
    #[serde(default)]
    thinking: Box<str>,
}

#[derive(Deserialize)]
struct Called<'a> {
    id: Box<str>,
    name: Box<str>,
    #[serde(borrow)]
    input: &'a RawValue,
    /// Who calls, where it is not the model itself.
    #[serde(borrow)]
    caller: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
pub(super) struct Counts {
    #[serde(default, deserialize_with = "lean")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lean")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lean")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lean")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lean")]
    output_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default, deserialize_with = "lean")]
    thinking_tokens: Option<u64>,
}
