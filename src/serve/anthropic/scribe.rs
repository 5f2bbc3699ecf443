//! A streamed answer as Anthropic's messages give it.
use super::{
    encode::{Block, Own, Tokens, id, stop_reason},
    event::{Delta, Event, Start, Stop},
    failure,
};
use crate::{
    Usage,
    chat::{FinishReason, Input, Item},
    serve::{Failure, Scribe, event},
};
use bytes::{Bytes, BytesMut};
use serde_json::value::RawValue;
use std::{borrow::Cow, sync::Arc};

/// Writes the events of one streamed answer.
#[derive(Debug)]
pub struct Events {
    id: Option<Arc<str>>,
    model: Arc<str>,
    /// Whose own blocks are shown.
    provider: Cow<'static, str>,
    has_begun: bool,
    /// The number of the block that is open, or of the next.
    index: u32,
    open: Option<Open>,
    has_calls: bool,
    is_refused: bool,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    /// Where the provider's own events are handed on: whether its ending was among them.
    is_handed_on: bool,
    has_stopped: bool,
}

/// What the block that is open holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Text,
    Thinking,
    /// One that is handed on as it came, of this number.
    Received(u32),
}

impl Events {
    pub(super) fn new(model: &str, provider: Cow<'static, str>) -> Self {
        Self {
            id: None,
            model: model.into(),
            provider,
            has_begun: false,
            index: 0,
            open: None,
            has_calls: false,
            is_refused: false,
            finish: None,
            usage: None,
            is_handed_on: false,
            has_stopped: false,
        }
    }

    fn begin(&mut self, out: &mut BytesMut) {
        if self.has_begun {
            return;
        }
        self.has_begun = true;
        let id = self.id.get_or_insert_with(|| id().into());
        let usage = Tokens(self.usage.unwrap_or_default());
        let message = Start {
            id,
            kind: "message",
            role: "assistant",
            model: &self.model,
            content: [],
            stop_reason: (),
            stop_sequence: (),
            usage,
        };
        Event::MessageStart { message }.write(out);
    }

    /// Opens a block of this kind, where another or none is open.
    fn open(&mut self, kind: Open, out: &mut BytesMut) {
        if self.open == Some(kind) {
            return;
        }
        self.close(out);
        let content_block = Block::Own(match kind {
            Open::Thinking => Own::Thinking { thinking: "", signature: "" },
            Open::Text | Open::Received(_) => Own::Text { text: "", citations: None },
        });
        Event::ContentBlockStart { index: self.index, content_block }.write(out);
        self.open = Some(kind);
    }

    fn close(&mut self, out: &mut BytesMut) {
        if self.open.take().is_some() {
            Event::ContentBlockStop { index: self.index }.write(out);
            self.index += 1;
        }
    }

    fn delta(&self, delta: Delta<'_>, out: &mut BytesMut) {
        Event::ContentBlockDelta { index: self.index, delta }.write(out);
    }

    /// A block that is whole at once.
    fn block(&mut self, content_block: Block<'_>, delta: Option<Delta<'_>>, out: &mut BytesMut) {
        self.close(out);
        Event::ContentBlockStart { index: self.index, content_block }.write(out);
        if let Some(delta) = delta {
            self.delta(delta, out);
        }
        Event::ContentBlockStop { index: self.index }.write(out);
        self.index += 1;
    }

    fn text(&mut self, text: &str, out: &mut BytesMut) {
        if !text.is_empty() {
            self.open(Open::Text, out);
            self.delta(Delta::Text { text }, out);
        }
    }
}

