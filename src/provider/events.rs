//! A streamed answer, event by event.
use super::{Assemble, Dialect, Stage, future::Limits};
use crate::{
    Error, Kind, Phase, Seen, Show, Usage,
    chat::{Item, Request},
    classify::{Classifier, next_frame},
    sse::{Frame, Parser},
    time::{self, Sleep},
};
use bytes::{Buf, Bytes};
use futures_core::Stream;
use http::{HeaderMap, header::CONTENT_TYPE};
use http_body::Body;
use pin_project_lite::pin_project;
use std::{
    error::Error as StdError,
    pin::Pin,
    sync::Arc,
    task::{Context as Cx, Poll, ready},
    time::Duration,
};

/// The longest event that is read: a whole reply's worth of base64 fits.
const EVENT_LIMIT: usize = 8 * 1024 * 1024;

/// How long the usage, or the protocol's own ending, may come behind the answer: servers leave connections open.
const TAIL: Duration = Duration::from_secs(1);

pin_project! {
    /// Gives what the events mean, and [`Item::End`] at the protocol's own ending or an error in its place.
    pub(super) struct Events<A, B> {
        reader: Reader<A>,
        #[pin]
        body: Option<B>,
        idle: Duration,
        // Since the last frame that came, or since the answer was all there.
        #[pin]
        timer: Option<Sleep>,
    }
}

/// All that needs no pinning.
struct Reader<A> {
    assembler: A,
    parser: Parser,
    /// In order of arrival; those before `given` were given.
    items: Vec<Item>,
    given: usize,
    stage: Stage,
    has_content: bool,
    classifier: Classifier,
    headers: HeaderMap,
    request: Request,
    hides_usage: bool,
    /// So many bytes may still come.
    room: usize,
    usage: Option<Usage>,
    characters: usize,
}

impl<A, B> Events<A, B> {
    pub(super) fn new(assembler: A, body: B, facts: Facts, limits: Limits) -> Self {
        let parser = if facts.has_lines { Parser::lines(EVENT_LIMIT) } else { Parser::new(EVENT_LIMIT) };
        let reader = Reader {
            assembler,
            parser,
            items: Vec::new(),
            given: 0,
            stage: Stage::More,
            has_content: false,
            classifier: facts.classifier,
            headers: facts.headers,
            request: facts.request,
            hides_usage: facts.hides_usage,
            room: limits.reply,
            usage: None,
            characters: 0,
        };
        Self { reader, body: Some(body), idle: limits.idle, timer: None }
    }
}

/// What a stream is read with.
pub(super) struct Facts {
    pub(super) classifier: Classifier,
    pub(super) headers: HeaderMap,
    pub(super) request: Request,
    /// Whether the usage was asked for by us alone, so that its event is not for the caller.
    pub(super) hides_usage: bool,
    /// Whether each line is an event.
    pub(super) has_lines: bool,
}

impl Facts {
    /// For the answer to `request` with these headers.
    pub(super) fn new<D: Dialect>(dialect: &D, headers: HeaderMap, request: Request) -> Self {
        let asks = request.extras(&dialect.name()).any(|(field, _)| field == "stream_options");
        let kind = headers.get(CONTENT_TYPE).map_or(&b""[..], |kind| kind.as_bytes());
        let has_lines = [&b"application/x-ndjson"[..], b"application/jsonl"].iter().any(|name| kind.starts_with(name));
        Self { classifier: dialect.classifier().clone(), headers, request, hides_usage: !asks, has_lines }
    }
}

