//! Histories that no provider takes as they are: mended where their meaning is certain and told of, else refused.
use super::*;
use bytes::Bytes;
use proptest::prelude::*;
use seawall::{
    Change, Kind, Mend, Origin, Sink, Stack, What,
    chat::{Media, Part, Role, ToolResult},
};
use serde_json::json;
use std::sync::{Arc, Mutex};

/// What it goes out as, and what was changed for that.
fn fitted(dialect: &impl Dialect, request: &chat::Request) -> (Value, Vec<Change>) {
    let mut fit = Fit::default();
    let encoded = dialect.encode(request, &mut fit).unwrap().into_body();
    (serde_json::from_slice(&encoded).unwrap(), fit.changes().to_vec())
}

fn mended(message: usize, how: Mend) -> Change {
    Change::Mended { message, how }
}

fn left_out(field: &'static str) -> Change {
    Change::LeftOut { field: field.into() }
}

#[test]
fn calls_without_results_and_results_without_calls_are_refused_with_their_message() {
    let twice = closed(calls(["a"])).into_iter().chain([Message::user("?"), Message::assistant("Yes.")]);
    let long = "x".repeat(300);
    let rows = [
        (
            question().message(calls(["a", "b"])).tool_result("b", "1"),
            "message 1: the call `a` of the tool `look` has no result",
        ),
        (question().message(calls(["a"])), "message 1: the call `a`"),
        (question().message(calls(["a"])).user("Well?"), "message 1: the call `a`"),
        (question().message(calls(["a"])).message(Message::assistant("Hm.")).user("Well?"), "message 1: the call `a`"),
        (question().tool_result("a", "1"), "message 1: the result for `a` answers no call of the turn before it"),
        (twice.fold(question(), chat::Request::message).tool_result("a", "1"), "message 5: the result for `a`"),
        (spoken(calls(["a"])).tool_result("b", "1"), "message 3: the result for `b`"),
        (spoken(calls(["a"])).tool_result("b\n", "1"), "message 3: the result for `b\\n`"),
        (spoken(calls(["a"])).tool_result(long.as_str(), "1"), "xxx…`"),
    ];
    for (request, words) in rows {
        for error in [
            openai().encode(&request, &mut Fit::default()).unwrap_err(),
            anthropic().encode(&request, &mut Fit::default()).unwrap_err(),
        ] {
            assert_eq!((error.kind(), error.origin(), error.sends()), (Kind::InvalidRequest, Origin::Local, 0));
            let text = error.to_string();
            assert!(text.contains(words) && text.len() < 300, "{text}");
        }
    }
}

