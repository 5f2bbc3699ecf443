//! What clients send, and what they are sent.
use crate::{DECODER, RUNTIME, bodies, bounded_by, holds};
use bytes::{Bytes, BytesMut};
use http::Response;
use http_body_util::Full;
use seawall::{
    Error, Kind, Usage,
    chat::{FinishReason, Item, Native, Reasoning, Request, ToolCall},
    provider::{Client, Dialect},
    serve::{Failure, Protocol, Scribe},
};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::{convert::Infallible, future::ready};
use tower::{ServiceExt, service_fn};

/// What a request may take for each of its bytes, at the worst: an object of one field takes eleven places, and a list that grows holds both
/// of its sizes. Some hundred thousand such values are all that is read; `tests/alloc.rs` has the bounds of each part.
const TIMES: usize = 140;

/// Reads a request, within the bound; what is read can be stored and sent to anybody, and is the same when it is read again.
pub fn asks(protocol: &impl Protocol, data: &[u8]) {
    for body in bodies(data, 64 * 1024) {
        let bytes = Bytes::from(body);
        match bounded_by(TIMES, &bytes, DECODER, |_| protocol.decode(&bytes)) {
            Ok(request) => {
                let again = protocol.decode(&bytes).expect("what was read once is read again");
                let stored = |request: &Request| serde_json::to_vec(request).expect("a request can be stored");
                assert!(stored(&request) == stored(&again), "it reads the same");
                holds(&request);
            }
            Err(error) => {
                assert!(matches!(error.kind(), Kind::InvalidRequest | Kind::UnsupportedParameter), "{error}");
                let told = protocol.failure(&Failure::of(&error));
                assert!(told.len() < 4096, "what is wrong is told shortly");
                serde_json::from_slice::<IgnoredAny>(&told).expect("a failure is JSON");
            }
        }
    }
}

/// Writes the items that these bytes say as a stream, and ends it or breaks it: a client of the dialect reads the one as whole, with the same
/// text and calls, and the other as a failure.
pub fn writes<P: Protocol, D: Dialect>(protocol: &P, dialect: &D, data: &[u8]) {
    let Some((how, data)) = data.split_first() else { return };
    let (breaks, request) = (how % 2 == 1, Request::new("m").user("?").stream());
    let (mut scribe, mut out) = (protocol.scribe(&request), BytesMut::new());
    let (mut text, mut calls, mut shown) = (String::new(), Vec::new(), 0);
    let mut pieces = data.split(|byte| *byte == 0xFF);
    while let Some(piece) = pieces.next().filter(|_| shown < 500) {
        let Some((kind, piece)) = piece.split_first() else { continue };
        let said = String::from_utf8_lossy(piece);
        shown += 1;
        match kind % 12 {
            0 => scribe.alive(&mut out),
            1 => scribe.item(&Item::Skipped, &mut out),
            2 | 3 => {
                text.push_str(&said);
                scribe.item(&Item::Text((*said).into()), &mut out);
            }
            4 => scribe.item(&Item::Reasoning((*said).into()), &mut out),
            5 => {
                let call = ToolCall::new(format!("call_{shown}"), format!("tool_{shown}"), &*said);
                calls.push(call.name().to_owned());
                scribe.item(&Item::ToolCall(call), &mut out);
            }
            6 => scribe.item(&Item::Usage(Usage::new(shown, piece.len() as u64)), &mut out),
            7 => scribe.item(&Item::Finish(FinishReason::Length), &mut out),
            8 => scribe.item(&Item::Started { id: Some((*said).into()), model: None }, &mut out),
            9 => native(&said, r#"{"type":"x","said":"#, "}")
                .into_iter()
                .for_each(|native| scribe.item(&Item::Native(native), &mut out)),
            10 => {
                native(&said, "[", "]").into_iter().for_each(|native| scribe.item(&Item::Citations(native), &mut out))
            }
            _ => {
                let thought = native(&said, r#"{"type":"thinking","signature":"#, "}")
                    .map(|native| Item::Thought(Reasoning::new("Hm.", native)));
                thought.iter().for_each(|item| scribe.item(item, &mut out));
            }
        }
        assert!(out.is_empty() || out.ends_with(b"\n\n"), "events are whole");
    }
    match breaks {
        true => scribe.failure(&Failure::of(&Error::provider(Kind::Overloaded)), &mut out),
        false => scribe.end(&mut out),
    }
    let written = out.freeze();
    let (is_whole, read, called) = reads(dialect, written.clone());
    let written = || String::from_utf8_lossy(&written).into_owned();
    assert_eq!(is_whole, !breaks, "{}", written());
    if is_whole {
        assert_eq!(read, text, "{}", written());
        assert_eq!(called, calls, "{}", written());
    }
}

/// As a decoder makes it of a block.
fn native(said: &str, open: &str, close: &str) -> Option<Native> {
    serde_json::from_str::<&RawValue>(said).ok()?;
    let json = RawValue::from_string([open, said, close].concat()).ok()?;
    Some(Native::new("anthropic", json))
}

/// Whether a client of the dialect takes it for whole, the text, and the names of the calls.
fn reads<D: Dialect>(dialect: &D, body: Bytes) -> (bool, String, Vec<String>) {
    let answer = move |_: http::Request<Full<Bytes>>| {
        let response = Response::builder().header("content-type", "text/event-stream").body(Full::new(body.clone()));
        ready(Ok::<_, Infallible>(response.expect("a response")))
    };
    let client = Client::new(dialect.clone(), service_fn(answer));
    RUNTIME.block_on(async {
        let Ok(mut reply) = client.oneshot(Request::new("m").user("?").stream()).await else {
            return (false, String::new(), Vec::new());
        };
        let is_whole = reply.read().await.is_ok();
        assert_eq!(reply.skipped(), 0, "each event can be read");
        (is_whole, reply.text().into_owned(), reply.tool_calls().map(|call| call.name().to_owned()).collect())
    })
}
