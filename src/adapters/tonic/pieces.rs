use super::{proto, reply::piece};
use crate::{
    chat::{Item, Reply},
    serve::{Drain, Items},
};
use ::tonic::Status;
use futures_core::Stream;
use std::{
    fmt,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
};

/// A streamed answer as messages. It ends by itself where the answer is whole, and with a status where it was cut. To drop it ends the
/// request upstream.
pub struct Pieces {
    items: Items,
    is_over: bool,
}

impl Pieces {
    pub(super) fn new(reply: Reply, drain: Option<&Drain>) -> Self {
        Self { items: Items::new(reply, drain), is_over: false }
    }
}

impl Stream for Pieces {
    type Item = Result<proto::Piece, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        while !self.is_over {
            match ready!(self.items.poll_next(cx)) {
                None | Some(Ok(Item::End)) => self.is_over = true,
                Some(Err(error)) => {
                    self.is_over = true;
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
        f.debug_struct("Pieces").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}
