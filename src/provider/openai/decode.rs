//! A reply as OpenAI's chat completions say it, and as those write it who do it nearly so.
use crate::{
    Error, Kind, Usage,
    chat::{Answer, FinishReason, Message, Native, Part, Reasoning, Reply, Role, Text, ToolCall},
    provider::wire::{Lean, NO_TEXT, each, from_raw, has_items, has_more, lean, object, unreadable, whole, word},
};
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{fmt, marker::PhantomData, sync::Arc};

/// Reads the first choice.
pub(super) fn reply(body: &[u8], provider: &str) -> Result<Reply, Error> {
    let wire: Completion<'_> = whole(body).map_err(|error| unreadable(&error))?;
    let Some(choice) = wire.choices.and_then(|choices| choices.0) else {
        return Err(Error::provider(Kind::Server).with_message("the answer has no choices"));
    };
    let Some(spoken) = choice.message else {
        return Err(Error::provider(Kind::Server).with_message("the choice has no message"));
    };
    let message = message(spoken, provider).map_err(|error| unreadable(&error))?;
    let mut answer = Answer::new(message)
        .with_finish_reason(word(choice.finish_reason).map(FinishReason::from))
        .with_usage(wire.usage.and_then(usage));
    if let Some(model) = word(wire.model) {
        answer = answer.with_model(model);
    }
    if let Some(id) = word(wire.id) {
        answer = answer.with_id(id);
    }
    Ok(Reply::whole(answer))
}

/// Room is made for as many parts as there are: one takes several times of what it does on the wire.
fn message(spoken: Spoken<'_>, provider: &str) -> Result<Message, serde_json::Error> {
    let provider = Arc::from(provider);
    let thoughts = thoughts(&spoken, &provider);
    let refusal = spoken.refusal.filter(|text| !text.is_empty());
    let mut count = usize::from(thoughts.is_some()) + usize::from(refusal.is_some());
    each_text(spoken.content, |_| {
        count += 1;
        Ok(())
    })?;
    each_call(spoken.tool_calls, |_, _| {
        count += 1;
        Ok(())
    })?;
    let mut parts = Vec::with_capacity(count);
    parts.extend(thoughts);
    // What an answer cites is told apart from its text, which is one: it goes to the first.
    let mut citations = spoken.annotations.filter(|list| has_items(list));
    each_text(spoken.content, |text| {
        let text = Text::from(from_raw::<String>(text)?);
        let citations = citations.take().map(|list| Native::new(Arc::clone(&provider), list.to_owned()));
        parts.push(Part::Text(text.with_citations(citations)));
        Ok(())
    })?;
    parts.extend(refusal.map(Part::Refusal));
    each_call(spoken.tool_calls, |raw, Call { id, function: Lean(function) }| {
        let arguments = function.arguments.map(argument_text).transpose()?.unwrap_or_default();
        let id = id.map(from_raw::<Box<str>>).transpose()?.unwrap_or_default();
        let call = ToolCall::new(id, from_raw::<Box<str>>(function.name)?, arguments);
        // Gemini's signature stands there, and each must come back with its own call.
        let more = has_more(raw, &["id", "type", "function", "index"]);
        parts.push(Part::ToolCall(call.with_native(more.then(|| Native::new(Arc::clone(&provider), raw.to_owned())))));
        Ok(())
    })?;
    Ok(Message::new(Role::Assistant, parts))
}

/// What the model thought, in a text or, as OpenRouter has it, in a list that must come back unmodified. Thoughts that are
/// neither are left out.
fn thoughts(spoken: &Spoken<'_>, provider: &Arc<str>) -> Option<Part> {
    let mut plain = [spoken.reasoning_content, spoken.reasoning].into_iter().flatten().filter_map(|raw| {
        let text = word(Some(raw)).filter(|text| !text.is_empty())?;
        Some((text, raw))
    });
    let (text, raw) = match (plain.next(), spoken.reasoning_details.filter(|list| has_items(list))) {
        (Some((text, _)), Some(details)) => (text, details),
        (None, Some(details)) => (detailed(details), details),
        (plain, None) => plain?,
    };
    Some(Part::Reasoning(Reasoning::new(text, Native::new(Arc::clone(provider), raw.to_owned()))))
}

