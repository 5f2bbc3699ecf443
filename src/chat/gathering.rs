use super::{Item, Reply};
use crate::Error;
use futures_core::Stream;
use std::{
    fmt,
    future::Future,
    mem,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
    vec,
};

/// After so many items at one go the runtime gets its turn, or a stream that always has more would stop all clocks.
const ITEMS_A_TURN: usize = 32;

/// Reads a streamed reply to its end, and gives it as a stream that plays the same items again; a whole reply as it is.
///
/// It keeps what the answer takes in memory, which the [`reply_limit`](crate::provider::Client::reply_limit) of a client bounds.
///
/// # Cancel safety
/// Dropping it drops the stream, and what was read of it.
#[must_use = "futures do nothing unless polled"]
pub struct Gathering {
    reply: Option<Reply>,
    items: Vec<Item>,
}

impl Gathering {
    pub(super) fn new(reply: Reply) -> Self {
        Self { reply: Some(reply), items: Vec::new() }
    }

    fn poll_reply(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        let Some(reply) = &mut self.reply else { return Poll::Pending };
        for _ in 0..ITEMS_A_TURN {
            match ready!(reply.poll_item(cx)) {
                // Nobody waits for these any more, and there may be many.
                Some(Ok(Item::Alive)) => {}
                Some(Ok(Item::Skipped)) => reply.skip(),
                Some(Ok(Item::End)) | None => return Poll::Ready(Ok(())),
                Some(Ok(item)) => self.items.push(item),
                Some(Err(error)) => return Poll::Ready(Err(error)),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Future for Gathering {
    type Output = Result<Reply, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        let result = ready!(self.poll_reply(cx));
        let (reply, items) = (self.reply.take(), mem::take(&mut self.items));
        result?;
        match reply {
            Some(reply) if reply.is_stream() => {
                Poll::Ready(Ok(reply.with_rest(Box::pin(Played(Some(items.into_iter()))))))
            }
            Some(reply) => Poll::Ready(Ok(reply)),
            None => Poll::Pending,
        }
    }
}

impl fmt::Debug for Gathering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gathering").field("items", &self.items.len()).finish_non_exhaustive()
    }
}

/// Items that were read before, and their end; `None` behind that.
struct Played(Option<vec::IntoIter<Item>>);

impl Stream for Played {
    type Item = Result<Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        let Some(items) = &mut self.0 else { return Poll::Ready(None) };
        Poll::Ready(Some(Ok(items.next().unwrap_or_else(|| {
            self.0 = None;
            Item::End
        }))))
    }
}
