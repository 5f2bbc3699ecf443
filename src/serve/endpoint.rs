use super::{Asked, Body, Drain, Failure, Limits, Protocol, refuse};
use crate::{
    Error, Kind,
    chat::{Reply, Request},
};
use http::{HeaderValue, Method, Response, StatusCode, header::ALLOW};
use std::{
    convert::Infallible,
    fmt,
    future::Future,
    pin::Pin,
    task::{Context as Cx, Poll},
};
use tower::Service;

/// Serves a protocol over a stack: an `http::Request` in, an `http::Response` out, never an error. It fits wherever a
/// `tower::Service` does, such as Axum's `route_service`.
///
/// ```
/// use seawall::{Stack, chat, serve};
/// # use seawall::Error;
/// # async fn model(_: chat::Request) -> Result<chat::Reply, Error> {
/// #     Ok(chat::Reply::whole(chat::Answer::new(chat::Message::assistant("Blue."))))
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use http_body_util::BodyExt;
/// use tower::ServiceExt;
///
/// let stack = Stack::chat(tower::service_fn(model)).build()?;
/// let endpoint = serve::Endpoint::new(serve::OpenAi::new(), stack);
///
/// let body = r#"{"model":"m","messages":[{"role":"user","content":"What colour is the sea?"}]}"#;
/// let response = endpoint.oneshot(http::Request::post("/v1/chat/completions").body(body.to_owned())?).await?;
/// assert_eq!(response.status(), 200);
/// # let answer = response.into_body().collect().await?.to_bytes();
/// # assert!(std::str::from_utf8(&answer)?.contains("Blue."), "{answer:?}");
/// # Ok(()) }
/// ```
///
/// # Cancel safety
/// A client that hangs up ends the call upstream, as servers drop the future or the body then.
#[derive(Clone)]
pub struct Endpoint<P, S> {
    protocol: P,
    stack: S,
    limits: Limits,
    drain: Option<Drain>,
}

impl<P: Protocol, S> Endpoint<P, S> {
    /// Speaks `protocol`, and asks `stack`.
    pub fn new(protocol: P, stack: S) -> Self {
        Self { protocol, stack, limits: Limits::default(), drain: None }
    }

    /// Sets what a request's body may take.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Ends what is still being answered with this.
    #[must_use]
    pub fn drain(self, drain: &Drain) -> Self {
        Self { drain: Some(drain.clone()), ..self }
    }
}

impl<P, S> Endpoint<P, S>
where
    P: Protocol,
    S: Service<Request, Response = Reply, Error = Error>,
{
    async fn answer<B>(self, request: http::Request<B>) -> Response<Body>
    where
        B: http_body::Body,
    {
        let Self { protocol, stack, limits, drain } = self;
        if request.method() != Method::POST {
            let failure = Failure::of(&Error::refusal(Kind::InvalidRequest).with_message("ask with POST"));
            let mut response = refuse(&protocol, &failure.with_status(StatusCode::METHOD_NOT_ALLOWED));
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            return response;
        }
        match Asked::read_under(drain.as_ref(), protocol, request.into_body(), limits).await {
            Ok(asked) => asked.ask(stack).await,
            Err(response) => *response,
        }
    }
}

impl<P, S, B> Service<http::Request<B>> for Endpoint<P, S>
where
    P: Protocol,
    S: Service<Request, Response = Reply, Error = Error> + Clone + Send + 'static,
    S::Future: Send,
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    /// Always ready: the stack is made ready for each call, when what is asked is known.
    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let this = self.clone();
        Box::pin(async move { Ok(this.answer(request).await) })
    }
}

impl<P: fmt::Debug, S> fmt::Debug for Endpoint<P, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("protocol", &self.protocol)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
