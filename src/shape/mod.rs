#[cfg(feature = "reqwest")]
mod reqwest;

mod gather;
mod key_by;
mod map;

pub use gather::Gather;
pub use key_by::KeyBy;
pub use map::{AsIs, Both, Map, Model};

use crate::{Call, Context, Ending, Error, Guard, Held, Outcome, Sink, Trail};
use http_body::Body;
use std::pin::pin;

/// How layers see a request: what its call still may do, and its facts.
///
/// Every layer has one parameter `H` for its shape, with [`Bare`] as its default. A layer asks only for the traits that
/// it uses: [`Shape`] for the request, [`Replay`] to send it again, [`Note`] to tell what failed before a success,
/// [`Ending`] to stay until an answer is over, and [`Gather`] to read one to its end.
#[diagnostic::on_unimplemented(
    message = "shape `{Self}` does not know requests of type `{Req}`",
    note = "`Bare` takes any request, `Http` an `http::Request` or a `reqwest::Request`, `Chat` a `chat::Request`; inside a stack they come as `Call<Req>`"
)]
pub trait Shape<Req> {
    /// What the call still may do, where the request tells.
    fn context(&self, request: &Req) -> Option<Context> {
        let _ = request;
        None
    }

    /// Hands on what the call still may do, where the request can carry it.
    fn set_context(&self, request: &mut Req, context: Context) {
        let _ = (request, context);
    }

    /// Hands on who is told of what happens below, where the request can carry it.
    fn set_sink(&self, request: &mut Req, sink: &Sink) {
        let _ = (request, sink);
    }

    /// Whether the answer comes piece by piece, so that its head is due soon.
    fn streams(&self, request: &Req) -> bool {
        let _ = request;
        false
    }

    /// Whether a response is there with the head of the answer. That of a chat is not, as it is there with the first content.
    fn shows_head(&self) -> bool {
        true
    }

    /// What circuits of one route are told apart by: the model, where callers choose it. `None`: one circuit for all.
    fn key<'a>(&self, request: &'a Req) -> Option<&'a str> {
        let _ = request;
        None
    }
}

/// How a request is sent again; apart, so that layers that never repeat need no `Clone`.
#[diagnostic::on_unimplemented(
    message = "requests of type `{Req}` cannot be repeated by shape `{Self}`",
    note = "retry and failover send a request more than once: make it `Clone`, or leave these layers out"
)]
pub trait Replay<Req>: Shape<Req> {
    /// A copy to send later; `None` where this one request cannot be copied.
    fn again(&self, request: &Req) -> Option<Req>;
}

/// Tells the failed attempts of a success.
pub trait Note<R> {
    /// Leaves `trail`, which is not empty, in the response; told again by an outer layer, it goes in front.
    fn note(&self, response: &mut R, trail: Trail);

    /// What was left there, where a response can keep it.
    fn trail<'a>(&self, response: &'a R) -> Option<&'a Trail> {
        let _ = response;
        None
    }
}

/// Any request and any answer: no context, no cost, and guards end with the head.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bare;

impl<Req> Shape<Req> for Bare {}

impl<Req: Clone> Replay<Req> for Bare {
    fn again(&self, request: &Req) -> Option<Req> {
        Some(request.clone())
    }
}

impl<R> Note<R> for Bare {
    fn note(&self, _: &mut R, _: Trail) {}
}

impl<R, G: Guard> Ending<R, G> for Bare {
    type Response = R;

    fn hold(&self, response: R, guard: G) -> R {
        pin!(guard).end(Outcome::Whole);
        response
    }
}

/// `http::Request` and `http::Response`: guards ride in the body, context and trail in the extensions.
///
/// A request with [`SendOnce`] in its extensions is not copied, and so not sent again.
///
/// A request streams if it accepts `text/event-stream`. reqwest's own requests and responses are seen alike (feature
/// `reqwest`), but for the context: a `reqwest::Request` has no place for one, and `Stack::http` brings it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Http;

