//! What the bytes of a streamed answer mean, and whether they are all of it.
use super::{
    Assemble, Dialect, Stage,
    front::{Form, Front},
    reading::too_long,
};
use crate::{
    Error, Kind, Phase, Seen, Show, Usage, What,
    chat::{Item, Request},
    classify::Classifier,
    sse::{Frame, Parser},
};
use bytes::{Buf, Bytes};
use http::{HeaderMap, header::CONTENT_TYPE};
use serde::de::IgnoredAny;
use std::{borrow::Cow, error::Error as StdError, mem, sync::Arc};

/// The longest event that is read: a whole reply's worth of base64 fits.
const EVENT_LIMIT: usize = 8 * 1024 * 1024;

/// Of the limit of a reply. OpenAI writes some 330 bytes around each token, and an answer may have 128,000 of them.
const AROUND: usize = 4;

/// All that needs no pinning.
pub(super) struct Reader<A> {
    assembler: A,
    parser: Parser,
    front: Front,
    /// What is no stream of events.
    whole: Vec<u8>,
    /// In order of arrival; those before `given` were given.
    items: Vec<Item>,
    given: usize,
    stage: Stage,
    has_content: bool,
    provider: Cow<'static, str>,
    protocol: &'static str,
    classifier: Classifier,
    headers: HeaderMap,
    request: Request,
    hides_usage: bool,
    /// The longest reply, in bytes.
    limit: usize,
    /// So many bytes may still come.
    room: usize,
    usage: Option<Usage>,
    characters: usize,
}

/// What a stream is read with.
pub(super) struct Facts {
    provider: Cow<'static, str>,
    protocol: &'static str,
    classifier: Classifier,
    headers: HeaderMap,
    request: Request,
    /// Whether the usage was asked for by us alone, so that its event is not for the caller.
    hides_usage: bool,
    /// Whether each line is an event.
    has_lines: bool,
}

impl Facts {
    /// For the answer to `request` with these headers.
    pub(super) fn new<D: Dialect>(dialect: &D, headers: HeaderMap, request: Request) -> Self {
        let provider = dialect.name();
        let asks = request.extras(&provider).any(|(field, _)| field == "stream_options");
        let kind = headers.get(CONTENT_TYPE).map_or(&b""[..], |kind| kind.as_bytes());
        let has_lines = [&b"application/x-ndjson"[..], b"application/jsonl"].iter().any(|name| kind.starts_with(name));
        let (protocol, classifier) = (dialect.protocol(), dialect.classifier().clone());
        Self { provider, protocol, classifier, headers, request, hides_usage: !asks, has_lines }
    }
}

impl<A> Reader<A> {
    /// A whole reply may have so many bytes, and a stream more around it.
    pub(super) fn new(assembler: A, facts: Facts, limit: usize) -> Self {
        let (parser, front) = match facts.has_lines {
            true => (Parser::lines(EVENT_LIMIT), Front::events()),
            false => (Parser::new(EVENT_LIMIT), Front::default()),
        };
        Self {
            assembler,
            parser,
            front,
            whole: Vec::new(),
            items: Vec::new(),
            given: 0,
            stage: Stage::More,
            has_content: false,
            provider: facts.provider,
            protocol: facts.protocol,
            classifier: facts.classifier,
            headers: facts.headers,
            request: facts.request,
            hides_usage: facts.hides_usage,
            limit,
            room: limit.saturating_mul(AROUND),
            usage: None,
            characters: 0,
        }
    }

    pub(super) fn has_content(&self) -> bool {
        self.has_content
    }

    pub(super) fn has_items(&self) -> bool {
        self.given < self.items.len()
    }

    /// The next item to give.
    pub(super) fn give(&mut self) -> Option<Item> {
        let item = self.items.get_mut(self.given)?;
        self.given += 1;
        Some(mem::replace(item, Item::Alive))
    }

    /// Whether nothing but the end is left to give.
    pub(super) fn gives_end(&self) -> bool {
        self.items.get(self.given) == Some(&Item::End)
    }

    /// What came in the place of a stream, once it is all there.
    pub(super) fn take_whole(&mut self) -> Option<(HeaderMap, Vec<u8>, bool)> {
        let (is_whole, keeps_body) = (self.front.form() == Some(Form::Whole), self.request.wants_received());
        is_whole.then(|| (mem::take(&mut self.headers), mem::take(&mut self.whole), keeps_body))
    }

    /// Whether the answer is all there, and its ending may come.
    pub(super) fn is_finished(&self) -> bool {
        self.stage == Stage::Finished
    }

    pub(super) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Gives nothing more.
    pub(super) fn close(&mut self) {
        self.stage = Stage::Over;
    }

    /// Says that no more bytes come.
    pub(super) fn finish(&mut self) {
        self.parser.finish();
    }

    /// Says whose failure it is.
    pub(super) fn named(&self, error: Error) -> Error {
        if error.provider_name().is_some() { error } else { error.with_provider(self.provider.clone()) }
    }

    /// Tells the listener of a stack around the client.
    pub(super) fn tell(&self, what: What<'_>) {
        if let Some(sink) = self.request.sink() {
            sink.emit(what);
        }
    }