impl<A, B> Events<A, B>
where
    A: Assemble,
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    /// Reads up to the first content.
    ///
    /// # Errors
    /// What came instead.
    pub(super) fn poll_content(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        while !self.reader.has_content {
            ready!(self.as_mut().poll_more(cx))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Reads on until there is something to give.
    fn poll_more(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        let mut this = self.project();
        let reader = this.reader;
        let mut frames = 0;
        loop {
            if reader.read_events()? {
                return Poll::Ready(Ok(()));
            }
            let Some(body) = this.body.as_mut().as_pin_mut() else {
                reader.end_of_body()?;
                continue;
            };
            match next_frame(body, &mut frames, cx) {
                Poll::Pending => {
                    let is_tail = reader.stage == Stage::Finished;
                    let limit = if is_tail { TAIL } else { *this.idle };
                    if this.timer.is_none() {
                        this.timer.set(Some(time::sleep(limit)));
                    }
                    ready!(this.timer.as_mut().as_pin_mut().map_or(Poll::Pending, |timer| timer.poll(cx)));
                    if !is_tail {
                        return Poll::Ready(Err(Error::provider(Kind::Timeout).with_phase(Phase::Idle)));
                    }
                    reader.over();
                }
                Poll::Ready(Some(Ok(frame))) => {
                    // A tail that never ends is no tail.
                    if reader.stage != Stage::Finished {
                        this.timer.set(None);
                    }
                    if let Ok(data) = frame.into_data() {
                        reader.push(data)?;
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    this.body.set(None);
                    // The answer is all there: how its connection ends is nobody's concern.
                    if reader.stage == Stage::Finished {
                        reader.over();
                        continue;
                    }
                    let error = reader.classifier.transport(error.into()).undelivered();
                    return Poll::Ready(Err(if error.phase().is_some() {
                        error
                    } else {
                        error.with_phase(Phase::Body)
                    }));
                }
                Poll::Ready(None) => {
                    this.body.set(None);
                    reader.parser.finish();
                }
            }
        }
    }
}

impl<A: Assemble> Reader<A> {
    fn push(&mut self, mut data: impl Buf) -> Result<(), Error> {
        let length = data.remaining();
        let Some(room) = self.room.checked_sub(length) else {
            let message = "the answer is longer than `reply_limit` allows: raise it if that is wanted";
            return Err(Error::provider(Kind::Unknown).with_phase(Phase::Body).with_message(message));
        };
        self.room = room;
        while data.has_remaining() {
            let chunk = data.chunk();
            self.parser.push(chunk);
            let taken = chunk.len();
            data.advance(taken);
        }
        Ok(())
    }

    /// Reads events until one gives something; false where more bytes must come first.
    fn read_events(&mut self) -> Result<bool, Error> {
        while self.given == self.items.len() {
            if self.stage == Stage::Over {
                return Ok(true);
            }
            self.items.clear();
            self.given = 0;
            if !self.read_event()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn read_event(&mut self) -> Result<bool, Error> {
        match self.parser.next() {
            None => return Ok(false),
            Some(Ok(Frame::Comment(_))) => self.items.push(Item::Alive),
            Some(Ok(Frame::Event { data, .. })) if data.trim_ascii().is_empty() => self.items.push(Item::Alive),
            Some(Ok(Frame::Event { name, data })) => {
                let stage = self.assembler.event(name, data, &mut self.items);
                match stage {
                    Stage::Malformed if name != Some("error") => self.items.push(Item::Skipped),
                    Stage::Malformed | Stage::Failed => {
                        let error = self.classifier.frame_of(name, data, &self.headers);
                        let unknown = || Error::provider(Kind::Server).with_phase(Phase::Body);
                        return Err(error.unwrap_or_else(unknown));
                    }
                    Stage::Finished if self.stage != Stage::Over => self.stage = Stage::Finished,
                    Stage::Over => self.stage = Stage::Over,
                    Stage::More | Stage::Finished => {}
                }
                if self.request.wants_events() && !(self.hides_usage && is_usage(&self.items)) {
                    let (name, data) = (name.map(Arc::from), Bytes::copy_from_slice(data));
                    self.items.insert(0, Item::Event { name, data });
                }
            }
            Some(Err(error)) => {
                let message = format!("{error}, and the rest of the stream is lost");
                return Err(Error::provider(Kind::Transport).with_phase(Phase::Body).with_message(message));
            }
        }
        self.watch();
        if self.stage == Stage::Over {
            self.over();
        }
        Ok(true)
    }

    /// Looks at what is about to be given.
    fn watch(&mut self) {
        for item in &self.items {
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
    fn end_of_body(&mut self) -> Result<(), Error> {
        match self.stage {
            Stage::Finished | Stage::Over => self.over(),
            _ => return Err(Error::provider(Kind::Transport).with_phase(Phase::Body)),
        }
        Ok(())
    }

    /// Nothing more is read.
    fn over(&mut self) {
        self.stage = Stage::Over;
        if self.usage.is_none() {
            let mut usage = Usage::new(self.request.estimate(), self.characters.div_ceil(4) as u64);
            usage.estimated = true;
            self.items.push(Item::Usage(usage));
            self.usage = Some(usage);
        }
        self.items.push(Item::End);
        self.has_content = true;
    }
}

/// And nothing else.
fn is_usage(items: &[Item]) -> bool {
    !items.is_empty() && items.iter().all(|item| matches!(item, Item::Usage(_)))
}

impl<A, B> Stream for Events<A, B>
where
    A: Assemble,
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Item = Result<Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let reader = &mut self.as_mut().project().reader;
            if let Some(item) = reader.items.get_mut(reader.given) {
                reader.given += 1;
                return Poll::Ready(Some(Ok(std::mem::replace(item, Item::Alive))));
            }
            if reader.stage == Stage::Over {
                return Poll::Ready(None);
            }
            if let Err(error) = ready!(self.as_mut().poll_more(cx)) {
                self.as_mut().project().reader.stage = Stage::Over;
                self.as_mut().project().body.set(None);
                // What was given cannot be taken back.
                return Poll::Ready(Some(Err(error.delivered())));
            }
        }
    }
}
