//! A random answer, written as a stream and cut anywhere before its ending, is never a success.
use super::*;
use proptest::prelude::*;
use seawall::{Kind, chat::Part};

/// A part of an answer, with the lengths of the pieces in which it comes.
#[derive(Clone, Debug)]
struct Written {
    kind: Said,
    piece: usize,
}

#[derive(Clone, Debug)]
enum Said {
    Thought(String),
    Text(String),
    Call(String),
}

fn part() -> impl Strategy<Value = Written> {
    let words = "[a-z \"\\\\\u{e9}\u{6d77}\u{1f30a}\n]{1,24}";
    let kind = prop_oneof![
        words.prop_map(Said::Thought),
        words.prop_map(Said::Text),
        words.prop_map(|text| Said::Call(json!({ "at": text }).to_string())),
    ];
    (kind, 1_usize..9).prop_map(|(kind, piece)| Written { kind, piece })
}

fn pieces(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}

/// The stream, and up to where its answer is not all there.
fn as_openai(parts: &[Written]) -> (String, usize) {
    let mut stream = data(&json!({ "id": "1", "model": "m", "choices": [{ "delta": { "role": "assistant" } }] }));
    let mut calls = 0;
    for Written { kind, piece } in parts {
        match kind {
            Said::Thought(text) => {
                stream.extend(pieces(text, *piece).iter().map(|text| delta(&json!({ "reasoning_content": text }))));
            }
            Said::Text(text) => {
                stream.extend(pieces(text, *piece).iter().map(|text| delta(&json!({ "content": text }))))
            }
            Said::Call(arguments) => {
                let of = |more: Value| delta(&json!({ "tool_calls": [more] }));
                stream += &of(json!({ "index": calls, "id": format!("c{calls}"), "function": { "name": "look" } }));
                let more = pieces(arguments, *piece);
                stream.extend(more.iter().map(|text| of(json!({ "index": calls, "function": { "arguments": text } }))));
                calls += 1;
            }
        }
    }
    stream += &finish("stop");
    let end = stream.len() - 2;
    (stream + &data(&json!({ "choices": [], "usage": { "prompt_tokens": 1, "completion_tokens": 2 } })) + DONE, end)
}

fn as_anthropic(parts: &[Written]) -> (String, usize) {
    let message = json!({ "id": "1", "model": "m", "usage": { "input_tokens": 1, "output_tokens": 1 } });
    let mut stream = event(&json!({ "type": "message_start", "message": message }));
    for (index, Written { kind, piece }) in parts.iter().enumerate() {
        let (block, deltas): (Value, Vec<Value>) = match kind {
            Said::Thought(text) => {
                let thoughts = pieces(text, *piece).into_iter();
                let thoughts = thoughts.map(|text| json!({ "type": "thinking_delta", "thinking": text }));
                let signature = json!({ "type": "signature_delta", "signature": "c2ln" });
                (json!({ "type": "thinking", "thinking": "", "signature": "" }), thoughts.chain([signature]).collect())
            }
            Said::Text(text) => {
                let texts = pieces(text, *piece).into_iter().map(|text| json!({ "type": "text_delta", "text": text }));
                (json!({ "type": "text", "text": "" }), texts.collect())
            }
            Said::Call(arguments) => {
                let input = pieces(arguments, *piece).into_iter();
                let input = input.map(|text| json!({ "type": "input_json_delta", "partial_json": text }));
                let block = json!({ "type": "tool_use", "id": format!("c{index}"), "name": "look", "input": {} });
                (block, input.collect())
            }
        };
        stream += &event(&json!({ "type": "content_block_start", "index": index, "content_block": block }));
        let deltas = deltas.iter();
        stream.extend(
            deltas.map(|delta| event(&json!({ "type": "content_block_delta", "index": index, "delta": delta }))),
        );
        stream += &event(&json!({ "type": "content_block_stop", "index": index }));
    }
    let usage = json!({ "output_tokens": 2 });
    stream += &event(&json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": usage }));
    stream += &event(&json!({ "type": "message_stop" }));
    let end = stream.len() - 2;
    (stream, end)
}

/// All texts, all thoughts and the calls of what was written.
fn written(parts: &[Written]) -> [Vec<String>; 3] {
    let mut all = [vec![String::new()], vec![String::new()], Vec::new()];
    for Written { kind, .. } in parts {
        match kind {
            Said::Text(text) => all[0][0].push_str(text),
            Said::Thought(text) => all[1][0].push_str(text),
            Said::Call(arguments) => all[2].push(arguments.clone()),
        }
    }
    all
}

fn read(answer: &Answer) -> [Vec<String>; 3] {
    let mut all = [vec![String::new()], vec![String::new()], Vec::new()];
    for part in answer.message().parts() {
        match part {
            Part::Text(text) => all[0][0].push_str(text.as_str()),
            Part::Reasoning(thoughts) => all[1][0].push_str(thoughts.text()),
            Part::ToolCall(call) => all[2].push(call.arguments().to_owned()),
            other => panic!("{other:?}"),
        }
    }
    all
}

fn assert_holds(speaks: &Speaks, parts: &[Written], stream: &str, end: usize, cut: usize, size: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let whole = speaks.read(chunks(stream.as_bytes(), size)).await;
        assert!(whole.error.is_none() && whole.skipped == 0, "{:?} in {stream}", whole.error);
        assert_eq!(read(&whole.answer), written(parts), "{stream}");
        let cut = cut % end;
        let part = speaks.read(chunks(&stream.as_bytes()[..cut], size)).await;
        let error = part.error.unwrap_or_else(|| panic!("cut at {cut}: a success: {stream}"));
        assert_eq!(error.kind(), Kind::Transport, "cut at {cut}: {stream}");
        let (told, all) = (read(&part.answer), written(parts));
        assert!(all[0][0].starts_with(&told[0][0]) && all[1][0].starts_with(&told[1][0]), "cut at {cut}: {stream}");
        assert!(all[2].starts_with(&told[2]), "no call is given before it is whole: cut at {cut}: {stream}");
    });
}

proptest! {
    #[test]
    fn a_random_answer_comes_whole_or_with_an_error(
        parts in prop::collection::vec(part(), 0..6),
        cut in any::<usize>(),
        size in 1_usize..200,
    ) {
        let (stream, end) = as_openai(&parts);
        assert_holds(&openai(), &parts, &stream, end, cut, size);
        let (stream, end) = as_anthropic(&parts);
        assert_holds(&anthropic(), &parts, &stream, end, cut, size);
    }
}
