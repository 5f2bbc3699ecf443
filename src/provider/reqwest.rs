use crate::Invalid;
use bytes::Bytes;
use http::Uri;
use http_body::Body as _;
use http_body_util::Full;
use pin_project_lite::pin_project;
use reqwest::{Body, Url, redirect};
use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context as Cx, Poll, Waker, ready},
    time::Duration,
};
use tower::Service;

/// A handshake across the world takes a second; what takes ten will not come.
const CONNECT: Duration = Duration::from_secs(10);

/// Sends over reqwest, once and nowhere else.
///
/// reqwest's own retries are off, since a layer that counts its sends must know of each. (hyper replaces a kept connection
/// that turns out closed before anything was written, which is no second send; what it began to write fails, even where
/// the server closed the connection unread.) Redirects are not followed, since the key would go along. Connecting may
/// take 10 s, and nothing else is timed here: a whole reply may take minutes, and the timeouts of the stack know better.
/// Errors come without the URL, whose query may hold a key.
#[derive(Clone)]
pub struct Reqwest {
    client: reqwest::Client,
    parsed: Parsed,
}

impl Reqwest {
    /// A client with a connection pool of its own; its clones share the pool.
    ///
    /// # Errors
    /// Where TLS cannot be set up on this system, for example without any root certificates.
    pub fn new() -> Result<Self, Invalid> {
        match Self::client_builder().build() {
            Ok(client) => Ok(Self::with_client(client)),
            Err(error) => {
                Err(Invalid::new("reqwest", format!("TLS cannot be set up on this system: {}", cause(&error))))
            }
        }
    }

    /// reqwest's builder with the settings above, to which you add proxies and certificates of your own.
    ///
    /// Clients of reqwest use the proxies that the environment names, such as `HTTP_PROXY`, for every host that `NO_PROXY`
    /// does not; a model on this very machine is asked directly so:
    ///
    /// ```
    /// use seawall::provider::{OpenAi, Reqwest};
    ///
    /// let direct = Reqwest::with_client(Reqwest::client_builder().no_proxy().build()?);
    /// let client = OpenAi::without_key().base_url("http://127.0.0.1:11434/v1").over(direct);
    /// # Ok::<(), reqwest::Error>(())
    /// ```
    pub fn client_builder() -> reqwest::ClientBuilder {
        reqwest::Client::builder()
            .user_agent(concat!("seawall/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
    }

    /// A client of your own, best from [`client_builder`](Self::client_builder): another one follows redirects, with the
    /// key, and sends again on its own what HTTP/2 refused.
    #[must_use]
    pub fn with_client(client: reqwest::Client) -> Self {
        Self { client, parsed: Parsed::default() }
    }
}

impl fmt::Debug for Reqwest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reqwest").field(&self.client).finish()
    }
}

impl Service<http::Request<Full<Bytes>>> for Reqwest {
    type Response = http::Response<Body>;
    type Error = reqwest::Error;
    type Future = Sending;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Self::Error>> {
        Service::<reqwest::Request>::poll_ready(&mut self.client, cx)
    }

    fn call(&mut self, request: http::Request<Full<Bytes>>) -> Sending {
        let state = match self.parsed.request(request.map(bytes)) {
            Ok(request) => State::Pending { future: self.client.call(request) },
            Err(error) => State::Refused { error: Some(error) },
        };
        Sending { state }
    }
}

/// The URLs that were asked last, as reqwest wants them: parsing one anew takes as long as all else that it does before it sends.
#[derive(Clone, Default)]
struct Parsed(Arc<Mutex<Vec<(Uri, Url)>>>);

impl Parsed {
    /// A client has one URL, or one for each deployment.
    const MOST: usize = 8;

    fn request(&self, request: http::Request<Bytes>) -> reqwest::Result<reqwest::Request> {
        let found = {
            let parsed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            parsed.iter().find(|(uri, _)| uri == request.uri()).map(|(_, url)| url.clone())
        };
        let Some(url) = found else {
            let uri = request.uri().clone();
            let request = reqwest::Request::try_from(request)?;
            let mut parsed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if parsed.len() == Self::MOST {
                parsed.clear();
            }
            parsed.push((uri, request.url().clone()));
            return Ok(request);
        };
        let (head, body) = request.into_parts();
        let mut request = reqwest::Request::new(head.method, url);
        *request.version_mut() = head.version;
        *request.headers_mut() = head.headers;
        *request.body_mut() = Some(body.into());
        Ok(request)
    }
}

/// The bytes of a body that is known to be there, so that reqwest need not box it.
fn bytes(mut body: Full<Bytes>) -> Bytes {
    let frame = Pin::new(&mut body).poll_frame(&mut Cx::from_waker(Waker::noop()));
    match frame {
        Poll::Ready(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
        _ => Bytes::new(),
    }
}

/// The innermost reason, which names no URL.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

pin_project! {
    /// Resolves to the head of the response, with the body still to be read.
    #[must_use = "futures do nothing unless polled"]
    pub struct Sending {
        #[pin]
        state: State,
    }
}

pin_project! {
    #[project = StateProj]
    enum State {
        Pending { #[pin] future: <reqwest::Client as Service<reqwest::Request>>::Future },
        Refused { error: Option<reqwest::Error> },
    }
}

impl Future for Sending {
    type Output = Result<http::Response<Body>, reqwest::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        let result = match self.project().state.project() {
            StateProj::Pending { future } => ready!(future.poll(cx)),
            StateProj::Refused { error } => match error.take() {
                Some(error) => Err(error),
                None => return Poll::Pending,
            },
        };
        Poll::Ready(result.map(Into::into).map_err(reqwest::Error::without_url))
    }
}

impl fmt::Debug for Sending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sending").finish_non_exhaustive()
    }
}
