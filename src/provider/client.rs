use super::{Dialect, ResponseFuture, future::named};
use crate::{Error, Http, Shape, chat};
use bytes::Bytes;
use http_body::Body;
use http_body_util::Full;
use std::{
    error::Error as StdError,
    task::{Context as Cx, Poll},
};
use tower::Service;

/// The longest answer that is read: far above any model's, far below what would hurt.
const REPLY_LIMIT: usize = 32 * 1024 * 1024;

/// Asks a provider over any service of `http::Request`. One call is one send.
///
/// `D` is the [`Dialect`], `T` the service: see the [module](super) for an example. What the call still may do goes on
/// to it in the request's extensions, as [`Http`] looks for it.
///
/// ```
/// use bytes::Bytes;
/// use http_body_util::Full;
/// use seawall::{chat, provider::OpenAi};
/// use tower::ServiceExt as _;
///
/// async fn canned(_: http::Request<Full<Bytes>>) -> std::io::Result<http::Response<String>> {
///     Ok(http::Response::new(r#"{"choices":[{"message":{"content":"Blue."}}]}"#.to_owned()))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), seawall::Error> {
/// let client = OpenAi::new("sk-1").over(tower::service_fn(canned));
/// let reply = client.oneshot(chat::Request::new("gpt-4o-mini").user("What colour is the sea?")).await?;
/// assert_eq!(reply.text(), "Blue.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client<D, T> {
    dialect: D,
    inner: T,
    reply_limit: usize,
}

impl<D, T> Client<D, T> {
    /// Speaks `dialect` over `inner`.
    pub fn new(dialect: D, inner: T) -> Self {
        Self { dialect, inner, reply_limit: REPLY_LIMIT }
    }

    /// Sets the longest answer that is read, in bytes; a longer one is an error. Default 32 MiB.
    #[must_use]
    pub fn reply_limit(self, bytes: usize) -> Self {
        Self { reply_limit: bytes, ..self }
    }

    /// The dialect that it speaks.
    #[must_use]
    pub fn dialect(&self) -> &D {
        &self.dialect
    }
}

impl<D, T, B> Service<chat::Request> for Client<D, T>
where
    D: Dialect,
    T: Service<http::Request<Full<Bytes>>, Response = http::Response<B>> + Clone,
    T::Error: Into<Box<dyn StdError + Send + Sync>>,
    // A streamed reply keeps the body, wherever it is read.
    B: Body + Send + 'static,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Response = chat::Reply;
    type Error = Error;
    type Future = ResponseFuture<D, T::Future, B>;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx).map_err(|error| {
            let error = self.dialect.classifier().transport(error.into());
            named(error, &self.dialect).with_sends(0)
        })
    }

    fn call(&mut self, request: chat::Request) -> Self::Future {
        match self.dialect.encode(&request) {
            Ok(mut encoded) => {
                if let Some(context) = request.context() {
                    Http.set_context(&mut encoded, context);
                }
                let future = self.inner.call(encoded.map(Full::new));
                ResponseFuture::sending(self.dialect.clone(), future, self.reply_limit)
            }
            Err(error) => {
                // What was reserved for a request that is never sent must not stay with an idle client.
                self.inner = self.inner.clone();
                ResponseFuture::refused(self.dialect.clone(), error)
            }
        }
    }
}
