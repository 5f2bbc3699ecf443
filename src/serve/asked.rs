use super::{Body, Drain, Failure, Limits, Protocol, reading::read};
use crate::{
    Error, Kind,
    chat::{Reply, Request},
};
use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER},
};
use tower::{Service, ServiceExt};

const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// What a client of yours asked, and how it is answered.
#[derive(Clone, Debug)]
pub struct Asked<P> {
    protocol: P,
    request: Request,
    drain: Option<Drain>,
}

impl<P: Protocol> Asked<P> {
    /// Reads a request's body within the limits.
    ///
    /// # Errors
    /// The response to give where it is too large, too slow, or holds no request.
    ///
    /// # Cancel safety
    /// What was read is lost, as when a client hangs up.
    pub async fn read<B: http_body::Body>(protocol: P, body: B, limits: Limits) -> Result<Self, Box<Response<Body>>> {
        match read(body, limits).await {
            Ok(body) => Self::decode(protocol, &body),
            Err(failure) => Err(Box::new(refuse(&protocol, &failure))),
        }
    }

    /// Reads it, and ends that and all that follows with the drain, where there is one.
    pub(crate) async fn read_under<B: http_body::Body>(
        drain: Option<&Drain>,
        protocol: P,
        body: B,
        limits: Limits,
    ) -> Result<Self, Box<Response<Body>>> {
        let asked = Drain::or_ended(drain, Self::read(protocol.clone(), body, limits)).await;
        let asked = asked.unwrap_or_else(|| Err(Box::new(ended(&protocol))))?;
        Ok(Self { drain: drain.cloned(), ..asked })
    }

    /// Reads a body that is there.
    ///
    /// # Errors
    /// The response to give where it holds no request.
    pub fn decode(protocol: P, body: &Bytes) -> Result<Self, Box<Response<Body>>> {
        match protocol.decode(body) {
            Ok(request) => Ok(Self { protocol, request: request.received(), drain: None }),
            Err(error) => Err(Box::new(refuse(&protocol, &Failure::of(&error)))),
        }
    }

    /// Changes what is asked: a model of your own choosing, a tenant.
    #[must_use]
    pub fn map(self, change: impl FnOnce(Request) -> Request) -> Self {
        Self { request: change(self.request), ..self }
    }

    /// Asks a stack, and gives the response to what it says. What [`drain`](Self::drain) ends before there is an answer is answered
    /// with a 503.
    ///
    /// # Cancel safety
    /// Dropping it, as servers do when a client hangs up, ends the call upstream.
    pub async fn ask<S>(&self, stack: S) -> Response<Body>
    where
        S: Service<Request, Response = Reply, Error = Error>,
    {
        let asking = async { self.respond(stack.oneshot(self.request.clone()).await).await };
        Drain::or_ended(self.drain.as_ref(), asking).await.unwrap_or_else(|| ended(&self.protocol))
    }

    /// What is asked: it shares its text with this.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Ends its answer with this, before it is there and while it is streamed.
    #[must_use]
    pub fn drain(self, drain: &Drain) -> Self {
        Self { drain: Some(drain.clone()), ..self }
    }

    /// The response to an answer that was asked for in another way, or to a failure. It resolves at once, but for an answer that comes in pieces and was to be whole.
    pub async fn respond(&self, reply: Result<Reply, Error>) -> Response<Body> {
        match self.reply(reply).await {
            Ok(response) => response,
            Err(error) => refuse(&self.protocol, &Failure::of(&error)),
        }
    }

    async fn reply(&self, reply: Result<Reply, Error>) -> Result<Response<Body>, Error> {
        let mut reply = reply?;
        if self.request.is_stream() {
            let body = Body::events(&self.protocol, &self.request, reply, self.drain.as_ref());
            let mut response = Response::new(body);
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            return Ok(response);
        }
        reply.read().await?;
        let answer = reply.answer();
        let received = answer.received(self.protocol.name());
        Ok(json(received.map_or_else(|| self.protocol.encode(&self.request, answer), Bytes::clone)))
    }
}

/// The response that tells a failure.
pub fn refuse<P: Protocol>(protocol: &P, failure: &Failure) -> Response<Body> {
    let mut response = json(protocol.failure(failure));
    *response.status_mut() = failure.status();
    let headers = response.headers_mut();
    if let (Some(seconds), Some(wait)) = (failure.retry_after_secs(), failure.retry_after()) {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        // Read by the SDKs in place of the other, which is rounded.
        headers.insert(
            RETRY_AFTER_MS,
            HeaderValue::from(u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)),
        );
    }
    if failure.status() != StatusCode::BAD_REQUEST {
        // The SDKs ask again after any 5xx, whatever it means.
        let again = if failure.is_retryable() { "true" } else { "false" };
        headers.insert(SHOULD_RETRY, HeaderValue::from_static(again));
    }
    response
}

/// The response to what a drain ended.
fn ended<P: Protocol>(protocol: &P) -> Response<Body> {
    refuse(protocol, &Failure::of(&Error::refusal(Kind::Cancelled)))
}

fn json(body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::whole(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
