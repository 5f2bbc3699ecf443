use super::{
    Answer, FinishReason, Item, Message, ToolCall,
    stream::{Begun, Checked, Items},
};
use crate::{Error, Guard, Held, Kind, Outcome, Phase, Seen, Show, Trail, Usage};
use bytes::Bytes;
use futures_core::Stream;
use std::{
    borrow::Cow,
    fmt,
    future::poll_fn,
    pin::pin,
    sync::{Mutex, PoisonError},
    task::{Context as Cx, Poll},
};

/// A model's answer: whole, or a stream that fills it as it is read.
///
/// ```
/// use seawall::chat::{Answer, Message, Reply};
///
/// # async fn example() -> Result<(), seawall::Error> {
/// let reply = Reply::whole(Answer::new(Message::assistant("Blue.")));
/// assert_eq!(reply.text(), "Blue.");
/// assert_eq!(reply.collect().await?.message().text(), "Blue."); // at once: nothing is outstanding
/// # Ok(())
/// # }
/// ```
pub struct Reply {
    answer: Answer,
    rest: Rest,
    trail: Trail,
    skipped: u32,
}

/// What is still to come. The mutex is never locked: it makes a stream that is only `Send` fit for a shared reply.
enum Rest {
    Nothing,
    Items(Mutex<Items>),
    /// The stream broke; its error is with the reader.
    Lost,
}

impl Reply {
    /// A reply that is all there.
    #[must_use]
    pub fn whole(answer: Answer) -> Self {
        Self { answer, rest: Rest::Nothing, trail: Trail::default(), skipped: 0 }
    }

    /// A reply that comes piece by piece.
    ///
    /// The stream ends with [`Item::End`] or with an error. One that just ends was cut, and its reader gets an error of
    /// kind [`Transport`](Kind::Transport); every error in it counts as delivered, since nothing may be replayed.
    pub fn stream(items: impl Stream<Item = Result<Item, Error>> + Send + 'static) -> Self {
        let rest = Rest::Items(Mutex::new(Box::pin(Checked::new(items))));
        Self { answer: Answer::default(), rest, trail: Trail::default(), skipped: 0 }
    }

    /// A reply that comes piece by piece, once its first content is there: what a client of your own should give, so that a
    /// failure which comes instead is retried like any other. What came before the content is kept.
    ///
    /// # Errors
    /// What came instead.
    ///
    /// # Cancel safety
    /// Dropping it drops the stream, which should end it upstream.
    pub async fn opened(items: impl Stream<Item = Result<Item, Error>> + Send + 'static) -> Result<Self, Error> {
        let mut items: Items = Box::pin(items);
        let mut before = Vec::new();
        loop {
            match poll_fn(|cx| items.as_mut().poll_next(cx)).await {
                Some(Ok(Item::Alive)) => {}
                Some(Ok(item)) => {
                    let is_there = matches!(item.show(), Seen::Content | Seen::End);
                    before.push(item);
                    if is_there {
                        return Ok(Self::stream(Begun::new(before, items)));
                    }
                }
                Some(Err(error)) => return Err(error),
                None => return Err(Error::provider(Kind::Transport).with_phase(Phase::Body)),
            }
        }
    }

    /// Of items that hold to the protocol by themselves.
    pub(crate) fn boxed(items: Items) -> Self {
        let rest = Rest::Items(Mutex::new(items));
        Self { answer: Answer::default(), rest, trail: Trail::default(), skipped: 0 }
    }

    /// The next piece of a stream; `None` at its end, and at once for a whole reply.
    ///
    /// # Errors
    /// What broke the stream. What was read before it stays in the reply.
    ///
    /// # Cancel safety
    /// Nothing is lost: the next call goes on where this one was dropped.
    pub async fn next(&mut self) -> Option<Result<Item, Error>> {
        loop {
            if !self.is_stream() {
                return None;
            }
            match poll_fn(|cx| self.poll_item(cx)).await {
                Some(Ok(Item::Alive)) => {}
                Some(Ok(Item::Skipped)) => self.skip(),
                Some(Ok(Item::End)) | None => self.rest = Rest::Nothing,
                Some(Ok(item)) => {
                    self.answer.take(&item);
                    return Some(Ok(item));
                }
                Some(Err(error)) => {
                    self.rest = Rest::Lost;
                    return Some(Err(error));
                }
            }
        }
    }

