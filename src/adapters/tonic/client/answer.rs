use super::{told, verdict};
use crate::{Error, Phase, classify::Classifier};
use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    error::Error as StdError,
    fmt,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
};

pin_project! {
    /// The messages of a gRPC answer. What its trailers tell, or do not, comes out as an [`Error`].
    pub struct AnswerBody<B> {
        ahead: Option<Frame<Bytes>>,
        #[pin]
        inner: Option<B>,
        // Whether its status is still to come.
        is_open: bool,
        has_content: bool,
        classifier: Classifier,
    }
}

impl<B> AnswerBody<B> {
    /// A body whose status comes behind it.
    pub(super) fn open(inner: B, classifier: Classifier) -> Self {
        Self { ahead: None, inner: Some(inner), is_open: true, has_content: false, classifier }
    }

    /// What is behind a head that told the status already.
    pub(super) fn closed(inner: B, classifier: Classifier) -> Self {
        Self { is_open: false, ..Self::open(inner, classifier) }
    }

    /// Gives a frame again that was looked at.
    pub(super) fn put_back(&mut self, frame: Frame<Bytes>) {
        self.ahead = Some(frame);
    }
}

impl<B> Body for AnswerBody<B>
where
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let mut this = self.project();
        if let Some(ahead) = this.ahead.take() {
            return Poll::Ready(Some(Ok(ahead)));
        }
        let Some(inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        let error = match ready!(inner.poll_frame(cx)) {
            Some(Ok(frame)) => {
                // Of `Bytes`, which all clients give, this copies nothing.
                let frame = frame.map_data(|mut data| data.copy_to_bytes(data.remaining()));
                match frame.into_trailers() {
                    Err(frame) => {
                        *this.has_content |= frame.data_ref().is_some_and(|data| !data.is_empty());
                        return Poll::Ready(Some(Ok(frame)));
                    }
                    Ok(mut trailers) => match told::status(&trailers) {
                        Some(status) if status.code() != ::tonic::Code::Ok => {
                            verdict::of_status(this.classifier, status)
                        }
                        None if *this.is_open => verdict::of_cut(this.classifier),
                        _ => {
                            this.inner.set(None);
                            told::without_broken_details(&mut trailers);
                            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
                        }
                    },
                }
            }
            Some(Err(error)) => verdict::of_failure(this.classifier, error.into()).with_phase(Phase::Body),
            None if *this.is_open => verdict::of_cut(this.classifier),
            None => {
                this.inner.set(None);
                return Poll::Ready(None);
            }
        };
        this.inner.set(None);
        Poll::Ready(Some(Err(if *this.has_content { error.delivered() } else { error })))
    }

    fn is_end_stream(&self) -> bool {
        let is_over = self.inner.as_ref().is_none_or(|inner| !self.is_open && inner.is_end_stream());
        is_over && self.ahead.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        // Nobody announces the length of messages to come.
        if self.is_end_stream() { SizeHint::with_exact(0) } else { SizeHint::default() }
    }
}

impl<B> fmt::Debug for AnswerBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerBody").field("over", &self.inner.is_none()).finish_non_exhaustive()
    }
}
