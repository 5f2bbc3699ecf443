use super::{Note, Replay, Shape};
use crate::{Context, Ending, Sink, Trail};
use std::fmt;

/// A shape with another key for circuits: by what a closure says of a request.
///
/// ```
/// use seawall::{Http, KeyBy, circuit_breaker::CircuitBreakerLayer};
///
/// let by_host = KeyBy::new(Http, |request: &http::Request<String>| request.uri().host());
/// let layer = CircuitBreakerLayer::new().shape(by_host);
/// ```
#[derive(Clone, Copy)]
pub struct KeyBy<H, F> {
    shape: H,
    key: F,
}

impl<H, F> KeyBy<H, F> {
    /// Takes everything else from `shape`.
    pub fn new<Req>(shape: H, key: F) -> Self
    where
        F: Fn(&Req) -> Option<&str>,
    {
        Self { shape, key }
    }

    pub(super) fn inner(&self) -> &H {
        &self.shape
    }
}

impl<Req, H: Shape<Req>, F: Fn(&Req) -> Option<&str>> Shape<Req> for KeyBy<H, F> {
    fn context(&self, request: &Req) -> Option<Context> {
        self.shape.context(request)
    }

    fn set_context(&self, request: &mut Req, context: Context) {
        self.shape.set_context(request, context);
    }

    fn set_sink(&self, request: &mut Req, sink: &Sink) {
        self.shape.set_sink(request, sink);
    }

    fn shows_head(&self) -> bool {
        self.shape.shows_head()
    }

    fn streams(&self, request: &Req) -> bool {
        self.shape.streams(request)
    }

    fn key<'a>(&self, request: &'a Req) -> Option<&'a str> {
        (self.key)(request)
    }
}

impl<Req, H: Replay<Req>, F: Fn(&Req) -> Option<&str>> Replay<Req> for KeyBy<H, F> {
    fn again(&self, request: &Req) -> Option<Req> {
        self.shape.again(request)
    }
}

impl<R, H: Note<R>, F> Note<R> for KeyBy<H, F> {
    fn note(&self, response: &mut R, trail: Trail) {
        self.shape.note(response, trail);
    }

    fn trail<'a>(&self, response: &'a R) -> Option<&'a Trail> {
        self.shape.trail(response)
    }
}

impl<R, G, H: Ending<R, G>, F> Ending<R, G> for KeyBy<H, F> {
    type Response = H::Response;

    fn hold(&self, response: R, guard: G) -> Self::Response {
        self.shape.hold(response, guard)
    }
}

impl<H: fmt::Debug, F> fmt::Debug for KeyBy<H, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyBy").field("shape", &self.shape).finish_non_exhaustive()
    }
}