    /// The whole answer, read to its end.
    ///
    /// # Errors
    /// What broke the stream: never a part of an answer as if it were all. To keep the part: [`read`](Self::read).
    pub async fn collect(mut self) -> Result<Answer, Error> {
        self.read().await?;
        Ok(self.answer)
    }

    /// Reads to the end. Then [`answer`](Self::answer) is all of it or, after an error, as much as came, with the usage that was
    /// told until then or an estimate.
    ///
    /// # Errors
    /// What broke the stream. Where [`next`](Self::next) gave that already: one of kind [`Transport`](Kind::Transport), delivered.
    ///
    /// # Cancel safety
    /// Nothing is lost: the next call goes on where this one was dropped.
    pub async fn read(&mut self) -> Result<(), Error> {
        while let Some(item) = self.next().await {
            item?;
        }
        match self.rest {
            Rest::Lost => Err(Error::provider(Kind::Transport).with_phase(Phase::Body).delivered()),
            _ => Ok(()),
        }
    }

    /// How many events of the stream nobody could read, and were passed over, as far as it was read. The protocol's own ending
    /// came all the same, or there would be an error.
    #[must_use]
    pub fn skipped(&self) -> u32 {
        self.skipped
    }

    /// Whether pieces may still come.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        matches!(self.rest, Rest::Items(_))
    }

    /// The answer, as far as it was read.
    #[must_use]
    pub fn answer(&self) -> &Answer {
        &self.answer
    }

    /// The turn to add to the history, as far as it was read.
    #[must_use]
    pub fn message(&self) -> &Message {
        self.answer.message()
    }

    /// The text, as far as it was read.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        self.message().text()
    }

    /// The tools that the model asks for, as far as it was read.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.message().tool_calls()
    }

    /// The tokens that it cost, where the provider said so. A stream whose provider did not has an estimate at its end, or where it
    /// broke, [marked](Usage::estimated) so.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.answer.usage()
    }

    /// Why the model stopped, where the provider said so.
    #[must_use]
    pub fn finish_reason(&self) -> Option<&FinishReason> {
        self.answer.finish_reason()
    }

    /// The model that answered, as the provider calls it.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.answer.model()
    }

    /// The provider's id of the answer.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.answer.id()
    }

    /// The attempts that failed before this reply.
    #[must_use]
    pub fn trail(&self) -> &Trail {
        &self.trail
    }

    /// The next item as it comes, those that readers never see included, and past the answer that this keeps.
    pub(crate) fn poll_item(&mut self, cx: &mut Cx<'_>) -> Poll<Option<Result<Item, Error>>> {
        let Rest::Items(items) = &mut self.rest else { return Poll::Ready(None) };
        items.get_mut().unwrap_or_else(PoisonError::into_inner).as_mut().poll_next(cx)
    }

    pub(super) fn skip(&mut self) {
        self.skipped = self.skipped.saturating_add(1);
    }

    /// The same reply with another rest, in place of the one that it had.
    pub(super) fn with_rest(mut self, items: Items) -> Self {
        self.rest = Rest::Items(Mutex::new(items));
        self
    }

    pub(crate) fn with_received(self, protocol: &'static str, body: Bytes) -> Self {
        Self { answer: self.answer.with_received(protocol, body), ..self }
    }

    pub(super) fn prepend(&mut self, trail: Trail) {
        self.trail.prepend(trail);
    }

    /// Keeps a guard until the reply is over: until now, for a whole one, at no cost.
    pub(super) fn hold<G: Guard + Send + 'static>(mut self, guard: G) -> Self {
        self.rest = match self.rest {
            Rest::Items(items) if !guard.is_empty() => {
                let items = items.into_inner().unwrap_or_else(PoisonError::into_inner);
                Rest::Items(Mutex::new(Box::pin(Held::new(items, guard))))
            }
            rest => {
                let mut guard = pin!(guard);
                if let Some(usage) = self.answer.usage() {
                    guard.as_mut().progress(Seen::Usage(usage));
                }
                guard.end(Outcome::Whole);
                rest
            }
        };
        self
    }
}

/// Without the text, which may end in a log.
impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("id", &self.id())
            .field("model", &self.model())
            .field("finish_reason", &self.finish_reason())
            .field("usage", &self.usage())
            .field("stream", &self.is_stream())
            .field("trail", &self.trail)
            .finish_non_exhaustive()
    }
}
