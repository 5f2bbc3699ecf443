use super::{proto, reply::piece};
use crate::{
    Error, Kind,
    chat::{Item, Reply},
    serve::Drain,
};
use ::tonic::Status;
use futures_core::Stream;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
    vec,
};
use tokio_util::sync::WaitForCancellationFutureOwned;

/// A streamed answer as messages. It ends by itself where the answer is whole, and with a status where it was cut. To drop it ends the
/// request upstream.
pub struct Pieces {
    reply: Reply,
    /// Items of an answer that came whole.
    whole: vec::IntoIter<Item>,
    ended: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    is_over: bool,
}

impl Pieces {
    pub(super) fn new(reply: Reply, drain: Option<&Drain>) -> Self {
        let whole = if reply.is_stream() { Vec::new() } else { reply.answer().items() };
        let ended = drain.map(|drain| Box::pin(drain.ended()));
        Self { reply, whole: whole.into_iter(), ended, is_over: false }
    }
}

impl Stream for Pieces {
    type Item = Result<proto::Piece, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        while !this.is_over {
            let item = match this.whole.next() {
                Some(item) => Some(Ok(item)),
                None => match this.reply.poll_item(cx) {
                    Poll::Ready(item) => item,
                    Poll::Pending => {
                        let ended = this.ended.as_mut().map_or(Poll::Pending, |ended| ended.as_mut().poll(cx));
                        ready!(ended);
                        Some(Err(Error::refusal(Kind::Cancelled).delivered()))
                    }
                },
            };
            match item {
                None | Some(Ok(Item::End)) => this.is_over = true,
                Some(Err(error)) => {
                    this.is_over = true;
                    return Poll::Ready(Some(Err(error.into())));
                }
                Some(Ok(item)) => {
                    if let Some(piece) = piece(item) {
                        return Poll::Ready(Some(Ok(piece)));
                    }
                }
            }
        }
        Poll::Ready(None)
    }
}

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pieces").field("reply", &self.reply).finish_non_exhaustive()
    }
}
