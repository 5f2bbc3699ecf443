//! What real servers refused, and what they took: each found in a report of theirs.
use super::*;
use seawall::{
    Change, Kind, Mend, Models,
    chat::{Part, Role, ToolChoice, ToolResult},
    provider::Preset,
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
    assert_eq!(ask(&[foreign, bare.clone()]), Value::Null);
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
    let (sent, changes) = fitted(&anthropic(), &ask(paused.part(Part::Text("So far:".into()))));
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
fn no_tool_is_chosen_where_there_are_none() {
    let request = question().tool_choice(ToolChoice::Never);
    assert_eq!(body(&openai(), &request).get("tool_choice"), None, "a 400 of OpenAI's");
    assert_eq!(body(&openai(), &request.tool(chat::Tool::new("look", "")))["tool_choice"], "none");
}

#[test]
fn a_turn_that_goes_on_behind_its_calls_is_one_so_that_the_results_follow() {
    let history = [calls(["a"]), Message::assistant("And more."), calls(["b"])];
    let results = [Message::tool("a", "1"), Message::tool("b", "2")];
    let request = history.into_iter().chain(results).fold(question(), chat::Request::message);
    let sent = body(&openai(), &request);
    assert_eq!(strict::openai(&sent), Ok(()));
    assert_eq!(strict::anthropic(&body(&anthropic(), &request)), Ok(()));
    let turn = &sent["messages"][1];
    let ids: Vec<_> = turn["tool_calls"].as_array().unwrap().iter().map(|call| call["id"].clone()).collect();
    assert_eq!((&turn["content"], ids), (&json!("And more."), vec![json!("a"), json!("b")]));
    let apart =
        [Message::assistant("One."), Message::assistant("Two.")].into_iter().fold(question(), chat::Request::message);
    assert_eq!(body(&openai(), &apart)["messages"].as_array().unwrap().len(), 3);
}

#[test]
fn what_is_text_alone_goes_as_one_text_since_many_take_no_list() {
    let text = |text: &str| Part::Text(text.into());
    let cited = Message::new(
        Role::Assistant,
        [text("The sea "), text("is blue."), thought("anthropic"), text("So is the sky.")],
    );
    let question = chat::Request::new("m").message(Message::user("Look.").part(text("What is it?")));
    let sent = body(&Preset::DEEPSEEK.with_key("sk-1"), &question.message(cited).user("?"));
    assert_eq!(sent["messages"][0]["content"], "Look.\nWhat is it?");
    assert_eq!(sent["messages"][1]["content"], "The sea is blue.\nSo is the sky.");
}

#[test]
fn a_refusal_has_a_field_where_that_is_known_and_is_text_elsewhere() {
    let refused = Message::new(Role::Assistant, [Part::Refusal("I won't.".into())]);
    let request = question().message(refused).user("Please.");
    let turn = |dialect: OpenAi| body(&dialect, &request)["messages"][1].clone();
    let own = json!({ "role": "assistant", "content": "", "refusal": "I won't." });
    let text = json!({ "role": "assistant", "content": "I won't." });
    assert_eq!(
        (turn(openai()), turn(Preset::AZURE.with_key("k").base_url("https://r.example"))),
        (own.clone(), own.clone())
    );
    assert_eq!(turn(Preset::MISTRAL.with_key("k")), text, "a 422 to a field that it does not know");
    assert_eq!(turn(openai().base_url("https://llm.example.com/v1")), text);
    const MINE: Preset = Preset::new("mine", "https://llm.example.com/v1").refusals();
    assert_eq!(turn(MINE.with_key("k")), own);
}

#[test]
fn a_turn_of_the_models_that_says_nothing_says_so() {
    let silent = question().message(Message::new(Role::Assistant, [thought("anthropic")])).user("?");
    let (sent, changes) = fitted(&Preset::MISTRAL.with_key("k"), &silent);
    assert_eq!(sent["messages"][1]["content"], "(no content)");
    assert_eq!(changes, [Change::Foreign { parts: 1 }, Change::Mended { message: 1, how: Mend::Filled }]);
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

#[test]
fn what_a_row_says_of_the_cap_holds() {
    const MINE: Preset = Preset::new("mine", "https://llm.example.com/v1").cap("num_predict");
    let twice = question().max_tokens(5).extra("mine", "num_predict", json!(7));
    let error = MINE.with_key("k").encode(&twice, &mut Fit::default()).unwrap_err();
    assert!(error.to_string().contains("may not set `num_predict`"), "{error}");
    let alone = question().extra("mine", "num_predict", json!(7));
    assert_eq!(body(&MINE.with_key("k"), &alone)["num_predict"], 7);
    let capped = |preset: Preset| fitted(&preset.with_key("k"), &question().max_tokens(5));
    const OLD: Preset = Preset::new("old", "https://llm.example.com/v1").refuses(&["max_tokens"]);
    let (sent, changes) = capped(OLD);
    assert_eq!((&sent["max_completion_tokens"], sent.get("max_tokens"), changes), (&json!(5), None, vec![]));
    let (sent, changes) = capped(OLD.refuses(&["max_tokens", "max_completion_tokens"]));
    assert_eq!((sent.get("max_completion_tokens"), sent.get("max_tokens")), (None, None));
    assert_eq!(changes, [Change::LeftOut { field: "max_tokens".into() }]);
}
