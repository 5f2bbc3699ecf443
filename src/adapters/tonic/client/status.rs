use crate::{Error, error::chain};
use ::tonic::Status;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context as Cx, Poll},
};

/// The status that the server told, or that tonic made of a failure; else, of a refusal of ours, what it would be as an answer of
/// ours. The error is its source.
pub(super) fn status(error: Error) -> Status {
    let told = error.cause().and_then(|cause| chain(cause).find_map(|cause| cause.downcast_ref::<Status>()).cloned());
    match told {
        Some(mut status) => {
            status.set_source(Arc::new(error));
            status
        }
        None => Status::from(error),
    }
}

pin_project! {
    /// A body whose errors are a [`Status`] again, as tonic's streams want them.
    pub struct StatusBody<B> {
        #[pin]
        inner: B,
    }
}

impl<B> StatusBody<B> {
    pub(super) fn new(inner: B) -> Self {
        Self { inner }
    }
}

impl<B: Body<Data = Bytes, Error = Error>> Body for StatusBody<B> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        self.project().inner.poll_frame(cx).map_err(status)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl<B> fmt::Debug for StatusBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatusBody").finish_non_exhaustive()
    }
}
