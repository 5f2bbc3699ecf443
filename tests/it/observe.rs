//! Spans, meters and listeners.
mod answers;
mod events;
#[cfg(feature = "metrics")]
mod meters;
#[cfg(feature = "tracing")]
mod spans;
#[cfg(all(feature = "metrics", feature = "tracing"))]
mod table;

use crate::fake::{Answer, Fake, fake};
use bytes::Bytes;
use futures_core::Stream;
use http_body::{Body, Frame};
use seawall::{
    Bare, Error, Outcome, Sink, Usage, What,
    chat::{Answer as Whole, Item, Message, Reply, Request},
    observe::{Observe, ObserveLayer},
};
use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context as Cx, Poll},
    time::Duration,
};
use tower::{Layer, Service};

#[cfg(any(feature = "metrics", feature = "tracing"))]
const KEY: &str = "sk-proj-abcdefghijklmnopqrstuvwxyz";
#[cfg(any(feature = "metrics", feature = "tracing"))]
const PROMPT: &str = "the patient is called Ada";

/// What a listener was told: `operation`, `attempt` or another word, the route, and how it went.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn sink(&self) -> Sink {
        let lines = self.clone();
        Sink::new(move |event| {
            let route = event.route.unwrap_or("-");
            let line = match event.what {
                What::OperationEnded { key, outcome, trail, usage, .. } => {
                    let failed = trail.map(|trail| trail.attempts().len());
                    format!("operation {route} {key:?} {} {failed:?} {}", word(outcome), tokens(usage))
                }
                What::AttemptEnded { key, outcome, usage, .. } => {
                    format!("attempt {route} {key:?} {} {}", word(outcome), tokens(usage))
                }
                _ => return,
            };
            lines.0.lock().unwrap().push(line);
        })
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// How many lines begin so.
    fn count(&self, start: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|line| line.starts_with(start)).count()
    }
}

fn word(outcome: Option<Outcome<'_>>) -> &'static str {
    match outcome {
        Some(Outcome::Whole) => "whole",
        Some(Outcome::Failed(error)) => error.kind().as_str(),
        None => "left",
        Some(_) => unreachable!(),
    }
}

fn tokens(usage: Option<Usage>) -> String {
    usage.map_or_else(|| "?".to_owned(), |usage| format!("{}+{}", usage.input, usage.output))
}

/// Sends its first request of each call to one route, and the others to the next.
#[derive(Clone)]
struct Routes<S>(Vec<S>, usize);

impl<Req, S: Service<Req, Error = Error>> Service<Req> for Routes<S> {
    type Response = S::Response;
    type Error = Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        let next = self.1;
        self.0[next].poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> S::Future {
        let next = self.1;
        self.1 = (next + 1) % self.0.len();
        self.0[next].call(request)
    }
}

/// An attempt at each of these services, by the name of its route.
fn routes<S>(sink: &Sink, routes: impl IntoIterator<Item = (&'static str, S)>) -> Routes<Observe<S>> {
    let attempts = routes.into_iter().map(|(name, service)| attempt(name, sink).layer(service));
    Routes(attempts.collect(), 0)
}

fn attempt(route: &'static str, sink: &Sink) -> ObserveLayer<Bare> {
    ObserveLayer::attempt().route(route).sink(sink.clone())
}

fn whole(text: &str, usage: Usage) -> Reply {
    Reply::whole(Whole::new(Message::assistant(text)).with_usage(usage))
}

/// Tokens, and whether somebody told them.
#[cfg(any(feature = "metrics", feature = "tracing"))]
fn usage(input: u64, output: u64, estimated: bool) -> Usage {
    let mut usage = Usage::new(input, output);
    usage.estimated = estimated;
    usage
}

/// A model that streams these items, or breaks in the middle.
fn streams(items: impl Fn() -> Vec<Result<Item, Error>> + Send + Sync + 'static) -> Fake<Request, Reply> {
    fake(move |_, _| Answer::Now(Ok(Reply::stream(Parts(items().into())))))
}

/// An error that brings what a log must not show.
#[cfg(any(feature = "metrics", feature = "tracing"))]
fn talkative(kind: seawall::Kind) -> Error {
    Error::provider(kind).with_status(500).with_message(PROMPT).with_source(std::io::Error::other(KEY))
}

/// The items of a stream, or the frames of a body.
struct Parts<T>(VecDeque<Result<T, Error>>);

impl<T: Unpin> Stream for Parts<T> {
    type Item = Result<T, Error>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop_front())
    }
}

impl Body for Parts<&'static str> {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let next = self.0.pop_front();
        Poll::Ready(next.map(|part| part.map(|text| Frame::data(Bytes::from_static(text.as_bytes())))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }
}

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}
