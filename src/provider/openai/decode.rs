//! A reply as OpenAI's chat completions say it, and as those write it who do it nearly so.
use crate::{
    Error, Kind, Usage,
    chat::{Answer, FinishReason, Message, Native, Part, Reasoning, Reply, Role, Text, ToolCall},
    provider::wire::{bare, from_raw, unreadable, word},
};
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{fmt, marker::PhantomData};

/// Reads the first choice.
pub(super) fn reply(body: &[u8], provider: &str) -> Result<Reply, Error> {
    let wire: Completion<'_> = serde_json::from_slice(bare(body)).map_err(|error| unreadable(&error))?;
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

fn message(spoken: Spoken<'_>, provider: &str) -> Result<Message, serde_json::Error> {
    let mut parts =
        Vec::from_iter(spoken.reasoning_content.or(spoken.reasoning).and_then(|raw| thoughts(raw, provider)));
    if let Some(content) = spoken.content {
        parts.extend(cited(texts(content)?, spoken.annotations, provider));
    }
    parts.extend(spoken.refusal.filter(|text| !text.is_empty()).map(Part::Refusal));
    for call in spoken.tool_calls.unwrap_or_default() {
        let Called { name, arguments } = call.function;
        let arguments = arguments.map_or(Ok(String::new()), argument_text)?;
        parts.push(Part::ToolCall(ToolCall::new(call.id.unwrap_or_default(), name, arguments)));
    }
    Ok(Message::new(Role::Assistant, parts))
}

/// What an answer cites is told apart from its text, which is one: it goes to the first.
fn cited(texts: Vec<Text>, annotations: Option<&RawValue>, provider: &str) -> impl Iterator<Item = Part> {
    let some = annotations.filter(|list| from_raw::<Vec<IgnoredAny>>(list).is_ok_and(|list| !list.is_empty()));
    let mut citations = some.map(|list| Native::new(provider, list.to_owned()));
    texts.into_iter().map(move |text| Part::Text(text.with_citations(citations.take())))
}

/// Thoughts that are no text are left out.
fn thoughts(raw: &RawValue, provider: &str) -> Option<Part> {
    let text = word(Some(raw)).filter(|text| !text.is_empty())?;
    Some(Part::Reasoning(Reasoning::new(text, Native::new(provider, raw.to_owned()))))
}

/// A string, or a list of pieces as Mistral writes it; pieces that are no text are passed over.
fn texts(content: &RawValue) -> Result<Vec<Text>, serde_json::Error> {
    let Texts(texts) = match content.get().starts_with('[') {
        true => from_raw(content)?,
        false => Texts(vec![from_raw(content)?]),
    };
    Ok(texts.into_iter().filter(|text| !text.is_empty()).map(Text::from).collect())
}

/// The text of the arguments as the model wrote it; a server that sends the object itself gives it as it stands.
fn argument_text(arguments: &RawValue) -> Result<String, serde_json::Error> {
    match arguments.get().starts_with('"') {
        true => from_raw(arguments),
        false => Ok(arguments.get().to_owned()),
    }
}

/// Counts that cannot be read are left out for the same reason.
fn usage(raw: &RawValue) -> Option<Usage> {
    let counts: Counts = from_raw(raw).ok()?;
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
    #[serde(borrow)]
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
        let first = items.next_element()?;
        while first.is_some() && items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(First(first))
    }
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
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
    annotations: Option<&'a RawValue>,
    refusal: Option<String>,
    #[serde(borrow)]
    tool_calls: Option<Vec<Call<'a>>>,
}

/// The texts in a list of pieces; the pieces that have none take no room.
struct Texts(Vec<String>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(TextsVisitor)
    }
}

struct TextsVisitor;

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = Texts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of pieces")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pieces: A) -> Result<Texts, A::Error> {
        let mut texts = Vec::new();
        while let Some(Piece { text }) = pieces.next_element()? {
            texts.extend(text);
        }
        Ok(Texts(texts))
    }
}

#[derive(Deserialize)]
struct Piece {
    text: Option<String>,
}

#[derive(Deserialize)]
struct Call<'a> {
    id: Option<String>,
    #[serde(borrow)]
    function: Called<'a>,
}

#[derive(Deserialize)]
struct Called<'a> {
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Counts {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
    completion_tokens_details: Option<Details>,
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
}
