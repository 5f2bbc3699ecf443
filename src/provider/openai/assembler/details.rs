//! OpenRouter's details of thoughts, which come in fragments and must go back as the blocks that they were.
use crate::provider::{
    text::{extend, join, patched, quoted, said},
    wire::{each, object},
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::mem;

/// The blocks so far. A signature is for the whole text of its block: in fragments it would be refused.
#[derive(Default)]
pub(super) struct Details {
    whole: String,
    last: Option<Block>,
}

/// A block to which more may be added.
struct Block {
    first: Box<RawValue>,
    kind: Kind,
    index: Option<Box<RawValue>>,
    text: String,
    signature: Option<Box<RawValue>>,
    is_joined: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Summary,
}

#[derive(Deserialize)]
struct Fragment<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    summary: Option<&'a RawValue>,
    #[serde(borrow)]
    signature: Option<&'a RawValue>,
    #[serde(borrow)]
    index: Option<&'a RawValue>,
}

impl Details {
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_none() && self.whole.is_empty()
    }

    /// Adds a list of fragments, and their texts to `shown`.
    pub(super) fn add(&mut self, list: &RawValue, shown: &mut String) {
        let _ = each(list, |raw| {
            match object::<Fragment<'_>>(raw) {
                Ok(fragment) => self.add_one(raw, &fragment, shown),
                Err(_) => self.add_whole(raw.get()),
            }
            Ok(())
        });
    }

    fn add_one(&mut self, raw: &RawValue, fragment: &Fragment<'_>, shown: &mut String) {
        let (kind, text) = match &*said(fragment.kind) {
            "reasoning.text" => (Kind::Text, fragment.text),
            "reasoning.summary" => (Kind::Summary, fragment.summary),
            _ => return self.add_whole(raw.get()),
        };
        let before = shown.len();
        extend(shown, text);
        let text = &shown[before..];
        match &mut self.last {
            Some(block) if block.goes_on(kind, fragment, text) => {
                block.text.push_str(text);
                block.signature = fragment.signature.map(ToOwned::to_owned).or(block.signature.take());
                block.is_joined = true;
            }
            _ => {
                self.close();
                self.last = Some(Block {
                    first: raw.to_owned(),
                    kind,
                    index: fragment.index.map(ToOwned::to_owned),
                    text: text.to_owned(),
                    signature: fragment.signature.map(ToOwned::to_owned),
                    is_joined: false,
                });
            }
        }
    }

    fn add_whole(&mut self, json: &str) {
        self.close();
        if !self.whole.is_empty() {
            self.whole.push(',');
        }
        self.whole.push_str(json);
    }

    fn close(&mut self) {
        if let Some(block) = self.last.take() {
            self.add_whole(block.json().get());
        }
    }

    /// The list of all blocks, of which nothing stays here.
    pub(super) fn take(&mut self) -> Option<Box<RawValue>> {
        self.close();
        let list = format!("[{}]", mem::take(&mut self.whole));
        RawValue::from_string(list).ok().filter(|list| join(&mut String::new(), list))
    }
}

impl Block {
    /// Whether a fragment is more of this block. OpenRouter numbers fragments of different blocks alike: the kind tells, and
    /// behind a signature there is no more text.
    fn goes_on(&self, kind: Kind, fragment: &Fragment<'_>, text: &str) -> bool {
        let index = self.index.as_deref().zip(fragment.index);
        self.kind == kind
            && index.is_none_or(|(one, other)| one.get() == other.get())
            && (self.signature.is_none() || text.is_empty())
    }

    fn json(self) -> Box<RawValue> {
        if !self.is_joined {
            return self.first;
        }
        let text = quoted(&self.text);
        let name = if self.kind == Kind::Text { "text" } else { "summary" };
        let signature = self.signature.as_ref().map(|signature| ("signature", signature.get()));
        let fields: Vec<_> = [(name, &*text)].into_iter().chain(signature).collect();
        patched(&self.first, &fields).unwrap_or(self.first)
    }
}
