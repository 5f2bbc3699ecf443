use crate::Error;
use pin_project_lite::pin_project;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context as Cx, Poll},
};
use tower::Service;

/// One of two services with the same answer.
#[derive(Clone, Debug)]
pub enum Either<A, B> {
    /// One of the routes before the last.
    First(A),
    /// The last route.
    Second(B),
}

impl<A, B, Req> Service<Req> for Either<A, B>
where
    A: Service<Req, Error = Error>,
    B: Service<Req, Response = A::Response, Error = Error>,
{
    type Response = A::Response;
    type Error = Error;
    type Future = EitherFuture<A::Future, B::Future>;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        match self {
            Self::First(service) => service.poll_ready(cx),
            Self::Second(service) => service.poll_ready(cx),
        }
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let future = match self {
            Self::First(service) => Futures::First { future: service.call(request) },
            Self::Second(service) => Futures::Second { future: service.call(request) },
        };
        EitherFuture { future }
    }
}

pin_project! {
    /// The future of [`Either`].
    #[must_use = "futures do nothing unless polled"]
    pub struct EitherFuture<A, B> {
        #[pin]
        future: Futures<A, B>,
    }
}

pin_project! {
    #[project = FuturesProj]
    enum Futures<A, B> {
        First { #[pin] future: A },
        Second { #[pin] future: B },
    }
}

impl<A: Future, B: Future<Output = A::Output>> Future for EitherFuture<A, B> {
    type Output = A::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        match self.project().future.project() {
            FuturesProj::First { future } => future.poll(cx),
            FuturesProj::Second { future } => future.poll(cx),
        }
    }
}

impl<A, B> fmt::Debug for EitherFuture<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EitherFuture").finish_non_exhaustive()
    }
}