/// The texts of the details that show theirs; others are encrypted.
fn detailed(details: &RawValue) -> Box<str> {
    let mut texts = String::new();
    let _ = each(details, |detail| {
        if detail.get().starts_with('{')
            && let Ok(Detail { text, summary }) = object(detail)
        {
            texts.extend(word(text.or(summary)));
        }
        Ok(())
    });
    texts.into()
}

/// A string, or a list of pieces as Mistral writes it. Those that are no text are passed over, and empty texts.
fn each_text<'a>(
    content: Option<&'a RawValue>,
    mut take: impl FnMut(&'a RawValue) -> Result<(), serde_json::Error>,
) -> Result<(), serde_json::Error> {
    let mut take = |text: &'a RawValue| if text.get() == NO_TEXT { Ok(()) } else { take(text) };
    match content {
        Some(list) if list.get().starts_with('[') => each(list, |piece| {
            let Piece { text } = object(piece)?;
            text.map_or(Ok(()), &mut take)
        }),
        Some(text) => take(text),
        None => Ok(()),
    }
}

fn each_call<'a>(
    calls: Option<&'a RawValue>,
    mut take: impl FnMut(&'a RawValue, Call<'a>) -> Result<(), serde_json::Error>,
) -> Result<(), serde_json::Error> {
    calls.map_or(Ok(()), |list| each(list, |call| take(call, object(call)?)))
}

/// The text of the arguments as the model wrote it; a server that sends the object itself gives it as it stands.
fn argument_text(arguments: &RawValue) -> Result<Box<str>, serde_json::Error> {
    match arguments.get().starts_with('"') {
        true => from_raw(arguments),
        false => Ok(arguments.get().into()),
    }
}

/// Counts that cannot be read are left out for the same reason.
pub(super) fn usage(raw: &RawValue) -> Option<Usage> {
    let counts: Counts = object(raw).ok()?;
    let mut usage = Usage::new(counts.prompt_tokens?, counts.completion_tokens.unwrap_or_default());
    let prompt = counts.prompt_tokens_details.unwrap_or_default();
    usage.cached = prompt.cached_tokens.or(counts.prompt_cache_hit_tokens).unwrap_or_default();
    usage.cache_write = prompt.cache_write_tokens.unwrap_or_default();
    let reasoning = counts.completion_tokens_details.and_then(|details| details.reasoning_tokens);
    usage.reasoning = reasoning.unwrap_or_default();
    Some(usage)
}

#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "lean")]
    choices: Option<First<Choice<'a>>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

/// The first item of a list. The others, however many, are passed over.
struct First<T>(Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for First<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FirstVisitor(PhantomData))
    }
}

struct FirstVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FirstVisitor<T> {
    type Value = First<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<First<T>, A::Error> {
        let first = items.next_element()?.map(|Lean(first)| first);
        while first.is_some() && items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(First(first))
    }
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default, deserialize_with = "lean")]
    message: Option<Spoken<'a>>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Spoken<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_details: Option<&'a RawValue>,
    #[serde(borrow)]
    annotations: Option<&'a RawValue>,
    refusal: Option<String>,
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Detail<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    summary: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    function: Lean<Called<'a>>,
}

#[derive(Deserialize)]
struct Called<'a> {
    #[serde(borrow)]
    name: &'a RawValue,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Counts {
    #[serde(default, deserialize_with = "lean")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lean")]
    completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lean")]
    prompt_tokens_details: Option<Details>,
    #[serde(default, deserialize_with = "lean")]
    completion_tokens_details: Option<Details>,
    #[serde(default, deserialize_with = "lean")]
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
struct Details {
    #[serde(default, deserialize_with = "lean")]
    cached_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lean")]
    cache_write_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lean")]
    reasoning_tokens: Option<u64>,
}
