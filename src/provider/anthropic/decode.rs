//! A reply as Anthropic's messages say it.
use crate::{
    Error, Kind, Usage,
    chat::{Answer, FinishReason, Message, Native, Part, Reasoning, Reply, Role, Text, ToolCall},
    provider::wire::{bare, from_raw, unreadable, word},
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error as _, IgnoredAny, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt, sync::Arc};

/// Blocks that seawall does not know are kept up to this number, since they cost more memory here than on the wire.
const UNKNOWN: usize = 1024;

pub(super) fn reply(body: &[u8], provider: &str) -> Result<Reply, Error> {
    let wire: Completion<'_> = serde_json::from_slice(bare(body)).map_err(|error| unreadable(&error))?;
    let Some(content) = wire.content else {
        return Err(Error::provider(Kind::Server).with_message("the answer has no content"));
    };
    let mut json = serde_json::Deserializer::from_str(content.get());
    let parts = Blocks { provider: provider.into(), room: UNKNOWN }
        .deserialize(&mut json)
        .map_err(|error| unreadable(&error))?;
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

fn finish_reason(word: Box<str>) -> FinishReason {
    match &*word {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "tool_use" => FinishReason::ToolCalls,
        "refusal" => FinishReason::ContentFilter,
        _ => FinishReason::Other(word), // `pause_turn` among them: send the turn back to have it continued
    }
}

/// Anthropic counts what came from a cache, and what went to it, apart from the rest of the prompt.
fn usage(raw: &RawValue) -> Option<Usage> {
    let counts: Counts = from_raw(raw).ok()?;
    let (cached, written) =
        (counts.cache_read_input_tokens.unwrap_or_default(), counts.cache_creation_input_tokens.unwrap_or_default());
    let input = counts.input_tokens?.saturating_add(cached).saturating_add(written);
    let mut usage = Usage::new(input, counts.output_tokens.unwrap_or_default());
    (usage.cached, usage.cache_write) = (cached, written);
    usage.reasoning = counts.output_tokens_details.and_then(|details| details.thinking_tokens).unwrap_or_default();
    Some(usage)
}

/// Reads the blocks one by one.
struct Blocks {
    provider: Arc<str>,
    /// For how many unknown ones more.
    room: usize,
}

impl<'de> DeserializeSeed<'de> for Blocks {
    type Value = Vec<Part>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Part>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Blocks {
    type Value = Vec<Part>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of blocks")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut blocks: A) -> Result<Vec<Part>, A::Error> {
        let mut parts = Vec::new();
        while let Some(raw) = blocks.next_element::<&RawValue>()? {
            parts.extend(self.part(raw).map_err(|_| A::Error::custom("a block that is none"))?);
        }
        Ok(parts)
    }
}

impl Blocks {
    fn part(&mut self, raw: &RawValue) -> Result<Option<Part>, serde_json::Error> {
        let provider = &self.provider;
        let native = |json: &RawValue| Native::new(Arc::clone(provider), json.to_owned());
        let Kindred { kind } = serde_json::from_str(raw.get())?;
        Ok(match &*kind {
            "" => None,
            "text" => {
                let Said { text, citations } = serde_json::from_str(raw.get())?;
                let citations = citations.filter(|list| has_items(list)).map(native);
                (!text.is_empty()).then(|| Part::Text(Text::from(text).with_citations(citations)))
            }
            "thinking" => {
                let Thought { thinking } = serde_json::from_str(raw.get())?;
                Some(Part::Reasoning(Reasoning::new(thinking, native(raw))))
            }
            "redacted_thinking" => Some(Part::Reasoning(Reasoning::new("", native(raw)))),
            "tool_use" => {
                let Called { id, name, input } = serde_json::from_str(raw.get())?;
                Some(Part::ToolCall(ToolCall::new(id, name, input.get())))
            }
            _ => {
                let kept = (self.room > 0).then(|| Part::Native(native(raw)));
                self.room = self.room.saturating_sub(1);
                kept
            }
        })
    }
}

fn has_items(list: &RawValue) -> bool {
    serde_json::from_str::<Vec<IgnoredAny>>(list.get()).is_ok_and(|items| !items.is_empty())
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
    text: String,
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
}

#[derive(Deserialize)]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    thinking_tokens: Option<u64>,
}