impl<B> Shape<http::Request<B>> for Http {
    fn context(&self, request: &http::Request<B>) -> Option<Context> {
        request.extensions().get().copied()
    }

    fn set_context(&self, request: &mut http::Request<B>, context: Context) {
        request.extensions_mut().insert(context);
    }

    fn streams(&self, request: &http::Request<B>) -> bool {
        accepts_events(request.headers())
    }
}

pub(crate) fn accepts_events(headers: &http::HeaderMap) -> bool {
    const EVENTS: &[u8] = b"text/event-stream";
    let mut accepted = headers.get_all(http::header::ACCEPT).iter();
    accepted.any(|value| value.as_bytes().windows(EVENTS.len()).any(|part| part.eq_ignore_ascii_case(EVENTS)))
}

/// In the extensions of an `http::Request`: its body is gone with its first attempt, though its type is `Clone`.
///
/// ```
/// use seawall::{Http, Replay, SendOnce};
///
/// let mut request = http::Request::new("a part of what is still to come");
/// assert!(Http.again(&request).is_some());
/// request.extensions_mut().insert(SendOnce);
/// assert!(Http.again(&request).is_none()); // a retry gives up with `GaveUp::NotReplayable`
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SendOnce;

impl<B: Clone> Replay<http::Request<B>> for Http {
    fn again(&self, request: &http::Request<B>) -> Option<http::Request<B>> {
        request.extensions().get::<SendOnce>().is_none().then(|| request.clone())
    }
}

impl<B> Note<http::Response<B>> for Http {
    fn note(&self, response: &mut http::Response<B>, trail: Trail) {
        response.extensions_mut().get_or_insert_default::<Trail>().prepend(trail);
    }

    fn trail<'a>(&self, response: &'a http::Response<B>) -> Option<&'a Trail> {
        Some(response.extensions().get().unwrap_or(Trail::NONE))
    }
}

impl<B: Body<Error = Error>, G: Guard> Ending<http::Response<B>, G> for Http {
    type Response = http::Response<Held<B, G>>;

    fn hold(&self, response: http::Response<B>, guard: G) -> Self::Response {
        response.map(|body| match body.is_end_stream() {
            true => Held::over(body, guard),
            false => Held::new(body, guard),
        })
    }
}

/// A shape whose requests travel in a [`Call`], as they do inside a stack; or a [`Map`] of what is in there.
#[derive(Clone, Copy, Debug, Default)]
pub struct InCall<H>(pub H);

impl<Req, H: Shape<Req>> Shape<Call<Req>> for InCall<H> {
    fn context(&self, call: &Call<Req>) -> Option<Context> {
        Some(call.context)
    }

    fn set_context(&self, call: &mut Call<Req>, context: Context) {
        call.context = context;
    }

    fn set_sink(&self, call: &mut Call<Req>, sink: &Sink) {
        self.0.set_sink(&mut call.request, sink);
    }

    fn streams(&self, call: &Call<Req>) -> bool {
        self.0.streams(&call.request)
    }

    fn shows_head(&self) -> bool {
        self.0.shows_head()
    }

    fn key<'a>(&self, call: &'a Call<Req>) -> Option<&'a str> {
        self.0.key(&call.request)
    }
}

impl<Req, H: Replay<Req>> Replay<Call<Req>> for InCall<H> {
    fn again(&self, call: &Call<Req>) -> Option<Call<Req>> {
        Some(Call { context: call.context, request: self.0.again(&call.request)? })
    }
}

impl<R, H: Note<R>> Note<R> for InCall<H> {
    fn note(&self, response: &mut R, trail: Trail) {
        self.0.note(response, trail);
    }

    fn trail<'a>(&self, response: &'a R) -> Option<&'a Trail> {
        self.0.trail(response)
    }
}

impl<R, G, H: Ending<R, G>> Ending<R, G> for InCall<H> {
    type Response = H::Response;

    fn hold(&self, response: R, guard: G) -> Self::Response {
        self.0.hold(response, guard)
    }
}
