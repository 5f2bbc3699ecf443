use super::{Http, Note, Replay, Shape, accepts_events};
use crate::{Ending, Error, Guard, Held, Kind, Outcome, Phase, Trail};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use reqwest::ResponseBuilderExt as _;
use std::{
    pin::{Pin, pin},
    task::{Context as Cx, Poll},
};

/// A plain `reqwest::Client` under the layers; what comes out is a `reqwest::Response`.
///
/// ```
/// use seawall::{Http, classify::ClassifyLayer, retry::RetryLayer, timeout::AttemptTimeoutLayer};
/// use tower::{ServiceBuilder, ServiceExt as _};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = reqwest::Client::builder()
///     .redirect(reqwest::redirect::Policy::none())
///     .retry(reqwest::retry::never())
///     .build()?;
/// let service = ServiceBuilder::new()
///     .layer(RetryLayer::new().shape(Http))
///     .layer(AttemptTimeoutLayer::new().shape(Http))
///     .layer(ClassifyLayer::reqwest())
///     .service(client.clone());
/// let request = client.post("https://api.openai.com/v1/chat/completions").body("{}").build()?;
/// let answer = service.oneshot(request).await?.text().await?;
/// # let _ = answer; Ok(()) }
/// ```
///
/// A request of reqwest's shows its extensions to nobody, so it brings no context: retries know of no deadline and of no
/// sends left. Where that matters, let requests travel in a [`Call`](crate::Call), as
/// [`Stack::http`](crate::Stack::http) over the client does, which takes them as they are and a context
/// [beside](crate::Stack::with) them.
impl Shape<reqwest::Request> for Http {
    fn streams(&self, request: &reqwest::Request) -> bool {
        accepts_events(request.headers())
    }
}

/// A body of bytes is sent again; one that streams is gone with its first attempt, so the call ends with that.
impl Replay<reqwest::Request> for Http {
    fn again(&self, request: &reqwest::Request) -> Option<reqwest::Request> {
        request.try_clone()
    }
}

impl Note<reqwest::Response> for Http {
    fn note(&self, response: &mut reqwest::Response, trail: Trail) {
        response.extensions_mut().get_or_insert_default::<Trail>().prepend(trail);
    }

    fn trail<'a>(&self, response: &'a reqwest::Response) -> Option<&'a Trail> {
        response.extensions().get()
    }
}

/// The guard rides in the body, which reqwest boxes: three boxes and a copy of the URL for each layer that keeps one, and
/// none where the body is empty.
///
/// Whoever reads the body gets errors of reqwest's, with ours among their sources:
/// [`Classifier::transport`](crate::classify::Classifier::transport) gives it back.
impl<G: Guard + Send + Sync + 'static> Ending<reqwest::Response, G> for Http {
    type Response = reqwest::Response;

    fn hold(&self, response: reqwest::Response, guard: G) -> reqwest::Response {
        if response.content_length() == Some(0) || guard.is_empty() {
            pin!(guard).end(Outcome::Whole);
            return response;
        }
        // On the way to `http` the URL is lost, and on the way back it is looked for in the extensions.
        let url = http::Response::builder().url(response.url().clone()).body(());
        let (mut parts, body) = http::Response::<reqwest::Body>::from(response).into_parts();
        parts.extensions.extend(url.map(|url| url.into_parts().0.extensions).unwrap_or_default());
        let held = Held::new(Judged(body), guard);
        http::Response::from_parts(parts, reqwest::Body::wrap(held)).into()
    }
}

/// A body of reqwest's that fails with an error of ours, as guards are told of no other.
struct Judged(reqwest::Body);

impl Body for Judged {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        Pin::new(&mut self.0).poll_frame(cx).map_err(judged)
    }

    /// A reqwest that decompresses does not pass on the end of a body that it left as it was, but what is left of it.
    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream() || self.0.size_hint().exact() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

/// What an inner guard, or whoever judged the body below, said of it; else a body fails in two ways.
fn judged(error: reqwest::Error) -> Error {
    let judged = Error::find(&error).map_or_else(
        || {
            let kind = if error.is_timeout() { Kind::Timeout } else { Kind::Transport };
            Error::provider(kind).with_phase(Phase::Body)
        },
        Error::without_source,
    );
    judged.delivered().with_source(error.without_url())
}
