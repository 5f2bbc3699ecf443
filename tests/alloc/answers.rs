//! Answers made to take many times their size in memory. Counted is all that is ever asked for, freed or not.
use super::{ALLOCATOR, ask};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use seawall::{
    chat,
    provider::{Anthropic, Dialect, OpenAi},
};
use stats_alloc::Region;
use std::{convert::Infallible, future::ready, hint::black_box};
use tower::service_fn;

const BYTES: usize = 1 << 20;

pub(super) fn are_bounded() {
    what_is_passed_over();
    what_is_kept();
}

fn repeated(open: &str, part: &str, close: &str) -> Bytes {
    Bytes::from([open, &part.repeat(BYTES / part.len()), close].concat())
}

pub(super) fn asked_for(work: impl FnOnce()) -> usize {
    let region = Region::new(ALLOCATOR);
    work();
    let change = region.change();
    change.bytes_allocated + usize::try_from(change.bytes_reallocated).unwrap_or_default()
}

fn decoding(dialect: &impl Dialect, body: &[u8]) -> usize {
    let (head, ()) = Response::new(()).into_parts();
    asked_for(|| drop(black_box(dialect.decode(&head, black_box(body)))))
}

/// With the client's own copy of the body, and what the classifier makes of it.
fn what_is_passed_over() {
    for part in [r#"{"a":0},"#, "0,", "{},", r#"{"message":{}},"#] {
        for (open, close) in [(r#"{"choices":["#, r#"{}]}"#), (r#"{"choices":[{"message":{"content":["#, r#"{}]}}]}"#)]
        {
            let body = repeated(open, part, close);
            let canned = service_fn(|_: Request<Full<Bytes>>| {
                ready(Ok::<_, Infallible>(Response::new(Full::new(body.clone()))))
            });
            let mut client = OpenAi::without_key().over(canned);
            let asked = asked_for(|| drop(black_box(ask(&mut client, chat::Request::new("m").user("x")))));
            assert!(asked < 4 * BYTES, "{part} in {open}: {asked} bytes for an answer of {BYTES}");
        }
    }
    for part in [r#"{"a":0},"#, "0,", "{},", r#"{"type":"x"},"#, r#"{"type":"text","text":""},"#] {
        let body = repeated(r#"{"content":["#, part, "{}]}");
        let asked = decoding(&Anthropic::without_key(), &body);
        assert!(asked < 4 * BYTES, "{part}: {asked} bytes for an answer of {BYTES}");
    }
    println!("answers of many parts that are passed over: below four times their size");
}

/// The shortest on the wire of what takes the most here, and long texts, which are read through a buffer.
fn what_is_kept() {
    let spoken = |field: &str| format!(r#"{{"choices":[{{"message":{{"{field}":"#);
    let list = |field: &str| spoken(field) + "[";
    let openai = [
        (list("content"), r#"{"text":"a"},"#, r#"{"text":"a"}]}}]}"#),
        (list("content"), r#"["a"],"#, r#"["a"]]}}]}"#),
        (list("content"), r#"{"text":""},"#, r#"{"text":"a"}]}}]}"#),
        (list("tool_calls"), r#"{"function":{"name":""}},"#, r#"{"function":{"name":""}}]}}]}"#),
        (list("tool_calls"), r#"[null,["",null]],"#, r#"[null,["",null]]]}}]}"#),
        (list("tool_calls"), r#"{"function":{"name":"","arguments":0}},"#, r#"{"function":{"name":""}}]}}]}"#),
        (list("tool_calls"), "0,", "0]}}]}"),
        (list("reasoning_details"), r#"{"text":"a"},"#, "0]}}]}"),
        (list("reasoning_details"), r#"{"text":0},"#, "0]}}]}"),
        (list("reasoning_details"), "0,", "0]}}]}"),
        (list("annotations"), "0,", r#"0],"content":"a"}}]}"#),
        (spoken("content") + "\"", r"\n", r#""}}]}"#),
        (spoken("content") + "\"\\n", "a", r#""}}]}"#),
        (spoken("reasoning") + "\"\\n", "a", r#""}}]}"#),
        (r#"{"id":"\n"#.to_owned(), "a", r#"","choices":[{"message":{}}]}"#),
        (list("tool_calls") + r#"{"function":{"name":"","arguments":"\n"#, "a", r#""}}]}}]}"#),
        (list("tool_calls") + r#"{"function":{"name":"","arguments":"#, "[", ""),
    ];
    let openai = openai.map(|(open, part, close)| times(&OpenAi::without_key(), &open, part, close));

    let blocks = r#"{"content":["#;
    let anthropic = [
        (blocks, r#"{"type":"thinking"},"#, r#"{"type":"thinking"}]}"#),
        (blocks, r#"["thinking"],"#, r#"["thinking"]]}"#),
        (blocks, r#"{"type":"redacted_thinking"},"#, r#"{"type":"thinking"}]}"#),
        (blocks, r#"{"type":"text","text":"a"},"#, r#"{"type":"thinking"}]}"#),
        (blocks, r#"{"type":"text","text":"a","citations":[0]},"#, r#"{"type":"thinking"}]}"#),
        (blocks, r#"{"type":"text","text":""},{"type":"thinking"},"#, r#"{"type":"thinking"}]}"#),
        (blocks, r#"{"type":"tool_use","id":"","name":"","input":0},"#, r#"{"type":"thinking"}]}"#),
        (blocks, r#"{"type":"x"},{"type":"thinking"},"#, r#"{"type":"thinking"}]}"#),
        (r#"{"content":[{"type":"text","text":"a","citations":["#, "0,", "0]}]}"),
        (r#"{"content":[{"type":"thinking","thinking":"\n"#, "a", r#""}]}"#),
        (r#"{"content":[{"type":"text","text":"\n"#, "a", r#""}]}"#),
        (r#"{"content":[{"type":"\n"#, "a", r#""}]}"#),
        (r#"{"content":[{"\n"#, "a", r#"":0,"type":"x"}]}"#),
        (r#"{"content":[{"type":"x","y":"#, "[", ""),
    ];
    let anthropic = anthropic.map(|(open, part, close)| times(&Anthropic::without_key(), open, part, close));
    // A text where something else belongs, of letters that an error would write at six times their length.
    for (open, close) in [
        ("\"", "\""),
        (r#"{"choices":""#, r#""}"#),
        (r#"{"choices":[""#, r#""]}"#),
        (r#"{"choices":[{"message":""#, r#""}]}"#),
        (r#"{"choices":[{"message":{"tool_calls":""#, r#""}}]}"#),
        (r#"{"choices":[{"message":{"tool_calls":[""#, r#""]}}]}"#),
        (r#"{"choices":[{"message":{"tool_calls":[{"function":""#, r#""}]}}]}"#),
        (r#"{"choices":[{"message":{"content":"","annotations":""#, r#""}}]}"#),
        (r#"{"choices":[{"message":{}}],"usage":""#, r#""}"#),
        (r#"{"choices":[{"message":{}}],"usage":{"prompt_tokens":""#, r#""}}"#),
        (r#"{"choices":[{"message":{}}],"usage":{"prompt_tokens_details":""#, r#""}}"#),
    ] {
        times(&OpenAi::without_key(), open, "\u{7f}", close);
    }
    for (open, close) in [
        ("\"", "\""),
        (r#"{"content":""#, r#""}"#),
        (r#"{"content":[""#, r#""]}"#),
        (r#"{"content":[{"type":"text","text":"a","citations":""#, r#""}]}"#),
        (r#"{"content":[{"type":"tool_use","id":"a","name":"b","input":{},"caller":""#, r#""}]}"#),
        (r#"{"content":[],"usage":""#, r#""}"#),
        (r#"{"content":[],"usage":{"input_tokens":""#, r#""}}"#),
        (r#"{"content":[],"usage":{"output_tokens_details":""#, r#""}}"#),
    ] {
        times(&Anthropic::without_key(), open, "\u{7f}", close);
    }
    // So many that every one of them is still kept.
    let unknown = [blocks, &r#"{"type":"x"},"#.repeat(1023), r#"{"type":"x"}]}"#].concat();
    let asked = decoding(&Anthropic::without_key(), unknown.as_bytes());
    assert!(asked < 10 * unknown.len(), "unknown blocks: {asked} bytes for an answer of {}", unknown.len());

    let most = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
    println!("what is kept of an answer: {:.1} times its size, of blocks {:.1}", most(&openai), most(&anthropic));
}

/// How many times the size of an answer are asked for to decode it.
fn times(dialect: &impl Dialect, open: &str, part: &str, close: &str) -> f64 {
    let body = repeated(open, part, close);
    let asked = decoding(dialect, &body);
    assert!(asked < 10 * body.len(), "{part} in {open}: {asked} bytes for an answer of {}", body.len());
    #[allow(clippy::cast_precision_loss)]
    let times = asked as f64 / body.len() as f64;
    times
}
