use super::{GrpcJudge, GrpcReading, RequestBody, verdict};
use crate::{
    Context, Error,
    adapters::tonic::deadline,
    classify::{Classifier, ResponseFuture},
};
use ::tonic::body::Body as TonicBody;
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use std::{
    any::Any,
    error::Error as StdError,
    task::{Context as Cx, Poll},
};
use tower::Service;

/// A gRPC channel whose failures are judged; made by [`GrpcClassifyLayer`](super::GrpcClassifyLayer).
#[derive(Clone, Debug)]
pub struct GrpcClassify<S> {
    inner: S,
    classifier: Classifier,
}

impl<S> GrpcClassify<S> {
    pub(super) fn new(inner: S, classifier: Classifier) -> Self {
        Self { inner, classifier }
    }
}

impl<S, B, R> Service<Request<B>> for GrpcClassify<S>
where
    S: Service<Request<TonicBody>, Response = Response<R>>,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
    R: Body + Unpin,
    R::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Response = Response<super::AnswerBody<R>>;
    type Error = Error;
    type Future = ResponseFuture<S::Future, GrpcJudge, GrpcReading<R>>;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        // Whatever it is, this call was not sent.
        self.inner.poll_ready(cx).map_err(|error| verdict::of_failure(&self.classifier, error.into()).with_sends(0))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let body: &dyn Any = request.body();
        let waits = body.downcast_ref::<RequestBody>().is_some_and(RequestBody::is_whole);
        let ends = request.extensions().get().and_then(Context::call_deadline);
        if let Some(ends) = ends {
            deadline::tell(request.headers_mut(), ends);
        }
        let judge = GrpcJudge { classifier: self.classifier.clone(), waits };
        ResponseFuture::new(self.inner.call(request.map(TonicBody::new)), judge)
    }
}
