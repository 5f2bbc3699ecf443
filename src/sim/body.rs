use super::{
    End,
    core::Ticket,
    in_process::{nonsense, stopped},
    step::{Piece, Step, Steps, Stop},
};
use crate::time::{self, Sleep};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use std::{
    fmt,
    future::Future,
    io,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
};

/// The body of an answer of [`InProcess`](super::InProcess).
pub struct Body {
    steps: Steps,
    /// What is left of the announced length; `None`: chunked.
    left: Option<u64>,
    sleep: Option<Pin<Box<Sleep>>>,
    ticket: Ticket,
}

/// Filler comes in pieces of this size.
pub(super) const FILLER: &[u8] = &[b'x'; 16 * 1024];

impl Body {
    pub(super) fn new(ticket: Ticket, steps: Steps, length: Option<u64>) -> Self {
        let mut body = Self { steps, left: length, sleep: None, ticket };
        body.settle();
        body
    }

    /// A reader who knows the length does not ask for the end behind the last byte.
    fn settle(&mut self) {
        if matches!(self.steps.front(), Some(Step::End)) {
            self.ticket.end(End::Answered);
        }
    }

    fn give(&mut self, piece: Piece) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.ticket.sent(&piece);
        self.left = self.left.map(|left| left.saturating_sub(piece.bytes.len() as u64));
        self.settle();
        Poll::Ready(Some(Ok(Frame::data(piece.bytes))))
    }

    fn fail(&mut self, error: io::Error) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.steps.clear();
        self.left = None;
        self.ticket.end(End::Broken);
        Poll::Ready(Some(Err(error)))
    }

    fn filler(&mut self, bytes: u64) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let now = bytes.min(FILLER.len() as u64);
        if bytes > now {
            self.steps.push_front(Step::Filler(bytes - now));
        }
        self.give(Bytes::from_static(FILLER.get(..now as usize).unwrap_or(FILLER)).into())
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                ready!(sleep.as_mut().poll(cx));
                self.sleep = None;
            }
            match self.steps.next() {
                Some(Step::Wait(wait)) => self.sleep = Some(Box::pin(time::sleep(wait))),
                Some(Step::Piece(piece)) => return self.give(piece),
                Some(Step::Filler(bytes)) => return self.filler(bytes),
                Some(Step::Nonsense) => return self.fail(nonsense()),
                Some(Step::Stop(Stop::Silence)) => {
                    self.steps.push_front(Step::Stop(Stop::Silence));
                    return Poll::Pending;
                }
                Some(Step::Stop(stop)) => return self.fail(stopped(stop)),
                // Neither comes behind a head, and an idle wait comes as waits and pieces.
                Some(Step::Head(_) | Step::HalfHead(_) | Step::Idle { .. }) => {}
                Some(Step::End) | None => {
                    self.ticket.end(End::Answered);
                    return Poll::Ready(None);
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.steps.front(), None | Some(Step::End)) && self.sleep.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("left", &self.left).finish_non_exhaustive()
    }
}
