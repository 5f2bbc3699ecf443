use super::{RequestBody, StatusBody, status::status, verdict};
use crate::{Error, SendOnce, adapters::tonic::deadline, classify::Classifier};
use ::tonic::{Status, body::Body as TonicBody};
use http::{Request, Response};
use pin_project_lite::pin_project;
use std::{
    fmt,
    pin::Pin,
    task::{Context as Cx, Poll},
};
use tower::{Layer, Service};

/// The largest request that is kept to be sent again: as much as [`ChatService`](super::super::ChatService) takes.
const REQUEST_LIMIT: usize = 32 * 1024 * 1024;

/// Stands between a generated client and a stack around its channel, outermost.
///
/// **A request is kept in memory**, so that it can be sent again: the one message of a unary or server-streaming call, or a stream of messages
/// that are all there at once. What is longer than [`limit`](Self::limit), or has to be waited for, is sent as it comes and once;
/// its error says [`GaveUp::NotReplayable`](crate::GaveUp::NotReplayable), and no other route is asked for it.
///
/// The caller's `grpc-timeout`, set with tonic's `Request::set_timeout`, becomes the [deadline](crate::Context) of the call.
///
/// **An error is a [`Status`] again**: that which the server told, with its code, details and metadata, or for a refusal of ours its
/// nearest. [`Error::find`] finds in it the error that it was, with all that was tried.
#[derive(Clone, Debug)]
#[must_use = "a layer does nothing until it wraps a service"]
pub struct GrpcClientLayer {
    limit: usize,
}

impl GrpcClientLayer {
    /// Keeps requests of up to 32 MiB.
    pub fn new() -> Self {
        Self { limit: REQUEST_LIMIT }
    }

    /// Keeps requests of up to so many bytes. A message is in memory while it is sent anyway; it is kept until its answer is there.
    pub fn limit(self, bytes: usize) -> Self {
        Self { limit: bytes }
    }
}

impl Default for GrpcClientLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for GrpcClientLayer {
    type Service = GrpcClient<S>;

    fn layer(&self, inner: S) -> Self::Service {
        GrpcClient { inner, limit: self.limit }
    }
}

/// What a generated client talks to; made by [`GrpcClientLayer`].
#[derive(Clone, Debug)]
pub struct GrpcClient<S> {
    inner: S,
    limit: usize,
}

impl<S, B> Service<Request<TonicBody>> for GrpcClient<S>
where
    S: Service<Request<RequestBody>, Response = Response<B>, Error = Error> + Clone,
{
    type Response = Response<StatusBody<B>>;
    type Error = Status;
    type Future = ClientFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Status>> {
        self.inner.poll_ready(cx).map_err(status)
    }

    fn call(&mut self, request: Request<TonicBody>) -> Self::Future {
        let (mut head, body) = request.into_parts();
        let body = match RequestBody::read(body, self.limit) {
            Ok(body) => body,
            // It could not be written: nothing is sent, and what the ready instance holds goes back.
            Err(refused) => {
                self.inner = self.inner.clone();
                let error = verdict::of_status(&Classifier::new(), refused).with_sends(0);
                return ClientFuture { state: State::Refused { status: Some(status(error)) } };
            }
        };
        if !body.is_whole() {
            head.extensions.insert(SendOnce);
        }
        deadline::take(&mut head);
        ClientFuture { state: State::Calling { future: self.inner.call(Request::from_parts(head, body)) } }
    }
}

pin_project! {
    /// The future of [`GrpcClient`].
    ///
    /// # Cancel safety
    /// Dropping it drops the call.
    #[must_use = "futures do nothing unless polled"]
    pub struct ClientFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Calling { #[pin] future: F },
        Refused { status: Option<Status> },
    }
}

impl<F, B> Future for ClientFuture<F>
where
    F: Future<Output = Result<Response<B>, Error>>,
{
    type Output = Result<Response<StatusBody<B>>, Status>;

    fn poll(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Calling { future } => {
                future.poll(cx).map(|answer| answer.map(|response| response.map(StatusBody::new)).map_err(status))
            }
            StateProj::Refused { status } => status.take().map_or(Poll::Pending, |status| Poll::Ready(Err(status))),
        }
    }
}

impl<F> fmt::Debug for ClientFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientFuture").finish_non_exhaustive()
    }
}
