use super::{AnswerBody, verdict};
use crate::{
    Error,
    classify::{Classifier, Reading, next_frame},
};
use http::{Response, StatusCode, response::Parts};
use http_body::Body;
use pin_project_lite::pin_project;
use std::{
    error::Error as StdError,
    fmt,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
};

pin_project! {
    /// Looks at what comes first of an answer.
    #[must_use = "futures do nothing unless polled"]
    pub struct GrpcReading<B> {
        #[pin]
        state: State<B>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<B> {
        Failed { error: Option<Error> },
        // Something else than gRPC, which says why in its own words.
        Page { status: StatusCode, classifier: Classifier, #[pin] reading: Reading<B, ()> },
        // Until a message, or the status in its place.
        First { head: Option<Parts>, body: Option<AnswerBody<B>> },
    }
}

impl<B> GrpcReading<B> {
    pub(super) fn failed(error: Error) -> Self {
        Self { state: State::Failed { error: Some(error) } }
    }

    pub(super) fn page(response: Response<B>, classifier: Classifier) -> Self {
        let status = response.status();
        let reading = Reading::refusal(response, classifier.clone(), |_| ());
        Self { state: State::Page { status, classifier, reading } }
    }

    pub(super) fn first(response: Response<AnswerBody<B>>) -> Self {
        let (head, body) = response.into_parts();
        Self { state: State::First { head: Some(head), body: Some(body) } }
    }
}

impl<B> Future for GrpcReading<B>
where
    B: Body + Unpin,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Output = Result<Response<AnswerBody<B>>, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Failed { error } => error.take().map_or(Poll::Pending, |error| Poll::Ready(Err(error))),
            StateProj::Page { status, classifier, reading } => {
                let error = match ready!(reading.poll(cx)) {
                    Err(error) => error.with_source(verdict::for_http(*status)),
                    Ok(()) => verdict::of_stranger(classifier, *status),
                };
                Poll::Ready(Err(error))
            }
            StateProj::First { head, body } => {
                let mut frames = 0;
                while let Some(messages) = body {
                    let frame = match ready!(next_frame(Pin::new(&mut *messages), &mut frames, cx)) {
                        Some(Ok(frame)) => frame,
                        Some(Err(error)) => {
                            *body = None;
                            return Poll::Ready(Err(error));
                        }
                        None => break,
                    };
                    // A frame without content is no message yet.
                    if frame.data_ref().is_none_or(|data| !data.is_empty()) {
                        messages.put_back(frame);
                        break;
                    }
                }
                let answer = head.take().zip(body.take());
                answer.map_or(Poll::Pending, |(head, body)| Poll::Ready(Ok(Response::from_parts(head, body))))
            }
        }
    }
}

impl<B> fmt::Debug for GrpcReading<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcReading").finish_non_exhaustive()
    }
}
