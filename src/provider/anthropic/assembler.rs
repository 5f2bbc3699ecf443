//! Puts the events of a streamed answer together.
mod block;
mod event;
mod filled;

use self::{
    block::Block,
    event::{Delta, Event, Start, Stop},
};
use super::decode::{Counts, UNKNOWN, finish_reason};
use crate::{
    chat::{FinishReason, Item},
    classify::Classifier,
    provider::{
        Assemble, Stage,
        text::{is_void, said},
        wire::object,
    },
};
use serde_json::value::RawValue;
use std::{collections::VecDeque, fmt, sync::Arc};

/// No answer has so many blocks under way. Each takes more room here than on the wire.
const MOST_OPEN: usize = 1024;

/// Puts a streamed answer together.
pub struct Assembler {
    provider: Arc<str>,
    classifier: Classifier,
    /// In the order in which they began. Only the first is shown: so every block is given in its place, also where several are
    /// under way at a time.
    blocks: VecDeque<Block>,
    calls: usize,
    /// For so many unknown blocks more.
    room: usize,
    counts: Counts,
    /// Why the model stopped, until that is given behind the last block.
    reason: Option<FinishReason>,
    is_finished: bool,
}

impl Assembler {
    pub(super) fn new(provider: &str) -> Self {
        Self {
            provider: provider.into(),
            classifier: Classifier::new(),
            blocks: VecDeque::new(),
            calls: 0,
            room: UNKNOWN,
            counts: Counts::default(),
            reason: None,
            is_finished: false,
        }
    }
}

impl Assemble for Assembler {
    fn event(&mut self, name: Option<&str>, data: &[u8], items: &mut Vec<Item>) -> Stage {
        let first = items.len();
        let stage = self.read(name, data.trim_ascii(), items);
        if items.len() == first && stage == Stage::More {
            items.push(Item::Alive);
        }
        stage
    }
}

impl Assembler {
    fn read(&mut self, name: Option<&str>, data: &[u8], items: &mut Vec<Item>) -> Stage {
        // Some proxies send it, as they do for OpenAI's form.
        if data == b"[DONE]" {
            return Stage::More;
        }
        let is_failure = || self.classifier.frame(name, data).is_some();
        // serde would take a list of the fields for it too.
        let read = data.starts_with(b"{").then(|| serde_json::from_slice::<Event<'_>>(data).ok()).flatten();
        let Some(event) = read else {
            return if is_failure() { Stage::Failed } else { Stage::Malformed };
        };
        let kind = if event.kind.is_empty() { name.unwrap_or_default() } else { &*event.kind };
        let is_known = matches!(
            kind,
            "message_start"
                | "content_block_start"
                | "content_block_delta"
                | "content_block_stop"
                | "message_delta"
                | "message_stop"
                | "ping"
        );
        let is_suspicious = !is_known || name == Some("error") || event.error.is_some_and(|error| !is_void(error));
        if is_suspicious && is_failure() {
            return Stage::Failed;
        }
        let understood = match kind {
            "message_start" => event.message.map_or(Err(Stage::Malformed), |message| self.start(message, items)),
            "content_block_start" => self.begin_block(&event),
            "content_block_delta" => self.add(&event),
            "content_block_stop" => self.end_block(&event),
            "message_delta" => self.stop(&event, items),
            "" => Err(Stage::Malformed),
            _ => Ok(()),
        };
        if let Err(stage) = understood {
            return stage;
        }
        let is_over = kind == "message_stop";
        self.give(is_over, items);
        if is_over { Stage::Over } else { Stage::More }
    }

    fn start(&mut self, message: &RawValue, items: &mut Vec<Item>) -> Result<(), Stage> {
        let Start { id, model, usage } = object(message).map_err(|_| Stage::Malformed)?;
        let told = |raw| Some(said(raw)).filter(|text| !text.is_empty()).map(Arc::from);
        let (id, model) = (told(id), told(model));
        if id.is_some() || model.is_some() {
            items.push(Item::Started { id, model });
        }
        self.count(usage, items);
        Ok(())
    }

    fn count(&mut self, usage: Option<&RawValue>, items: &mut Vec<Item>) {
        if let Some(later) = usage.and_then(|raw| object::<Counts>(raw).ok()) {
            self.counts.merge(later);
            items.extend(self.counts.usage().map(Item::Usage));
        }
    }

    fn begin_block(&mut self, event: &Event<'_>) -> Result<(), Stage> {
        let start = event.content_block.ok_or(Stage::Malformed)?;
        let index = index(event);
        let block = Block::begin(index, start, &mut self.calls).map_err(|_| Stage::Malformed)?;
        // Some servers forget to end a block and begin the next under its number.
        if index.is_some()
            && let Some(block) = self.find(index)
        {
            block.stage = block::Stage::Lost;
        }
        self.push(block)
    }

    fn push(&mut self, block: Block) -> Result<(), Stage> {
        // An answer without some of its blocks would be a lie.
        if self.blocks.len() == MOST_OPEN {
            return Err(Stage::Failed);
        }
        self.blocks.push_back(block);
        Ok(())
    }

    fn add(&mut self, event: &Event<'_>) -> Result<(), Stage> {
        let raw = event.delta.ok_or(Stage::Malformed)?;
        let delta: Delta<'_> = object(raw).map_err(|_| Stage::Malformed)?;
        let index = index(event);
        if let Some(block) = self.find(index) {
            block.add(&delta, raw);
        } else if delta.kind == "text_delta" {
            let mut block = Block::text(index);
            block.add(&delta, raw);
            self.push(block)?;
        }
        Ok(())
    }

    fn end_block(&mut self, event: &Event<'_>) -> Result<(), Stage> {
        if let Some(block) = self.find(index(event)) {
            block.stage = block::Stage::Whole;
        }
        Ok(())
    }

    /// The open block of this number; without one the last.
    fn find(&mut self, index: Option<u64>) -> Option<&mut Block> {
        let is_it = |block: &Block| block.stage == block::Stage::Open && (index.is_none() || block.index == index);
        self.blocks.iter_mut().rev().find(|block| is_it(block))
    }

    fn stop(&mut self, event: &Event<'_>, items: &mut Vec<Item>) -> Result<(), Stage> {
        let stop = event.delta.map(object::<Stop<'_>>).transpose().map_err(|_| Stage::Malformed)?;
        let reason = said(stop.and_then(|stop| stop.stop_reason));
        if !reason.is_empty() {
            self.reason = Some(finish_reason(reason.into()));
        }
        self.count(event.usage, items);
        Ok(())
    }

    /// Gives what is in its place. At the end that is all.
    fn give(&mut self, is_over: bool, items: &mut Vec<Item>) {
        while let Some(first) = self.blocks.front_mut() {
            first.show(items);
            if first.stage == block::Stage::Open && !is_over {
                break;
            }
            if let Some(block) = self.blocks.pop_front().filter(|block| block.stage == block::Stage::Whole) {
                items.extend(block.close(&self.provider, &mut self.room));
            }
        }
        if self.blocks.is_empty()
            && !self.is_finished
            && let Some(reason) = self.reason.take()
        {
            items.push(Item::Finish(reason));
            self.is_finished = true;
        }
    }
}

fn index(event: &Event<'_>) -> Option<u64> {
    event.index?.get().parse().ok()
}

impl fmt::Debug for Assembler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assembler").field("provider", &self.provider).finish_non_exhaustive()
    }
}
