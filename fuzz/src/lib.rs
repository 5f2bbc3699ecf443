//! What the targets share: how much a call may hold, and what a history must stand.
use http::Response;
use peak_alloc::PeakAlloc;
use seawall::{
    chat,
    provider::{Anthropic, Dialect, Fit, OpenAi},
};
use serde::de::IgnoredAny;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// What a decoder may hold beside ten times its input. An error with its words and the head of a reply are some hundred
/// bytes, however short the answer was.
pub const DECODER: usize = 4096;

/// Runs a reader of these bytes, and asserts that it holds at most ten times as many at a time, and these.
pub fn bounded<T>(input: &[u8], beside: usize, read: impl FnOnce(&[u8]) -> T) -> T {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let result = read(input);
    let held = ALLOCATOR.peak_usage() - before;
    assert!(held <= 10 * input.len() + beside, "{held} bytes held for an input of {}", input.len());
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