impl Scribe for Events {
    fn item(&mut self, item: &Item, out: &mut BytesMut) {
        match item {
            Item::Started { id, model } => {
                self.id = self.id.take().or_else(|| id.clone());
                self.model = model.clone().unwrap_or_else(|| Arc::clone(&self.model));
                return;
            }
            Item::Usage(usage) => {
                self.usage = Some(*usage);
                return;
            }
            Item::Finish(reason) => {
                self.finish = Some(reason.clone());
                return;
            }
            _ => self.begin(out),
        }
        match item {
            Item::Text(text) => self.text(text, out),
            Item::Refusal(text) => {
                self.is_refused = true;
                self.text(text, out);
            }
            Item::Reasoning(thinking) if !thinking.is_empty() => {
                self.open(Open::Thinking, out);
                self.delta(Delta::Thinking { thinking }, out);
            }
            Item::Thought(thoughts) => {
                let native = thoughts.native().json_for(&self.provider).filter(|json| json.get().starts_with('{'));
                let signature = native.and_then(signature);
                match (native, signature) {
                    (_, Some(signature)) => {
                        self.open(Open::Thinking, out);
                        self.delta(Delta::Signature { signature: &signature }, out);
                    }
                    (Some(json), None) => self.block(Block::Native(json), None, out),
                    (None, None) => {}
                }
                self.close(out);
            }
            Item::ToolCall(call) => {
                self.has_calls = true;
                let text = Input::of(call.arguments()).text();
                let own = Own::ToolUse { id: call.id(), name: call.name(), input: Input::Nothing {} };
                self.block(Block::Own(own), Some(Delta::InputJson { partial_json: &text }), out);
            }
            Item::Native(block) => {
                // One that a service of the caller's own made may be anything.
                if let Some(json) = block.json_for(&self.provider).filter(|json| json.get().starts_with('{')) {
                    self.block(Block::Native(json), None, out);
                }
            }
            Item::Citations(cited) => {
                let cited = cited.json_for(&self.provider).and_then(|list| serde_json::from_str(list.get()).ok());
                let cited: Vec<&RawValue> = cited.unwrap_or_default();
                for citation in cited.into_iter().filter(|_| self.open == Some(Open::Text)) {
                    self.delta(Delta::Citations { citation }, out);
                }
                // Behind what it cites, a text is whole.
                self.close(out);
            }
            _ => {}
        }
    }

    fn received(&mut self, name: Option<&str>, data: &Bytes, out: &mut BytesMut) {
        self.is_handed_on = true;
        // Some servers name their events in the data alone.
        let kind = name.map_or_else(|| kind(data), Cow::Borrowed);
        match &*kind {
            "content_block_start" => self.open = Some(Open::Received(index(data))),
            "content_block_stop" => self.open = None,
            "message_stop" => self.has_stopped = true,
            _ => {}
        }
        event(Some(&kind).filter(|kind| !kind.is_empty()).map(AsRef::as_ref), data, out);
    }

    fn alive(&mut self, out: &mut BytesMut) {
        match self.has_begun || self.is_handed_on {
            true => Event::Ping.write(out),
            false => out.extend_from_slice(b": alive\n\n"),
        }
    }

    fn end(&mut self, out: &mut BytesMut) {
        if self.is_handed_on {
            if !self.has_stopped {
                Event::MessageStop.write(out);
            }
            return;
        }
        self.begin(out);
        self.close(out);
        let stop_reason = stop_reason(self.finish.as_ref(), self.has_calls, self.is_refused);
        let usage = Tokens(self.usage.unwrap_or_default());
        Event::MessageDelta { delta: Stop { stop_reason, stop_sequence: () }, usage }.write(out);
        Event::MessageStop.write(out);
    }

    fn failure(&mut self, failure: &Failure, out: &mut BytesMut) {
        if let Some(Open::Received(index)) = self.open {
            self.index = index;
        }
        self.close(out);
        event(Some("error"), &failure::body(failure), out);
    }
}

fn signature(block: &RawValue) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Signed {
        signature: String,
    }
    serde_json::from_str(block.get()).ok().map(|Signed { signature }| signature).filter(|it| !it.is_empty())
}

/// What an event is, by its data.
fn kind(data: &[u8]) -> Cow<'_, str> {
    #[derive(serde::Deserialize)]
    struct Kindred<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
    }
    serde_json::from_slice(data).map_or(Cow::Borrowed(""), |Kindred { kind }| kind)
}

/// The number of a block, of an event that begins one.
fn index(data: &[u8]) -> u32 {
    #[derive(serde::Deserialize)]
    struct Begun {
        index: u32,
    }
    serde_json::from_slice(data).map_or(0, |Begun { index }| index)
}
