//! A chunk of a streamed answer, borrowed from its event.
use super::piece::Pieces;
use crate::provider::text::{is_void, said};
use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use std::fmt;

#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) model: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) choices: Option<Choices<'a>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    x_groq: Option<Groq<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    base_resp: Option<Verdict<'a>>,
}

/// The choice of index 0, which is the one that was asked for.
#[derive(Default)]
pub(super) struct Choices<'a> {
    pub(super) first: Option<Choice<'a>>,
    is_odd: bool,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow)]
    index: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    /// What some servers send in its place, as in a whole reply.
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
    /// Moonshot has it here.
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) annotations: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Pieces<'a>>,
}

#[derive(Deserialize)]
struct Groq<'a> {
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    /// Why it stopped early.
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// MiniMax's.
#[derive(Deserialize)]
struct Verdict<'a> {
    #[serde(borrow)]
    status_code: Option<&'a RawValue>,
}

impl<'a> Chunk<'a> {
    /// Whether it should be looked at in full, as an error may be in it.
    pub(super) fn is_suspicious(&self) -> bool {
        self.error.is_some_and(|error| !is_void(error))
            || self.choices.as_ref().is_none_or(|choices| choices.is_odd)
            || self.base_resp.as_ref().is_some_and(|verdict| verdict.status_code.is_some_and(|code| code.get() != "0"))
    }

    /// Whether Groq says that it stopped early.
    pub(super) fn is_stopped(&self) -> bool {
        self.x_groq.as_ref().and_then(|groq| groq.error).is_some_and(|error| !is_void(error))
    }

    /// From wherever it stands.
    pub(super) fn usage(&self) -> Option<&'a RawValue> {
        let of_groq = self.x_groq.as_ref().and_then(|groq| groq.usage);
        let of_choice = self.choices.as_ref().and_then(|choices| choices.first.as_ref()?.usage);
        self.usage.or(of_groq).or(of_choice)
    }
}

impl<'a> Choice<'a> {
    /// Why the model stopped, in the server's word. Some write `""` or `"null"` while it goes on.
    pub(super) fn finish_reason(&self) -> Option<Box<str>> {
        let word = said(self.finish_reason);
        (!matches!(&*word, "" | "null")).then(|| word.into())
    }

    fn is_first(&self) -> bool {
        self.index.is_none_or(|index| matches!(index.get(), "0" | "null"))
    }

    /// A reason that is none of OpenAI's may be an error.
    fn is_odd(&self) -> bool {
        let is_known = |reason: &RawValue| {
            matches!(&*said(Some(reason)), "" | "null" | "stop" | "length" | "tool_calls" | "function_call")
        };
        self.error.is_some_and(|error| !is_void(error)) || self.finish_reason.is_some_and(|reason| !is_known(reason))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Choices<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ChoicesVisitor)
    }
}

struct ChoicesVisitor;

impl<'de> Visitor<'de> for ChoicesVisitor {
    type Value = Choices<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Choices<'de>, A::Error> {
        let mut choices = Choices::default();
        while let Some(choice) = items.next_element::<Choice<'de>>()? {
            choices.is_odd |= choice.is_odd();
            if choice.is_first() && choices.first.is_none() {
                choices.first = Some(choice);
            }
        }
        Ok(choices)
    }
}