#[test]
fn what_only_another_provider_can_read_is_left_out_and_counted() {
    let thought =
        |by: &str| Part::Reasoning(thoughts(by, "Hm.", r#"{"type":"thinking","thinking":"Hm.","signature":"x"}"#));
    let search = |by: &str| Part::Native(Native::new(by, raw(r#"{"type":"server_tool_use"}"#)));
    let turn = |by: &str| Message::assistant("Blue.").part(thought(by)).part(search(by));
    let request = question().message(turn("anthropic")).user("?").message(turn("gemini")).user("?");
    assert_eq!(fitted(&anthropic(), &request).1, [Change::Foreign { parts: 2 }]);
    let others = chat::Request::new("m").history(request.messages().to_vec());
    assert_eq!(fitted(&openai(), &others).1, [Change::Foreign { parts: 2 }, Change::Foreign { parts: 2 }]);
    assert_eq!(fitted(&openai(), &others.user("And?")).1, [], "each turn is told of once");
    let own = question().message(Message::assistant("Blue.").part(thought("openai"))).user("?");
    assert_eq!(fitted(&openai(), &own).1, [], "its own stay here, which is no loss");
}

#[test]
fn empty_turns_say_so_and_a_history_that_the_model_begins_is_opened() {
    let history = [Message::assistant("I begin."), Message::user(" "), Message::assistant(""), Message::user("?")];
    let (sent, changes) = fitted(&anthropic(), &chat::Request::new("m").history(history));
    let all = sent["messages"].as_array().unwrap().iter().map(|turn| turn["content"][0]["text"].as_str().unwrap());
    let nothing = "(no content)";
    assert_eq!(all.collect::<Vec<_>>(), [nothing, "I begin.", nothing, nothing, "?"]);
    assert_eq!(changes, [mended(0, Mend::Opened), mended(1, Mend::Filled), mended(2, Mend::Filled)]);
}

#[test]
fn blanks_at_the_end_of_the_models_last_turn_are_cut_and_nowhere_else() {
    let history =
        |last: &str| question().message(Message::assistant("So: \n")).user("?").message(Message::assistant(last));
    let (sent, changes) = fitted(&anthropic(), &history("{\"a\": \n"));
    assert_eq!(sent["messages"][1]["content"][0]["text"], "So: \n");
    assert_eq!(sent["messages"][3]["content"][0]["text"], "{\"a\":");
    assert_eq!(changes, [mended(3, Mend::Trimmed)]);
    assert_eq!(fitted(&anthropic(), &history("{")).1, []);
    let longer = history("{\"a\": \n").user("Go on.");
    assert_eq!(
        fitted(&anthropic(), &longer).0["messages"][3]["content"][0]["text"],
        "{\"a\": \n",
        "it is not the last now"
    );
    assert_eq!(fitted(&openai(), &history("x ")).0["messages"][3]["content"], "x ");
}

#[test]
fn a_tool_that_the_model_made_up_goes_back_by_a_legal_name() {
    let turn = |name: &str| Message::assistant("").tool_call(ToolCall::new("a", name, "{}"));
    let name = |(sent, _): (Value, Vec<Change>)| sent["messages"][1]["tool_calls"][0]["function"]["name"].clone();
    for (asked, goes) in [("functions.look", "functions_look"), ("", "unnamed"), ("sée", "s_e"), ("look", "look")] {
        assert_eq!(name(fitted(&openai(), &spoken(turn(asked)))), goes);
        let (sent, changes) = fitted(&anthropic(), &spoken(turn(asked)));
        assert_eq!(sent["messages"][1]["content"][0]["name"], goes);
        assert_eq!(changes, Vec::from_iter((asked != goes).then(|| mended(1, Mend::Renamed))));
    }
    assert_eq!(name(fitted(&openai(), &spoken(turn(&"x".repeat(70))))), "x".repeat(64));
    let declared = spoken(turn("files.look")).tool(chat::Tool::new("files.look", ""));
    assert_eq!(name(fitted(&openai(), &declared)), "files.look", "a server that takes such a tool takes its calls");
}

#[test]
fn settings_that_anthropic_has_no_place_for_are_left_out_or_bounded() {
    let request = question().seed(7).stop(" ").stop("END").temperature(1.3);
    let (sent, changes) = fitted(&anthropic(), &request);
    assert_eq!((&sent["stop_sequences"], &sent["temperature"], sent.get("seed")), (&json!(["END"]), &json!(1.0), None));
    assert_eq!(changes, [left_out("seed"), left_out("stop"), Change::Bounded { field: "temperature".into() }]);
    assert_eq!(fitted(&anthropic(), &question().stop("\n")).0.get("stop_sequences"), None);
    let (sent, changes) = fitted(&openai(), &request);
    assert_eq!((&sent["stop"], &sent["temperature"], &sent["seed"]), (&json!([" ", "END"]), &json!(1.3), &json!(7)));
    assert_eq!(changes, []);
}

#[tokio::test]
async fn a_listener_hears_of_each_kind_of_change_and_of_settings_once() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = Sink::new({
        let heard = Arc::clone(&heard);
        move |event| {
            if let What::Changed { key, change } = event.what {
                heard.lock().unwrap().push((event.route.map(str::to_owned), key.unwrap().to_owned(), change.clone()));
            }
        }
    });
    let answer = r#"{"content":[{"type":"text","text":"Blue."}],"stop_reason":"end_turn"}"#;
    let canned = tower::service_fn(move |_| async move { Ok::<_, std::io::Error>(Response::new(answer.to_owned())) });
    let stack = Stack::chat(anthropic().over(canned)).name("claude").sink(sink).build().unwrap();
    let thought = thoughts("deepseek", "Hm.", "\"Hm.\"");
    let request = question().message(Message::assistant("Blue.").part(Part::Reasoning(thought))).user("?").seed(1);
    for request in
        [request.clone(), request.clone(), request.user("!"), question().seed(2), question().model("n").seed(2)]
    {
        stack.ask(request).await.unwrap();
    }
    let told = |model: &str, change| (Some("claude".to_owned()), model.to_owned(), change);
    let expected = [told("m", Change::Foreign { parts: 1 }), told("m", left_out("seed")), told("n", left_out("seed"))];
    let mut heard = heard.lock().unwrap().clone();
    heard.sort_by_key(|(_, model, change)| (model.clone(), change.as_str()));
    assert_eq!(heard, expected);
}

#[test]
fn a_hundred_thousand_doubles_keep_their_digits() {
    let rng = seawall::Rng::seeded(4);
    let random = || std::iter::repeat_with(|| f64::from_bits(rng.bits())).find(|number| number.is_finite()).unwrap();
    let numbers: Vec<f64> = (0..100_000).map(|_| random()).collect();
    let (schema, extra) = (json!({ "enum": numbers[..50_000] }), json!(numbers[50_000..]));
    let request = question().tool(chat::Tool::new("look", "").parameters(schema)).extra("openai", "x", extra);
    let stored: chat::Request = serde_json::from_str(&serde_json::to_string(&request).unwrap()).unwrap();
    for request in [request, stored] {
        let sent = body(&openai(), &request);
        let of = |list: &Value| {
            list.as_array().unwrap().iter().map(|number| number.as_f64().unwrap().to_bits()).collect::<Vec<_>>()
        };
        let all = [of(&sent["tools"][0]["function"]["parameters"]["enum"]), of(&sent["x"])].concat();
        assert!(all.iter().copied().eq(numbers.iter().map(|number| number.to_bits())));
    }
    let temperature = 0.1 + 0.2;
    assert_eq!(body(&openai(), &question().temperature(temperature))["temperature"].as_f64(), Some(temperature));
}

#[test]
fn of_three_dialects_the_two_that_were_asked_last_keep_what_they_encoded() {
    let (here, there, other) = (openai(), anthropic(), openai().name("other"));
    let request = question();
    let sent = |dialect: &dyn Fn(&mut Fit) -> Bytes| dialect(&mut Fit::default()).as_ptr();
    let first = sent(&|fit| here.encode(&request, fit).unwrap().into_body());
    sent(&|fit| there.encode(&request, fit).unwrap().into_body());
    assert_eq!(sent(&|fit| here.encode(&request, fit).unwrap().into_body()), first);
    sent(&|fit| other.encode(&request, fit).unwrap().into_body());
    assert_eq!(sent(&|fit| here.encode(&request, fit).unwrap().into_body()), first, "it was asked before the last");
}

/// A part of a turn that may be changed after it was encoded.
fn change() -> impl Strategy<Value = u8> {
    0..6u8
}

proptest! {
    #[test]
    fn what_is_sent_is_what_was_said_last_however_often_it_was_encoded(changes in prop::collection::vec(change(), 1..12)) {
        let image = || Media::base64("image/png", "iVBOR");
        let (here, there, deepseek) = (openai(), anthropic(), openai().name("deepseek").send_reasoning());
        let mut request = question();
        for (at, change) in changes.into_iter().enumerate() {
            request = match change {
                0 => request.user(format!("{at}")),
                1 => closed(calls(["call_1"])).into_iter().fold(request, chat::Request::message),
                2 => request.system(format!("{at}")),
                3 => request.model(format!("m{at}")),
                4 => {
                    let mut history = request.messages().to_vec();
                    if let Some(last) = history.pop() {
                        let last = match last.role() {
                            Role::Tool => Message::new(Role::Tool, [Part::ToolResult(ToolResult::new("call_1", "2").image(image()))]),
                            _ => last.part(Part::Text("More.".into())),
                        };
                        history.push(last);
                    }
                    request.history(history)
                }
                _ => request.message(Message::assistant("Blue.").part(Part::Reasoning(thoughts("deepseek", "x", "\"x\"")))),
            };
            let stored: chat::Request = serde_json::from_str(&serde_json::to_string(&request).unwrap()).unwrap();
            prop_assert_eq!(body(&here, &request), body(&here, &stored), "a copy that was never encoded says the same");
            prop_assert_eq!(body(&there, &request), body(&there, &stored));
            prop_assert_eq!(body(&deepseek, &request), body(&deepseek, &stored));
            prop_assert_eq!(body(&here, &request), body(&here, &request));
        }
    }
}
