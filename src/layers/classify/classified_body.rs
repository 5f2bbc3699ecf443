use super::Classifier;
use crate::{Error, Phase};
use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    error::Error as StdError,
    fmt,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
};

pin_project! {
    /// A body whose failures are judged: what breaks it comes out as a delivered [`Error`].
    pub struct ClassifiedBody<B> {
        ahead: Option<Bytes>,
        #[pin]
        inner: Option<B>,
        trailers: Option<HeaderMap>,
        classifier: Classifier,
    }
}

impl<B> ClassifiedBody<B> {
    pub(super) fn new(inner: B, classifier: Classifier) -> Self {
        Self { ahead: None, inner: Some(inner), trailers: None, classifier }
    }

    /// A body of which a part was read already; `inner` is what is left of it.
    pub(super) fn read(ahead: Bytes, inner: Option<B>, trailers: Option<HeaderMap>, classifier: Classifier) -> Self {
        Self { ahead: Some(ahead).filter(|ahead| !ahead.is_empty()), inner, trailers, classifier }
    }

    #[cfg(feature = "reqwest")]
    pub(super) fn into_inner(self) -> Option<B> {
        self.inner
    }
}

impl<B> Body for ClassifiedBody<B>
where
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let mut this = self.project();
        if let Some(ahead) = this.ahead.take() {
            return Poll::Ready(Some(Ok(Frame::data(ahead))));
        }
        if let Some(inner) = this.inner.as_mut().as_pin_mut() {
            // Of `Bytes`, which all clients give, this copies nothing.
            let whole = |mut data: B::Data| data.copy_to_bytes(data.remaining());
            match ready!(inner.poll_frame(cx)) {
                Some(Ok(frame)) => return Poll::Ready(Some(Ok(frame.map_data(whole)))),
                Some(Err(error)) => {
                    this.inner.set(None);
                    let error = this.classifier.transport(error.into());
                    return Poll::Ready(Some(Err(error.with_phase(Phase::Body).delivered())));
                }
                None => this.inner.set(None),
            }
        }
        Poll::Ready(this.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        let over = self.inner.as_ref().is_none_or(Body::is_end_stream);
        over && self.ahead.is_none() && self.trailers.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let ahead = self.ahead.as_ref().map_or(0, |ahead| ahead.len() as u64);
        let inner = self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint);
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower().saturating_add(ahead));
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper.saturating_add(ahead));
        }
        hint
    }
}

impl<B> fmt::Debug for ClassifiedBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClassifiedBody").field("over", &self.inner.is_none()).finish_non_exhaustive()
    }
}
