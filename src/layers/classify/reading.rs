use super::{BODY_LIMIT, ClassifiedBody, Classifier};
use crate::{Error, Phase, time};
use bytes::{Buf, Bytes};
use http::{HeaderMap, Response, response::Parts};
use http_body::{Body, Frame};
use pin_project_lite::pin_project;
use std::{
    error::Error as StdError,
    fmt,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
    time::Duration,
};

/// How long the body of a refusal may keep its caller waiting: the status alone says most of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// After so many frames at one go the runtime gets its turn, since a peer may never run out of frames that hold nothing,
/// and all clocks, those of the layers above too, would stand still.
const FRAMES_A_TURN: usize = 32;

/// The next frame of a body; pending, and woken at once, where this turn has had its frames.
pub(crate) fn next_frame<B: Body>(
    body: Pin<&mut B>,
    frames: &mut usize,
    cx: &mut Cx<'_>,
) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
    if *frames == FRAMES_A_TURN {
        cx.waker().wake_by_ref();
        return Poll::Pending;
    }
    *frames += 1;
    body.poll_frame(cx)
}

/// What is made of a response that turns out to be good.
type Finish<B, R> = fn(Response<ClassifiedBody<B>>) -> R;

pin_project! {
    /// Reads the body of an answer that must be looked into, and no more of it than that takes.
    #[must_use = "futures do nothing unless polled"]
    pub struct Reading<B, R> {
        head: Option<Parts>,
        body: Option<B>,
        #[pin]
        patience: Option<time::Sleep>,
        kept: Vec<u8>,
        limit: usize,
        classifier: Classifier,
        finish: Finish<B, R>,
    }
}

impl<B, R> Reading<B, R> {
    /// Reads a refusal, for [`BODY_LIMIT`] bytes or five seconds.
    pub(crate) fn refusal(response: Response<B>, classifier: Classifier, finish: Finish<B, R>) -> Self {
        Self { patience: Some(time::sleep(PATIENCE)), ..Self::success(response, BODY_LIMIT, classifier, finish) }
    }

    /// Reads a success up to `limit`, over which it is taken for good.
    pub(super) fn success(response: Response<B>, limit: usize, classifier: Classifier, finish: Finish<B, R>) -> Self {
        let (head, body) = response.into_parts();
        Self { head: Some(head), body: Some(body), patience: None, kept: Vec::new(), limit, classifier, finish }
    }
}

/// What reading has come to.
enum Read {
    /// As much as is looked at.
    Enough,
    /// All of it, with its trailers.
    Whole(Option<HeaderMap>),
    Broken(Error),
}

impl<B, R> Reading<B, R>
where
    B: Body + Unpin,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    /// Reads until something is known. The body comes before the clock, so that what is there counts.
    fn poll_read(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Read> {
        let this = self.project();
        let Some(body) = this.body else { return Poll::Ready(Read::Whole(None)) };
        let mut frames = 0;
        while this.kept.len() < *this.limit {
            let frame = match next_frame(Pin::new(&mut *body), &mut frames, cx) {
                Poll::Ready(Some(Ok(frame))) => frame,
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(Read::Broken(this.classifier.transport(error.into())));
                }
                Poll::Ready(None) => return Poll::Ready(Read::Whole(None)),
                Poll::Pending => {
                    let patience = this.patience.as_pin_mut();
                    return patience.map_or(Poll::Pending, |sleep| sleep.poll(cx)).map(|()| Read::Enough);
                }
            };
            match frame.into_data() {
                Ok(data) if this.patience.is_some() => keep(this.kept, data.take(*this.limit - this.kept.len())),
                Ok(data) => keep(this.kept, data),
                Err(frame) => return Poll::Ready(Read::Whole(frame.into_trailers().ok())),
            }
        }
        Poll::Ready(Read::Enough)
    }
}

fn keep(kept: &mut Vec<u8>, mut data: impl Buf) {
    while data.has_remaining() {
        let chunk = data.chunk();
        kept.extend_from_slice(chunk);
        let length = chunk.len();
        data.advance(length);
    }
}

impl<B, R> Future for Reading<B, R>
where
    B: Body + Unpin,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Output = Result<R, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        let read = ready!(self.as_mut().poll_read(cx));
        let this = self.project();
        let Some(head) = this.head.take() else { return Poll::Pending };
        let kept = std::mem::take(this.kept);
        if !head.status.is_success() {
            return Poll::Ready(Err(this.classifier.answer(head.status, &head.headers, &kept)));
        }
        let (rest, trailers) = match read {
            Read::Broken(error) => return Poll::Ready(Err(error.with_phase(Phase::Body))),
            Read::Enough => (this.body.take(), None),
            Read::Whole(trailers) => match this.classifier.success(&head.headers, &kept) {
                Some(error) => return Poll::Ready(Err(error)),
                None => (None, trailers),
            },
        };
        let body = ClassifiedBody::read(Bytes::from(kept), rest, trailers, this.classifier.clone());
        Poll::Ready(Ok((this.finish)(Response::from_parts(head, body))))
    }
}

impl<B, R> fmt::Debug for Reading<B, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("kept", &self.kept.len()).field("limit", &self.limit).finish_non_exhaustive()
    }
}
