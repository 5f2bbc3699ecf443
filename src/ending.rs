use crate::{Error, Usage};
use futures_core::Stream;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    fmt,
    pin::{Pin, pin},
    task::{Context as Cx, Poll},
};

/// What an item of an answer tells a [`Guard`].
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A sign of life without content: a comment or a ping.
    Alive,
    /// A part of the answer.
    Content,
    /// The tokens that the answer has cost so far.
    Usage(Usage),
    /// The protocol's own ending. A reader need not ask for more, and many do not.
    End,
}

/// How an answer ended.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// Whole, to its own ending.
    Whole,
    /// With an error, which the reader gets.
    Failed(&'a Error),
}

/// What a layer leaves in an answer until that is over: a permit, a timer, a verdict to come.
///
/// A guard is dropped after [`end`](Self::end), or unended: then the reader left, and whoever settles does so by the
/// last usage it has seen.
pub trait Guard {
    /// Whether there is nothing to keep, so that a shape may let an answer go as it is. Default: there is something.
    fn is_empty(&self) -> bool {
        false
    }

    /// Asked whenever the answer has nothing to give: an error ends it.
    fn poll_expired(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Error> {
        let _ = cx;
        Poll::Pending
    }

    /// Told of each item. A whole reply tells its usage once.
    fn progress(self: Pin<&mut Self>, seen: Seen) {
        let _ = seen;
    }

    /// Told of the end, at most once.
    fn end(self: Pin<&mut Self>, outcome: Outcome<'_>) {
        let _ = outcome;
    }
}

/// How a guard is kept until an answer is over.
///
/// `G` is a parameter and not an associated type, so that only a shape that boxes its guards asks them to be `Send`.
#[diagnostic::on_unimplemented(
    message = "shape `{Self}` cannot keep a guard until the end of `{R}`",
    note = "`Bare` takes any response, `Http` an `http::Response` whose body fails with `seawall::Error` (put `ClassifyLayer` below) or a `reqwest::Response` if the guard is `Send + Sync + 'static`, `Chat` a `chat::Reply`"
)]
pub trait Ending<R, G> {
    /// The answer with the guard in it.
    type Response;

    /// Puts the guard into the answer.
    fn hold(&self, response: R, guard: G) -> Self::Response;
}

/// An item that says what it is.
pub trait Show {
    /// What a guard is told of it.
    fn show(&self) -> Seen;
}

pin_project! {
    /// A body or a stream with the guard of one layer.
    pub struct Held<B, G> {
        #[pin]
        inner: Option<B>,
        #[pin]
        guard: Option<G>,
    }
}

impl<B, G: Guard> Held<B, G> {
    /// Keeps `guard` until `inner` is over.
    pub fn new(inner: B, guard: G) -> Self {
        let guard = Some(guard).filter(|guard| !guard.is_empty());
        Self { inner: Some(inner), guard }
    }

    /// An answer that is over with its head, such as an empty body, which nobody polls.
    pub fn over(inner: B, guard: G) -> Self {
        pin!(guard).end(Outcome::Whole);
        Self { inner: Some(inner), guard: None }
    }

    /// Lets the guard look at what was polled; drops it and `inner` with the end, so that the upstream is let go.
    fn watch<T>(
        self: Pin<&mut Self>,
        cx: &mut Cx<'_>,
        mut polled: Poll<Option<Result<T, Error>>>,
        seen: Option<Seen>,
    ) -> Poll<Option<Result<T, Error>>> {
        let mut this = self.project();
        let Some(mut guard) = this.guard.as_mut().as_pin_mut() else { return polled };
        if let Some(seen) = seen {
            guard.as_mut().progress(seen);
        }
        if polled.is_pending()
            && let Poll::Ready(error) = guard.as_mut().poll_expired(cx)
        {
            polled = Poll::Ready(Some(Err(error.delivered())));
        }
        let outcome = match &polled {
            Poll::Pending => return polled,
            Poll::Ready(Some(Ok(_))) if seen != Some(Seen::End) => return polled,
            Poll::Ready(Some(Err(error))) => Outcome::Failed(error),
            Poll::Ready(_) => Outcome::Whole,
        };
        guard.end(outcome);
        this.guard.set(None);
        this.inner.set(None);
        polled
    }
}

impl<B: Stream<Item = Result<T, Error>>, T: Show, G: Guard> Stream for Held<B, G> {
    type Item = Result<T, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        let Some(inner) = self.as_mut().project().inner.as_pin_mut() else { return Poll::Ready(None) };
        let polled = inner.poll_next(cx);
        let seen = match &polled {
            Poll::Ready(Some(Ok(item))) => Some(item.show()),
            _ => None,
        };
        self.watch(cx, polled, seen)
    }
}

impl<B: Body<Error = Error>, G: Guard> Body for Held<B, G> {
    type Data = B::Data;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Result<Frame<B::Data>, Error>>> {
        let Some(mut inner) = self.as_mut().project().inner.as_pin_mut() else { return Poll::Ready(None) };
        let polled = inner.as_mut().poll_frame(cx);
        // A server that has written the announced length drops the body without asking for its end.
        let seen = match &polled {
            Poll::Ready(Some(Ok(_))) if inner.is_end_stream() => Some(Seen::End),
            Poll::Ready(Some(Ok(_))) => Some(Seen::Content),
            _ => None,
        };
        self.watch(cx, polled, seen)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(|inner| self.guard.is_none() && inner.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl<B, G> fmt::Debug for Held<B, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("over", &self.guard.is_none()).finish_non_exhaustive()
    }
}
