//! What rig sends through: any service of `http` requests with our errors, such as a stack.
use bytes::Bytes;
use futures::TryStreamExt;
use http::{Request, Response, header::CONTENT_TYPE};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use rig_core::http_client::{self, BoxedStream, HttpClientExt, LazyBody, MultipartForm, Result, StreamingResponse};
use seawall::Error;
use tower::{Service, ServiceExt};

#[derive(Clone)]
pub struct Through<S>(pub S);

impl<S, B> HttpClientExt for Through<S>
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>, Error = Error>,
    S: Clone + Send + Sync + 'static,
    S::Future: Send,
    B: Body<Data = Bytes, Error = Error> + Send + 'static,
{
    fn send<T, U>(&self, request: Request<T>) -> impl Future<Output = Result<Response<LazyBody<U>>>> + Send + 'static
    where
        T: Into<Bytes> + Send,
        U: From<Bytes> + Send + 'static,
    {
        let sending = self.0.clone().oneshot(request.map(|body| Full::new(body.into())));
        async {
            let response = sending.await.map_err(instance)?;
            Ok(response.map(|body| -> LazyBody<U> {
                Box::pin(async { Ok(body.collect().await.map_err(instance)?.to_bytes().into()) })
            }))
        }
    }

    fn send_multipart<U>(
        &self,
        request: Request<MultipartForm>,
    ) -> impl Future<Output = Result<Response<LazyBody<U>>>> + Send + 'static
    where
        U: From<Bytes> + Send + 'static,
    {
        let (mut parts, form) = request.into_parts();
        let (boundary, body) = form.encode();
        if let Ok(kind) = format!("multipart/form-data; boundary={boundary}").parse() {
            parts.headers.insert(CONTENT_TYPE, kind);
        }
        self.send(Request::from_parts(parts, body))
    }

    async fn send_streaming<T: Into<Bytes> + Send>(&self, request: Request<T>) -> Result<StreamingResponse> {
        let request = request.map(|body| Full::new(body.into()));
        let response = self.0.clone().oneshot(request).await.map_err(instance)?;
        Ok(response.map(|body| -> BoxedStream { Box::pin(body.into_data_stream().map_err(instance)) }))
    }
}

/// Ours stays among the sources of rig's.
fn instance(error: Error) -> http_client::Error {
    http_client::Error::instance(error)
}
