use super::{
    End, FaultKind, Log, Phase, Script,
    body::Body,
    core::{Arrival, Core, Ticket},
    step::{Head, Step, Steps, Stop},
};
use crate::{Invalid, time};
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::BodyExt;
use std::{
    collections::BTreeMap,
    future::{Future, pending},
    io,
    pin::Pin,
    sync::Arc,
    task::{Context as Cx, Poll},
};
use tower::Service;

/// The same provider without a socket: a service in tokio's time, so that a paused clock runs a day in a second.
///
/// What a connection would do comes as an [`io::Error`], from the call or from the body: a reset is
/// [`ConnectionReset`](io::ErrorKind::ConnectionReset), a cut is [`UnexpectedEof`](io::ErrorKind::UnexpectedEof), what
/// is no HTTP is [`InvalidData`](io::ErrorKind::InvalidData). A silence is pending for ever.
///
/// Clones share one provider. See the [module docs](super#example) for an example.
#[derive(Clone, Debug)]
pub struct InProcess {
    core: Arc<Core>,
}

impl InProcess {
    /// A provider that starts now.
    ///
    /// # Errors
    /// If the script makes no sense: see [`Script::check`].
    pub fn new(script: Script) -> Result<Self, Invalid> {
        Ok(Self { core: Core::new(script, None)? })
    }

    /// What it saw so far.
    #[must_use]
    pub fn log(&self) -> Log {
        self.core.log()
    }

    /// How often each fault was given at each phase.
    #[must_use]
    pub fn hits(&self) -> BTreeMap<(FaultKind, Phase), u64> {
        self.core.hits()
    }

    /// How many requests it has seen.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.core.seen()
    }

    /// How many calls are under way, to the end of their bodies: zero when nothing leaks.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.core.in_flight()
    }
}

impl<B> Service<Request<B>> for InProcess
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<Body>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let core = Arc::clone(&self.core);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
            let headers = head.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
            let (method, path) = (head.method.as_str(), head.uri.path());
            let (ticket, steps) = core.arrive(Arrival { method, path, headers, body: &body }, End::HungUp);
            play(ticket, steps).await
        })
    }
}

/// Plays the steps up to the head; the body plays the rest.
async fn play(mut ticket: Ticket, mut steps: Steps) -> io::Result<Response<Body>> {
    loop {
        let error = match steps.next() {
            Some(Step::Wait(wait)) => {
                time::sleep(wait).await;
                continue;
            }
            Some(Step::Head(head)) => {
                ticket.head(head.status);
                let mut response = Response::new(Body::new(ticket, steps, head.length));
                write_head(&mut response, &head);
                return Ok(response);
            }
            Some(Step::Stop(Stop::Silence)) => pending().await,
            Some(Step::Stop(stop)) => stopped(stop),
            Some(Step::Nonsense) => nonsense(),
            // Half a head is nothing that a caller could see; the others cannot come before a head.
            Some(Step::HalfHead(_) | Step::Piece(_) | Step::Idle { .. } | Step::Filler(_) | Step::End) => continue,
            None => stopped(Stop::Close),
        };
        ticket.end(End::Broken);
        return Err(error);
    }
}

fn write_head(response: &mut Response<Body>, head: &Head) {
    *response.status_mut() = StatusCode::from_u16(head.status).unwrap_or_default();
    let length = head.length.map(|length| ("content-length", length.to_string()));
    let filler = (head.filler > 0).then(|| ("x-filler", "x".repeat(head.filler as usize)));
    let own = head.headers.iter().map(|(name, value)| (name.as_ref(), value.clone()));
    for (name, value) in own.chain(length).chain(filler) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
}

pub(super) fn stopped(stop: Stop) -> io::Error {
    match stop {
        Stop::Reset => io::Error::new(io::ErrorKind::ConnectionReset, "connection reset by the script"),
        Stop::Close | Stop::Silence => io::Error::new(io::ErrorKind::UnexpectedEof, "connection closed too soon"),
    }
}

pub(super) fn nonsense() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "these bytes are no HTTP")
}
