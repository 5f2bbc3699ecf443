//! A turn as OpenAI's chat completions say it: each of its messages a piece of the body.
use super::{
    content::{Content, Results, asked, said, shown},
    form::{Form, Thoughts},
};
use crate::{
    Change, Invalid, Mend,
    chat::{Message, Part},
    provider::{
        Fit,
        joined::{json, piece},
        turns::{Answered, Called, Side, Spoken, Turn},
        wire::has_field,
    },
};
use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use std::{
    borrow::Cow,
    sync::{Arc, LazyLock},
};

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Said<'a> {
    User {
        content: Content<'a>,
    },
    Assistant {
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Content<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<Cow<'a, RawValue>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_details: Option<Cow<'a, RawValue>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        refusal: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Results<'a>,
    },
}

/// Adds a turn's messages. Each call's results are a message of their own here, and all of them stand right behind the calls.
pub(super) fn add(turn: &Turn<'_>, form: &Arc<Form>, fit: &mut Fit, pieces: &mut Vec<Bytes>) -> Result<(), Invalid> {
    match &turn.side {
        Side::Assistant(all) => {
            // Results stand right behind their calls, so that a turn which goes on behind its calls is said as one.
            let goes_on = all.iter().rev().skip(1).any(|spoken| !spoken.calls.is_empty());
            let together = if goes_on { all.len() } else { 1 };
            for (at, spoken) in all.chunks(together).enumerate() {
                let kept = if let [one] = spoken { one.kept() } else { None };
                pieces.push(piece(kept, form, || {
                    spoken.iter().for_each(|spoken| foreign(spoken.message, form, fit));
                    json(&assistant(spoken, turn.first + at, form, fit))
                })?);
            }
        }
        Side::User { results, messages } => {
            for answered in results {
                pieces.push(piece(answered.kept(), form, || json(&tool(answered)))?);
            }
            let shown = shown(results);
            let is_followed = shown.is_some() || !messages.is_empty();
            if !form.has_user_after_tool && !results.is_empty() && is_followed {
                fit.note(Change::Mended { message: turn.first, how: Mend::Filled });
                pieces.push(json(&bridge())?.into());
            }
            if let Some(content) = shown {
                pieces.push(json(&Said::User { content })?.into());
            }
            for message in messages {
                pieces.push(piece(Some(message.kept()), form, || json(&Said::User { content: asked(message) }))?);
            }
        }
    }
    Ok(())
}

/// What a turn says of which nothing is left: many servers refuse an empty one.
const NOTHING: &str = "(no content)";

/// What the model says between its tools and the user, where it has to say something.
fn bridge() -> Said<'static> {
    let content = Some(Content::Text(NOTHING.into()));
    Said::Assistant { content, reasoning_content: None, reasoning_details: None, refusal: None, tool_calls: Vec::new() }
}

/// Counts what is not for this provider. Its own thoughts that stay here are no loss.
fn foreign(message: &Message, form: &Form, fit: &mut Fit) {
    let is_foreign = |part: &&Part| match part {
        Part::Reasoning(reasoning) => reasoning.native().dialect() != form.provider,
        Part::Native(native) => native.dialect() != form.provider,
        _ => false,
    };
    let parts = message.parts().iter().filter(is_foreign).count();
    if parts > 0 {
        fit.note(Change::Foreign { parts });
    }
}

fn tool<'a>(answered: &'a Answered<'a>) -> Said<'a> {
    Said::Tool { tool_call_id: &answered.id, content: Results(&answered.results) }
}

/// `""`, as JSON.
static NO_THOUGHTS: LazyLock<Box<RawValue>> =
    LazyLock::new(|| RawValue::from_string("\"\"".to_owned()).expect("two quotes are JSON"));

/// A turn without a word stays one: left out, the results that follow would point at nothing.
fn assistant<'a>(turns: &'a [Spoken<'a>], first: usize, form: &'a Form, fit: &mut Fit) -> Said<'a> {
    let tool_calls: Vec<_> = turns.iter().flat_map(|turn| &turn.calls).map(|it| call(it, &form.provider)).collect();
    let refusal = turns.iter().find_map(|turn| turn.message.refusal()).filter(|_| form.has_refusal);
    let content = match said(turns, form.has_refusal) {
        text if !text.is_empty() || refusal.is_some() => Some(Content::Text(text)),
        _ if !tool_calls.is_empty() => form.no_text.content(),
        _ => {
            fit.note(Change::Mended { message: first, how: Mend::Filled });
            Some(Content::Text(NOTHING.into()))
        }
    };
    // A provider that speaks in several ways has one name: what it wrote tells in which.
    let own = |first: char| {
        let thoughts = turns.iter().flat_map(|turn| turn.message.reasoning());
        let json = thoughts.filter_map(|it| it.native().json_for(&form.provider));
        json.filter(move |json| json.get().starts_with(first))
    };
    let (reasoning_content, reasoning_details) = match form.thoughts {
        Thoughts::WithCalls if !tool_calls.is_empty() => {
            (joined(own('"'), "").or(Some(Cow::Borrowed(&**NO_THOUGHTS))), None)
        }
        Thoughts::Details => (None, joined(own('['), ",")),
        Thoughts::Never | Thoughts::WithCalls => (None, None),
    };
    Said::Assistant { content, reasoning_content, reasoning_details, refusal, tool_calls }
}

/// As one: a stream that thinks between its texts gives its thoughts apart, and there is one field for all of them. They are
/// all strings, or all lists.
fn joined<'a>(mut all: impl Iterator<Item = &'a RawValue>, separator: &str) -> Option<Cow<'a, RawValue>> {
    let first = all.next()?;
    let rest: String = all.flat_map(|json| [separator, &json.get()[1..json.get().len() - 1]]).collect();
    if rest.is_empty() {
        return Some(Cow::Borrowed(first));
    }
    let (front, close) = first.get().split_at(first.get().len() - 1);
    Some(RawValue::from_string([front, &rest, close].concat()).map_or(Cow::Borrowed(first), Cow::Owned))
}

#[derive(Serialize)]
#[serde(untagged)]
enum Call<'a> {
    /// As it was received.
    Native(&'a RawValue),
    Own(Own<'a>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct Own<'a> {
    id: &'a str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// A provider that speaks in several ways has one name: what it wrote tells in which.
fn call<'a>(called: &'a Called<'a>, provider: &str) -> Call<'a> {
    let native = called.native(provider).filter(|json| has_field(json, "function"));
    let Called { call, id, name } = called;
    native.map_or_else(|| Call::Own(Own { id, function: Function { name, arguments: call.arguments() } }), Call::Native)
}
