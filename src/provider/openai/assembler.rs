//! Puts the chunks of a streamed answer together.
mod calls;
mod chunk;
mod details;
mod piece;

use self::{
    calls::Calls,
    chunk::{Choice, Chunk, Delta},
    details::Details,
    piece::Pieces,
};
use super::decode;
use crate::{
    chat::{FinishReason, Item, Native, Reasoning},
    classify::Classifier,
    provider::{
        Assemble, Stage,
        text::{append, extend, join, quoted, said},
        wire::{each, object},
    },
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{fmt, sync::Arc};

/// Puts a streamed answer together.
pub struct Assembler {
    provider: Arc<str>,
    classifier: Classifier,
    id: Option<Arc<str>>,
    model: Option<Arc<str>>,
    is_started: bool,
    calls: Calls,
    /// What was thought since the last thought that was given.
    thoughts: String,
    details: Details,
    /// What is cited and was not given yet.
    cited: String,
    /// Whether the answer so far ends with a text, of which that would be said.
    ends_with_text: bool,
    has_content: bool,
    is_finished: bool,
    /// Used again for each event.
    text: String,
    aside: String,
}

impl Assembler {
    pub(super) fn new(provider: &str) -> Self {
        Self {
            provider: provider.into(),
            classifier: Classifier::new(),
            id: None,
            model: None,
            is_started: false,
            calls: Calls::default(),
            thoughts: String::new(),
            details: Details::default(),
            cited: String::new(),
            ends_with_text: false,
            has_content: false,
            is_finished: false,
            text: String::new(),
            aside: String::new(),
        }
    }
}

impl Assemble for Assembler {
    fn event(&mut self, name: Option<&str>, data: &[u8], items: &mut Vec<Item>) -> Stage {
        let first = items.len();
        let data = data.trim_ascii();
        let stage = match data {
            // Some send it behind an error too, or where they broke off.
            b"[DONE]" if self.is_finished => Stage::Over,
            b"[DONE]" => Stage::More,
            data => self.chunk(name, data, items),
        };
        if items.len() == first && matches!(stage, Stage::More | Stage::Finished) {
            items.push(Item::Alive);
        }
        stage
    }
}

impl Assembler {
    fn chunk(&mut self, name: Option<&str>, data: &[u8], items: &mut Vec<Item>) -> Stage {
        let is_failure = || self.classifier.frame(name, data).is_some();
        // serde would take a list of the fields for it too.
        let read = data.starts_with(b"{").then(|| serde_json::from_slice::<Chunk<'_>>(data).ok()).flatten();
        let Some(chunk) = read else {
            return if is_failure() { Stage::Failed } else { Stage::Malformed };
        };
        let is_suspicious = name == Some("error") || chunk.is_suspicious();
        if chunk.is_stopped() || is_suspicious && is_failure() {
            return Stage::Failed;
        }
        let usage = chunk.usage().and_then(decode::usage);
        let first = items.len();
        let understood = match &chunk.choices {
            Some(choices) => choices.first.as_ref().map_or(Ok(()), |choice| self.choice(choice, items)),
            None if usage.is_some() => Ok(()),
            None => Err(Stage::Malformed),
        };
        if let Err(stage) = understood {
            return stage;
        }
        self.start(&chunk, first, items);
        items.extend(usage.map(Item::Usage));
        match usage {
            _ if !self.is_finished => Stage::More,
            // Zeros stand where the counts are still to come.
            Some(usage) if usage.input + usage.output > 0 => Stage::Over,
            _ => Stage::Finished,
        }
    }

    /// Says who answers, once: when both are known, or something else must be said.
    fn start(&mut self, chunk: &Chunk<'_>, first: usize, items: &mut Vec<Item>) {
        if self.is_started {
            return;
        }
        for (known, told) in [(&mut self.id, chunk.id), (&mut self.model, chunk.model)] {
            if known.is_none() {
                *known = Some(said(told)).filter(|told| !told.is_empty()).map(Arc::from);
            }
        }
        let are_known = (self.id.is_some(), self.model.is_some());
        self.is_started = are_known == (true, true) || are_known != (false, false) && items.len() > first;
        if self.is_started {
            items.insert(first, Item::Started { id: self.id.take(), model: self.model.take() });
        }
    }

    fn choice(&mut self, choice: &Choice<'_>, items: &mut Vec<Item>) -> Result<(), Stage> {
        match (&choice.delta, choice.message) {
            (Some(delta), _) => self.delta(delta, items)?,
            (None, Some(message)) if !self.has_content => {
                self.delta(&object(message).map_err(|_| Stage::Malformed)?, items)?;
            }
            _ => {}
        }
        let reason = choice.finish_reason().filter(|_| !self.is_finished);
        // What comes behind the finish reason all the same is given as it comes.
        if reason.is_some() || self.is_finished {
            self.close_text(items);
            self.close_thoughts(items);
            self.calls.finish(&self.provider, items);
        }
        if let Some(reason) = reason {
            items.push(Item::Finish(FinishReason::from(reason)));
            self.is_finished = true;
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Delta<'_>, items: &mut Vec<Item>) -> Result<(), Stage> {
        self.read_content(delta.content).map_err(|_| Stage::Malformed)?;
        if !self.aside.is_empty() {
            items.push(Item::Reasoning(self.aside.as_str().into()));
        }
        self.think(delta, items);
        if !self.text.is_empty() {
            self.close_thoughts(items);
            items.push(Item::Text(self.text.as_str().into()));
            (self.ends_with_text, self.has_content) = (true, true);
        }
        self.text.clear();
        if delta.refusal.is_some_and(|refusal| append(&mut self.text, refusal)) && !self.text.is_empty() {
            self.close_text(items);
            self.close_thoughts(items);
            items.push(Item::Refusal(self.text.as_str().into()));
            (self.ends_with_text, self.has_content) = (false, true);
        }
        if let Some(list) = delta.annotations {
            join(&mut self.cited, list);
        }
        delta.tool_calls.as_ref().map_or(Ok(()), |pieces| self.call(pieces, items))
    }

    fn call(&mut self, pieces: &Pieces<'_>, items: &mut Vec<Item>) -> Result<(), Stage> {
        if pieces.first.is_some() {
            self.close_text(items);
            self.close_thoughts(items);
            (self.ends_with_text, self.has_content) = (false, true);
        }
        self.calls.begin();
        let is_room = pieces.first.iter().chain(&pieces.more).all(|piece| self.calls.add(piece, items));
        // An answer without some of its calls would be a lie.
        if is_room && !pieces.are_too_many { Ok(()) } else { Err(Stage::Failed) }
    }

    /// Reads a text, or a list of pieces as Mistral writes it, whose thoughts are shown and do not go back.
    fn read_content(&mut self, content: Option<&RawValue>) -> Result<(), serde_json::Error> {
        self.text.clear();
        self.aside.clear();
        match content {
            None => Ok(()),
            Some(raw) if append(&mut self.text, raw) => Ok(()),
            Some(list) => each(list, |raw| {
                let piece: Piece<'_> = object(raw)?;
                extend(&mut self.text, piece.text);
                match piece.thinking {
                    Some(list) if list.get().starts_with('[') => each(list, |raw| {
                        extend(&mut self.aside, object::<Piece<'_>>(raw)?.text);
                        Ok(())
                    }),
                    _ => Ok(()),
                }
            }),
        }
    }

    fn think(&mut self, delta: &Delta<'_>, items: &mut Vec<Item>) {
        let before = self.thoughts.len();
        for text in [delta.reasoning_content, delta.reasoning].into_iter().flatten() {
            // Some send the same under both names.
            if self.thoughts.len() == before {
                append(&mut self.thoughts, text);
            }
        }
        if let Some(list) = delta.reasoning_details.filter(|list| list.get().starts_with('[')) {
            self.aside.clear();
            self.details.add(list, &mut self.aside);
            if self.thoughts.len() == before {
                self.thoughts.push_str(&self.aside);
            }
        }
        let more = &self.thoughts[before..];
        if !more.is_empty() {
            items.push(Item::Reasoning(more.into()));
            self.has_content = true;
        }
    }

    /// Gives what was thought, in the form that goes back.
    fn close_thoughts(&mut self, items: &mut Vec<Item>) {
        if self.thoughts.is_empty() && self.details.is_empty() {
            return;
        }
        let plain = || RawValue::from_string(quoted(&self.thoughts)).ok();
        if let Some(json) = self.details.take().or_else(plain) {
            let native = Native::new(Arc::clone(&self.provider), json);
            let thoughts = Reasoning::new(self.thoughts.as_str(), native);
            self.close_text(items);
            items.push(Item::Thought(thoughts));
            self.ends_with_text = false;
        }
        self.thoughts.clear();
    }

    /// Says what the text cites that the answer ends with.
    fn close_text(&mut self, items: &mut Vec<Item>) {
        if self.cited.is_empty() || !self.ends_with_text {
            return;
        }
        if let Ok(list) = RawValue::from_string(format!("[{}]", self.cited)) {
            items.push(Item::Citations(Native::new(Arc::clone(&self.provider), list)));
        }
        self.cited.clear();
    }
}

/// Of a list of content.
#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
}

impl fmt::Debug for Assembler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assembler").field("provider", &self.provider).finish_non_exhaustive()
    }
}
