//! What a streamed answer takes: its own text in the steady state, and a few times its size whoever wrote it.
use super::ALLOCATOR;
use seawall::{
    chat::Item,
    provider::{Anthropic, Assemble, Dialect, OpenAi, Stage},
};
use stats_alloc::Region;
use std::hint::black_box;

const EVENTS: usize = 1000;
const BYTES: usize = 1 << 20;

pub(super) fn are_bounded() {
    steady();
    hostile();
}

/// An assembler that has read these, and a list that is used again, as that of a client is.
fn begun<D: Dialect>(dialect: &D, events: &[&str]) -> (D::Assembler, Vec<Item>) {
    let (mut assembler, mut items) = (dialect.assembler(), Vec::with_capacity(16));
    for event in events {
        assert_eq!(assembler.event(None, event.as_bytes(), &mut items), Stage::More, "{event}");
    }
    items.clear();
    (assembler, items)
}

/// One allocation an event: the text that is given. What is gathered grows beside it, in steps that double.
fn steady() {
    fn holds(dialect: &impl Dialect, front: &[&str], event: &str, grows: bool) {
        let (mut assembler, mut items) = begun(dialect, front);
        let _ = assembler.event(None, event.as_bytes(), &mut items);
        let region = Region::new(ALLOCATOR);
        for _ in 0..EVENTS {
            items.clear();
            assert_eq!(black_box(assembler.event(None, black_box(event.as_bytes()), &mut items)), Stage::More);
        }
        let change = region.change();
        assert_eq!(items.len(), 1, "{event}");
        let most = EVENTS + usize::from(grows);
        assert!((EVENTS..=most).contains(&change.allocations), "{} allocations for {event}", change.allocations);
        assert!(change.reallocations <= 16, "{} steps for {event}", change.reallocations);
    }
    let openai = OpenAi::without_key();
    let chunk = |delta: &str| {
        format!(
            r#"{{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"f",
            "choices":[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":null}}],"usage":null}}"#
        )
    };
    holds(&openai, &[], &chunk(r#"{"content":"a\n\"b\""}"#), false);
    holds(&openai, &[], &chunk(r#"{"content":"","reasoning_content":"a\n"}"#), true);
    let call =
        chunk(r#"{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]}"#);
    let more = chunk(r#"{"tool_calls":[{"index":0,"function":{"arguments":"\"a"}}]}"#);
    holds(&openai, &[&call], &more, true);
    let anthropic = Anthropic::without_key();
    for (block, delta) in [
        (r#"{"type":"text","text":""}"#, r#"{"type":"text_delta","text":"a\n\"b\""}"#),
        (r#"{"type":"thinking","thinking":""}"#, r#"{"type":"thinking_delta","thinking":"a\n"}"#),
        (
            r#"{"type":"tool_use","id":"c","name":"f","input":{}}"#,
            r#"{"type":"input_json_delta","partial_json":"\"a"}"#,
        ),
    ] {
        let start = format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#);
        holds(&anthropic, &[&start], &format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#), true);
    }
    println!("a streamed event: its text alone");
}

/// The shortest on the wire of what takes the most here.
fn hostile() {
    let choice = |field: &str| format!(r#"{{"choices":[{{"delta":{{"{field}":"#);
    let list = |field: &str| choice(field) + "[";
    let end = "0]}}]}";
    let openai = [
        (r#"{"choices":["#.to_owned(), "{},", "{}]}"),
        (r#"{"choices":["#.to_owned(), r#"{"index":1},"#, "{}]}"),
        (list("tool_calls"), "{},", "{}]}}]}"),
        (list("tool_calls"), r#"{"id":"a"},"#, "{}]}}]}"),
        (list("tool_calls"), r#"["",""],"#, "{}]}}]}"),
        (list("content"), r#"{"text":"a"},"#, r#"{"text":"a"}]}}]}"#),
        (list("content"), "{},", "{}]}}]}"),
        (list("content"), r#"{"thinking":[{"text":"a"}]},"#, "{}]}}]}"),
        (list("reasoning_details"), "0,", end),
        (list("reasoning_details"), "{},", end),
        (list("reasoning_details"), r#"{"type":"reasoning.text","text":"a"},"#, end),
        (list("reasoning_details"), r#"{"type":"reasoning.text"},{"type":"reasoning.summary"},"#, end),
        (list("annotations"), "0,", end),
        (choice("content") + "\"", r"\n", r#""}}]}"#),
        (choice("reasoning") + "\"", r"\n", r#""}}]}"#),
        (list("tool_calls") + r#"{"function":{"name":"","arguments":"#, "[", ""),
        (list("tool_calls") + r#"{"function":{"name":"a","arguments":"\n"#, "a", r#""}}]}}]}"#),
    ];
    let whole = r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
    let openai = openai.map(|(open, part, close)| times(&OpenAi::without_key(), &[], &open, part, close, whole));

    let start = |block: &str| format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#);
    let delta = |delta: &str| format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"{delta}","#);
    let [text, news, tool] = [r#"{"type":"text","text":""}"#, r#"{"type":"x"}"#, r#"{"type":"tool_use"}"#].map(start);
    let anthropic = [
        (&news, delta("x") + r#""a":["#, "0,", "0]}}"),
        (&news, delta("x") + r#""a":0"#, r#","a":0"#, "}}"),
        (&news, delta("x") + r#""a":0"#, r#","\n":"""#, "}}"),
        (&news, delta("input_json_delta") + r#""partial_json":""#, "[", r#""}}"#),
        (&tool, delta("input_json_delta") + r#""partial_json":""#, r"\n", r#""}}"#),
        (&text, delta("text_delta") + r#""text":""#, r"\n", r#""}}"#),
        (&text, delta("citations_delta") + r#""citation":["#, "0,", "0]}}"),
        (&text, start(r#"{"type":"x""#).replace("}", ""), r#","a":0"#, "}}"),
    ];
    let whole = r#"{"type":"message_stop"}"#;
    let end = r#"{"type":"content_block_stop","index":0}"#;
    let anthropic = anthropic.map(|(front, open, part, close)| {
        times(&Anthropic::without_key(), &[front], &open, part, close, end);
        times(&Anthropic::without_key(), &[front], &open, part, close, whole)
    });
    let most = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
    println!(
        "what is made of a streamed event: {:.1} times its size, of blocks {:.1}",
        most(&openai),
        most(&anthropic)
    );
}

/// How many times the size of an event are asked for to read it and to give all that it holds.
fn times(dialect: &impl Dialect, front: &[&str], open: &str, part: &str, close: &str, end: &str) -> f64 {
    let event = [open, &part.repeat(BYTES / part.len()), close].concat();
    let (mut assembler, mut items) = begun(dialect, front);
    let region = Region::new(ALLOCATOR);
    for event in [&event, end] {
        black_box(assembler.event(None, black_box(event.as_bytes()), &mut items));
    }
    let change = region.change();
    let asked = change.bytes_allocated + usize::try_from(change.bytes_reallocated).unwrap_or_default();
    assert!(asked < 10 * event.len(), "{part} in {open}: {asked} bytes for an event of {}", event.len());
    #[allow(clippy::cast_precision_loss)]
    let times = asked as f64 / event.len() as f64;
    times
}
