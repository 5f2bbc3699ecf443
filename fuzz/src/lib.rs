//! What the targets share: how much a call may hold, and what a history must stand.
mod served;

pub use served::{asks, writes};

use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame};
use http_body_util::Full;
use peak_alloc::PeakAlloc;
use seawall::{
    chat,
    provider::{Anthropic, Client, Dialect, Fit, OpenAi},
};
use serde::de::IgnoredAny;
use std::{
    collections::VecDeque,
    convert::Infallible,
    future::ready,
    pin::Pin,
    sync::LazyLock,
    task::{Context, Poll},
};
use tokio::runtime::Runtime;
use tower::{ServiceExt, service_fn};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// What a decoder may hold beside ten times its input. An error with its words and the head of a reply are some hundred
/// bytes, however short the answer was.
pub const DECODER: usize = 4096;

/// Runs a reader of these bytes, and asserts that it holds at most ten times as many at a time, and these.
pub fn bounded<T>(input: &[u8], beside: usize, read: impl FnOnce(&[u8]) -> T) -> T {
    bounded_by(10, input, beside, read)
}

/// The same, of so many times.
pub fn bounded_by<T>(times: usize, input: &[u8], beside: usize, read: impl FnOnce(&[u8]) -> T) -> T {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let result = read(input);
    let held = ALLOCATOR.peak_usage() - before;
    assert!(held <= times * input.len() + beside, "{held} bytes held for an input of {}", input.len());
    result
}

/// The input, and where it is `open 0xFF part 0xFF close`, which no text is, the body of this length that these make: what
/// one part costs too much shows only in many.
pub fn bodies(data: &[u8], length: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut pieces = data.split(|byte| *byte == 0xFF);
    let long = match (pieces.next(), pieces.next(), pieces.next(), pieces.next()) {
        (Some(open), Some(part), Some(close), None) if !part.is_empty() => {
            Some([open, &part.repeat((length / part.len()).max(1)), close].concat())
        }
        _ => None,
    };
    [data.to_vec()].into_iter().chain(long)
}

/// Decodes, within the bound; what is read can be sent to anybody and stored.
pub fn decodes(dialect: &impl Dialect, data: &[u8]) {
    let (head, ()) = Response::new(()).into_parts();
    for body in bodies(data, 64 * 1024) {
        if let Ok(reply) = bounded(&body, DECODER, |body| dialect.decode(&head, body)) {
            let answer = reply.message().clone();
            holds(&chat::Request::new("m").user("?").message(answer).user("?"));
        }
    }
}

/// A request goes out as JSON or is refused, and comes back from a store as it was.
pub fn holds(request: &chat::Request) {
    let stored = serde_json::to_vec(request).expect("a request can be stored");
    let restored: chat::Request = serde_json::from_slice(&stored).expect("what was stored can be loaded");
    assert_eq!(request.messages(), restored.messages());
    assert_eq!(stored, serde_json::to_vec(&restored).expect("a request can be stored"));
    let openrouter = OpenAi::without_key().name("openrouter").base_url("https://openrouter.ai/api/v1");
    sent(&OpenAi::without_key(), request, &restored);
    sent(&openrouter.send_reasoning(), request, &restored);
    sent(&Anthropic::without_key(), request, &restored);
}

fn sent(dialect: &impl Dialect, request: &chat::Request, restored: &chat::Request) {
    match (dialect.encode(request, &mut Fit::default()), dialect.encode(restored, &mut Fit::default())) {
        (Ok(one), Ok(other)) => {
            assert_eq!(one.body(), other.body());
            serde_json::from_slice::<IgnoredAny>(one.body()).expect("a body is JSON");
        }
        (one, other) => {
            assert_eq!(one.err().map(|error| error.to_string()), other.err().map(|error| error.to_string()))
        }
    }
}

/// Reads a stream through a client, in pieces of the length that the first byte says: it ends, within the bound, and means what
/// it means in one piece.
pub fn streams<D: Dialect>(dialect: &D, data: &[u8]) {
    let Some((length, data)) = data.split_first() else { return };
    for body in bodies(data, 64 * 1024) {
        // First without the bound: what is made once, such as the table of models, is not this stream's.
        let cut = read(dialect, &body, usize::from(*length).max(1));
        let whole = bounded(&body, STREAM, |body| read(dialect, body, usize::MAX));
        assert_eq!(whole, cut, "in pieces of {length}");
    }
}

/// What a stream may hold beside ten times its input: the client, its request, a runtime's timer, and the tree that an event which
/// tells of an error is read into.
const STREAM: usize = 64 * 1024 + TREE;

/// The tree that bodies are read into may take 16 KiB a level, besides a share of the input, and a recorded stream is read
/// into two.
pub const TREE: usize = 768 * 1024;

/// The text, the calls, and how it ended.
fn read<D: Dialect>(dialect: &D, body: &[u8], length: usize) -> (String, usize, String) {
    let pieces: Vec<_> = body.chunks(length.min(body.len().max(1))).map(Bytes::copy_from_slice).collect();
    let answer = move |_: http::Request<Full<Bytes>>| {
        let response =
            Response::builder().header("content-type", "text/event-stream").body(Pieces(pieces.clone().into()));
        ready(Ok::<_, Infallible>(response.expect("a response")))
    };
    let client = Client::new(dialect.clone(), service_fn(answer));
    RUNTIME.block_on(async {
        match client.oneshot(chat::Request::new("m").user("?").stream()).await {
            Ok(mut reply) => {
                let end = reply.read().await;
                let end = end.map_or_else(|error| error.to_string(), |()| "whole".to_owned());
                (reply.text().into_owned(), reply.tool_calls().count(), end)
            }
            Err(error) => (String::new(), 0, error.to_string()),
        }
    })
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime of one thread")
});

struct Pieces(VecDeque<Bytes>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }
}
