//! What real servers refused, and what they took: each found in a report of theirs.
use super::*;
use seawall::{
    Change, Kind, Mend, Models,
    chat::{Part, Role, ToolResult},
};
use serde_json::json;

fn fitted(dialect: &impl Dialect, request: &chat::Request) -> (Value, Vec<Change>) {
    let mut fit = Fit::new(Models::default().get(request.model_name()));
    let encoded = dialect.encode(request, &mut fit).unwrap().into_body();
    (serde_json::from_slice(&encoded).unwrap(), fit.changes().to_vec())
}

fn thought(by: &str) -> Part {
    Part::Reasoning(thoughts(by, "Hm.", r#"{"type":"thinking","thinking":"Hm.","signature":"anthropic"}"#))
}

fn thinking_call(by: &str, id: &str) -> Message {
    Message::new(Role::Assistant, [thought(by), Part::ToolCall(ToolCall::new(id, "look", "{}"))])
}

#[test]
fn thinking_stays_on_while_a_turn_that_began_with_thoughts_calls_on_without_more() {
    let thinking = json!({ "type": "enabled", "budget_tokens": 1024 });
    let ask = |turns: &[Message]| {
        let history = turns.iter().cloned().flat_map(closed);
        let request = history.fold(question(), chat::Request::message).extra("anthropic", "thinking", thinking.clone());
        body(&anthropic(), &request)["thinking"].clone()
    };
    let (own, bare, foreign) = (thinking_call("anthropic", "a"), calls(["b"]), thinking_call("deepseek", "c"));
    assert_eq!(ask(&[own.clone(), bare.clone()]), thinking, "it does not think before each call");
    assert_eq!(ask(&[own.clone(), foreign.clone()]), thinking, "and not where another one called in between");
    assert_eq!(ask(&[foreign.clone(), bare.clone()]), Value::Null);
    let anew = |turn: Message| {
        let before = closed(own.clone()).into_iter().chain([Message::assistant("Blue."), Message::user("And this?")]);
        let history = before.chain(closed(turn));
        let request = history.fold(question(), chat::Request::message).extra("anthropic", "thinking", thinking.clone());
        body(&anthropic(), &request)["thinking"].clone()
    };
    assert_eq!((anew(bare), anew(thinking_call("anthropic", "d"))), (Value::Null, thinking.clone()));
}

#[test]
fn a_paused_turn_goes_back_to_a_model_that_goes_on_with_no_other() {
    let search = |by: &str| Part::Native(Native::new(by, raw(r#"{"type":"server_tool_use","id":"srvtoolu_1"}"#)));
    let ask = |last: Message| chat::Request::new("claude-opus-4-8").user("What is new?").message(last);
    let paused = Message::assistant("I look.").part(search("anthropic"));
    let (sent, changes) = fitted(&anthropic(), &ask(paused.clone().part(Part::Text("So far:".into()))));
    assert_eq!((&sent["messages"][1]["content"][1]["type"], changes), (&json!("server_tool_use"), vec![]));
    for other in [Message::assistant("I look."), Message::assistant("I look.").part(search("gemini"))] {
        let fit = &mut Fit::new(Models::default().get("claude-opus-4-8"));
        assert_eq!(anthropic().encode(&ask(other), fit).unwrap_err().kind(), Kind::InvalidRequest);
    }
}

#[test]
fn an_error_without_a_word_says_so_since_anthropic_refuses_an_empty_one() {
    let failed = |id: &str| Message::new(Role::Tool, [Part::ToolResult(ToolResult::new(id, " ").error())]);
    let request = question().message(calls(["a", "b"])).tool_result("a", "").message(failed("b"));
    let (sent, changes) = fitted(&anthropic(), &request);
    let nothing = json!([{ "type": "text", "text": "(no content)" }]);
    let results = &sent["messages"][2]["content"];
    assert_eq!((results[0].get("content"), &results[1]["content"]), (None, &nothing));
    assert_eq!(changes, [Change::Mended { message: 3, how: Mend::Filled }]);
}

#[test]
fn blanks_are_cut_from_whatever_text_comes_last() {
    let ends = [
        vec![Message::assistant("So: ").part(Part::Text(" ".into()))],
        vec![Message::assistant("So: ").part(thought("deepseek"))],
        vec![Message::assistant("So: "), Message::assistant("")],
        vec![Message::new(Role::Assistant, [Part::Refusal("So: ".into())])],
    ];
    for end in ends {
        let request = end.into_iter().fold(question(), chat::Request::message);
        let (sent, changes) = fitted(&anthropic(), &request);
        assert_eq!(sent["messages"][1]["content"], json!([{ "type": "text", "text": "So:" }]));
        assert!(changes.contains(&Change::Mended { message: 1, how: Mend::Trimmed }), "{changes:?}");
    }
}

