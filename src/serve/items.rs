use super::Drain;
use crate::{
    Error, Kind,
    chat::{Item, Reply},
};
use std::{
    future::Future,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
    vec,
};
use tokio_util::sync::WaitForCancellationFutureOwned;

/// The items of a streamed answer, until its server ends it: of one that came whole too.
pub(crate) struct Items {
    reply: Reply,
    whole: vec::IntoIter<Item>,
    ended: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl Items {
    pub(crate) fn new(reply: Reply, drain: Option<&Drain>) -> Self {
        let whole = if reply.is_stream() { Vec::new() } else { reply.answer().items() };
        Self { reply, whole: whole.into_iter(), ended: drain.map(|drain| Box::pin(drain.ended())) }
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Cx<'_>) -> Poll<Option<Result<Item, Error>>> {
        if let Some(item) = self.whole.next() {
            return Poll::Ready(Some(Ok(item)));
        }
        if let Poll::Ready(item) = self.reply.poll_item(cx) {
            return Poll::Ready(item);
        }
        ready!(self.ended.as_mut().map_or(Poll::Pending, |ended| ended.as_mut().poll(cx)));
        Poll::Ready(Some(Err(Error::refusal(Kind::Cancelled).delivered())))
    }
}
