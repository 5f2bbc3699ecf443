use super::{Drain, Failure, Protocol, Scribe, items::Items};
use crate::{
    Error,
    chat::{Item, Reply, Request},
};
use bytes::{Bytes, BytesMut};
use http_body::{Frame, SizeHint};
use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    task::{Context as Cx, Poll},
};

/// So much is put into one frame while more is at hand.
const FRAME: usize = 16 * 1024;

/// The body of a response: whole, or events that are written as the reply is read.
///
/// It never fails: what goes wrong is told in the words of the protocol. To drop it ends the request upstream.
pub struct Body(Inner);

enum Inner {
    Whole(Option<Bytes>),
    Events(Box<Events>),
}

struct Events {
    items: Items,
    scribe: Box<dyn Scribe>,
    protocol: &'static str,
    /// Whether an event that was just handed on has yet to tell what it means: by a sign of life, where that is nothing.
    is_fresh: bool,
    /// Whether the answer is handed on as it was received; known at the first item that says something.
    is_handed_on: Option<bool>,
    out: BytesMut,
    is_over: bool,
}

impl Body {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Self(Inner::Whole(Some(bytes).filter(|bytes| !bytes.is_empty())))
    }

    pub(super) fn events<P: Protocol>(protocol: &P, request: &Request, reply: Reply, drain: Option<&Drain>) -> Self {
        Self(Inner::Events(Box::new(Events {
            items: Items::new(reply, drain),
            scribe: Box::new(protocol.scribe(request)),
            protocol: protocol.name(),
            is_fresh: false,
            is_handed_on: None,
            out: BytesMut::new(),
            is_over: false,
        })))
    }
}

impl Events {
    fn take(&mut self, item: Option<Result<Item, Error>>) {
        let was_fresh = std::mem::take(&mut self.is_fresh);
        match item {
            Some(Ok(Item::Alive)) if was_fresh => {}
            Some(Ok(Item::Alive)) => self.scribe.alive(&mut self.out),
            Some(Ok(Item::Skipped)) => {}
            Some(Ok(Item::End)) | None => {
                self.is_over = true;
                self.scribe.end(&mut self.out);
            }
            Some(Ok(Item::Event { protocol, name, data })) => {
                if *self.is_handed_on.get_or_insert(protocol == self.protocol) {
                    // One that tells of a failure is an error in its place.
                    self.scribe.received(name.as_deref(), &data, &mut self.out);
                    self.is_fresh = true;
                }
            }
            Some(Ok(item)) => match *self.is_handed_on.get_or_insert(false) {
                true => self.scribe.aside(&item),
                false => self.scribe.item(&item, &mut self.out),
            },
            Some(Err(error)) => {
                self.is_over = true;
                self.scribe.failure(&Failure::of(&error), &mut self.out);
            }
        }
    }

    fn poll_frame(&mut self, cx: &mut Cx<'_>) -> Poll<Option<Bytes>> {
        loop {
            if self.is_over || self.out.len() >= FRAME {
                break;
            }
            match self.items.poll_next(cx) {
                Poll::Ready(item) => self.take(item),
                Poll::Pending if self.out.is_empty() => return Poll::Pending,
                Poll::Pending => break,
            }
        }
        Poll::Ready(Some(self.out.split().freeze()).filter(|bytes| !bytes.is_empty()))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Inner::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Inner::Events(events) => events.poll_frame(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Inner::Whole(bytes) => bytes.is_none(),
            Inner::Events(events) => events.is_over && events.out.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Inner::Events(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("is_stream", &matches!(self.0, Inner::Events(_))).finish_non_exhaustive()
    }
}