    /// What a body that broke off means.
    pub(super) fn broken(&self, error: Box<dyn StdError + Send + Sync>) -> Error {
        let error = self.classifier.transport(error).undelivered();
        if error.phase().is_some() { error } else { error.with_phase(Phase::Body) }
    }
}

impl<A: Assemble> Reader<A> {
    pub(super) fn push(&mut self, mut data: impl Buf) -> Result<(), Error> {
        let length = data.remaining();
        self.room = self.room.checked_sub(length).ok_or_else(|| too_long(self.limit))?;
        while data.has_remaining() {
            let chunk = data.chunk();
            let told = self.front.pass(chunk);
            match self.front.form() {
                Some(Form::Whole) if self.whole.len() + told.len() > self.limit => return Err(too_long(self.limit)),
                Some(Form::Whole) => self.whole.extend_from_slice(told),
                _ => self.parser.push(told),
            }
            let taken = chunk.len();
            data.advance(taken);
        }
        Ok(())
    }

    /// Reads events until it is enough; false where more bytes must come first.
    pub(super) fn read_until(&mut self, is_enough: fn(&Self) -> bool) -> Result<bool, Error> {
        while !is_enough(self) && self.stage != Stage::Over {
            if self.given == self.items.len() {
                self.items.clear();
                self.given = 0;
            }
            if !self.read_event()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn read_event(&mut self) -> Result<bool, Error> {
        let first = self.items.len();
        match self.parser.next() {
            None => return Ok(false),
            Some(Ok(Frame::Comment(_))) => self.items.push(Item::Alive),
            Some(Ok(Frame::Event { data, .. })) if data.trim_ascii().is_empty() => self.items.push(Item::Alive),
            Some(Ok(Frame::Event { name, data })) => {
                let stage = self.assembler.event(name, data, &mut self.items);
                match stage {
                    Stage::Malformed if name != Some("error") => self.items.push(Item::Skipped),
                    Stage::Malformed | Stage::Failed => {
                        self.items.truncate(first);
                        let error = self.classifier.frame_of(name, data, &self.headers);
                        let unknown = || Error::provider(Kind::Server).with_phase(Phase::Body);
                        return Err(error.unwrap_or_else(unknown));
                    }
                    Stage::Finished if self.stage != Stage::Over => self.stage = Stage::Finished,
                    Stage::Over => self.stage = Stage::Over,
                    Stage::More | Stage::Finished => {}
                }
                // What is no JSON, or no UTF-8, would break its reader, whom we let pass over it.
                let is_lost = !is_text(data, stage == Stage::Malformed);
                let is_hidden = self.hides_usage && is_usage(&self.items[first..]);
                if self.request.wants_received() && !is_lost && !is_hidden {
                    let (name, data) = (name.map(Arc::from), Bytes::copy_from_slice(data));
                    self.items.insert(first, Item::Event { protocol: self.protocol, name, data });
                }
            }
            Some(Err(error)) => {
                let message = format!("{error}, and the rest of the stream is lost");
                return Err(Error::provider(Kind::Transport).with_phase(Phase::Body).with_message(message));
            }
        }
        self.watch(first);
        if self.stage == Stage::Over {
            self.over();
        }
        Ok(true)
    }

    /// Looks at what has come, from this on.
    fn watch(&mut self, first: usize) {
        for item in &self.items[first..] {
            self.has_content |= item.show() == Seen::Content;
            match item {
                Item::Usage(usage) => self.usage = Some(*usage),
                Item::Text(text)
                | Item::Reasoning(text)
                | Item::Refusal(text)
                | Item::Calling { arguments: text, .. } => {
                    self.characters += text.chars().count();
                }
                _ => {}
            }
        }
        // A server that lets its caller wait for long sends many signs of life, which tell nothing before there is content.
        if !self.has_content {
            self.items.retain(|item| *item != Item::Alive);
        }
    }

    /// The end of the body: fine behind the answer, and a cut anywhere else.
    pub(super) fn end_of_body(&mut self) -> Result<(), Error> {
        match self.stage {
            Stage::Finished | Stage::Over => self.over(),
            _ if self.front.form() == Some(Form::Whole) => self.stage = Stage::Over,
            _ => return Err(Error::provider(Kind::Transport).with_phase(Phase::Body)),
        }
        Ok(())
    }

    /// Nothing more is read.
    pub(super) fn over(&mut self) {
        self.stage = Stage::Over;
        self.estimate();
        self.items.push(Item::End);
        self.has_content = true;
    }

    /// Gives a guess where no usage was told.
    pub(super) fn estimate(&mut self) {
        if self.usage.is_none() {
            let mut usage = Usage::new(self.request.estimate(), self.characters.div_ceil(4) as u64);
            usage.estimated = true;
            self.items.push(Item::Usage(usage));
            self.usage = Some(usage);
        }
    }
}

/// And JSON, where that is in doubt.
fn is_text(data: &[u8], is_doubted: bool) -> bool {
    std::str::from_utf8(data).is_ok_and(|text| !is_doubted || serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// And nothing else.
fn is_usage(items: &[Item]) -> bool {
    !items.is_empty() && items.iter().all(|item| matches!(item, Item::Usage(_)))
}
