//! A block of a streamed answer while it comes.
use super::{event::Delta, filled::Filled};
use crate::{
    chat::{Item, Native, Reasoning, ToolCall},
    provider::{
        anthropic::decode::says_more,
        text::{extend, join, patched, quoted, said},
        wire::object,
    },
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{borrow::Cow, sync::Arc};

/// What has come of a block.
pub(super) struct Block {
    pub(super) index: Option<u64>,
    pub(super) stage: Stage,
    start: Box<RawValue>,
    kind: Kind,
    /// Of a text: what was not shown yet. Of others: all of it, of which so much was shown.
    text: String,
    shown: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Open,
    Whole,
    /// Another took its place before it was whole.
    Lost,
}

enum Kind {
    Text {
        has_text: bool,
        cited: String,
    },
    Thinking {
        signature: Option<Box<RawValue>>,
    },
    Redacted,
    Call {
        index: usize,
        id: Arc<str>,
        name: Arc<str>,
        is_shown: bool,
    },
    Unknown(Filled),
    /// Without a type there is nothing to tell.
    Void,
}

#[derive(Deserialize)]
struct Begun<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    caller: Option<&'a RawValue>,
    #[serde(borrow)]
    citations: Option<&'a RawValue>,
}

impl Block {
    /// A block as it begins: mostly empty. `calls` counts the calls.
    pub(super) fn begin(index: Option<u64>, start: &RawValue, calls: &mut usize) -> Result<Self, serde_json::Error> {
        let begun: Begun<'_> = object(start)?;
        let mut text = String::new();
        let kind = match &*begun.kind {
            "" => Kind::Void,
            "text" => {
                extend(&mut text, begun.text);
                let mut cited = String::new();
                begun.citations.into_iter().for_each(|list| {
                    join(&mut cited, list);
                });
                Kind::Text { has_text: false, cited }
            }
            "thinking" => {
                extend(&mut text, begun.thinking);
                Kind::Thinking { signature: None }
            }
            "redacted_thinking" => Kind::Redacted,
            "tool_use" => {
                let at = *calls;
                *calls += 1;
                Kind::Call { index: at, id: said(begun.id).into(), name: said(begun.name).into(), is_shown: false }
            }
            _ => Kind::Unknown(Filled::default()),
        };
        Ok(Self { index, stage: Stage::Open, start: start.to_owned(), kind, text, shown: 0 })
    }

    /// A text that a server did not begin.
    pub(super) fn text(index: Option<u64>) -> Self {
        let kind = Kind::Text { has_text: false, cited: String::new() };
        Self { index, stage: Stage::Open, start: RawValue::NULL.to_owned(), kind, text: String::new(), shown: 0 }
    }

    pub(super) fn add(&mut self, delta: &Delta<'_>, raw: &RawValue) {
        let text = &mut self.text;
        let more = match (&mut self.kind, &*delta.kind) {
            (Kind::Text { .. }, "text_delta") => delta.text,
            (Kind::Text { cited, .. }, "citations_delta") => {
                if let Some(citation) = delta.citation {
                    if !cited.is_empty() {
                        cited.push(',');
                    }
                    cited.push_str(citation.get());
                }
                None
            }
            (Kind::Thinking { .. }, "thinking_delta") => delta.thinking,
            (Kind::Thinking { signature }, "signature_delta") => {
                *signature = delta.signature.map(ToOwned::to_owned).or_else(|| signature.take());
                None
            }
            (Kind::Call { .. }, "input_json_delta") => delta.partial_json,
            (Kind::Unknown(filled), "input_json_delta") => {
                delta.partial_json.into_iter().for_each(|piece| filled.input(piece));
                None
            }
            (Kind::Unknown(filled), _) => {
                filled.delta(raw);
                None
            }
            _ => None,
        };
        extend(text, more);
    }

    /// Gives what can be seen before it is whole.
    pub(super) fn show(&mut self, items: &mut Vec<Item>) {
        let more = &self.text[self.shown..];
        match &mut self.kind {
            Kind::Text { has_text, .. } if !more.is_empty() => {
                items.push(Item::Text(more.into()));
                *has_text = true;
                self.text.clear();
                return;
            }
            Kind::Thinking { .. } if !more.is_empty() => items.push(Item::Reasoning(more.into())),
            Kind::Call { index, name, is_shown, .. } if !more.is_empty() || !*is_shown => {
                items.push(Item::Calling { index: *index, name: Arc::clone(name), arguments: more.into() });
                *is_shown = true;
            }
            _ => {}
        }
        self.shown = self.text.len();
    }

    /// Gives what is of use now that it is whole. There is room for so many more unknown ones.
    pub(super) fn close(self, provider: &Arc<str>, room: &mut usize) -> Option<Item> {
        let Self { start, kind, text, .. } = self;
        let native = |json| Native::new(Arc::clone(provider), json);
        match kind {
            Kind::Text { has_text, cited } => {
                let list = (has_text && !cited.is_empty()).then(|| RawValue::from_string(format!("[{cited}]")));
                list.and_then(Result::ok).map(|list| Item::Citations(native(list)))
            }
            Kind::Thinking { signature } => {
                let thinking = quoted(&text);
                let signature = signature.as_ref().map(|signature| ("signature", signature.get()));
                let fields: Vec<_> = [("thinking", &*thinking)].into_iter().chain(signature).collect();
                let json = patched(&start, &fields)?;
                Some(Item::Thought(Reasoning::new(text, native(json))))
            }
            Kind::Redacted => Some(Item::Thought(Reasoning::new("", native(start)))),
            Kind::Call { id, name, .. } => {
                let begun: Option<Begun<'_>> = object(&start).ok();
                let input = || begun.as_ref()?.input.map(RawValue::get).filter(|json| json.starts_with('{'));
                let arguments = match text.trim_ascii() {
                    "" => input().unwrap_or("{}"), // what it began with, as some servers send it
                    _ => &*text,
                };
                let more = says_more(begun.as_ref().and_then(|begun| begun.caller), &start);
                let json = more.then(|| patched(&start, &[("input", arguments)])).flatten();
                Some(Item::ToolCall(ToolCall::new(id, name, arguments).with_native(json.map(native))))
            }
            Kind::Unknown(filled) => {
                let is_kept = *room > 0;
                *room = room.saturating_sub(1);
                is_kept.then(|| Item::Native(native(filled.into(&start).unwrap_or(start))))
            }
            Kind::Void => None,
        }
    }
}
