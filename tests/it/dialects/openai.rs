use super::*;
use seawall::{
    Kind,
    chat::{Media, Part, ResponseFormat, Role, Tool, ToolResult},
    provider::NoText,
};
use serde_json::json;

fn turns(dialect: &OpenAi, request: &chat::Request) -> Value {
    body(dialect, request)["messages"].take()
}

/// Case 24.
#[test]
fn a_turn_that_only_calls_a_tool_goes_out_as_each_server_takes_it() {
    let request = question().message(calls(["a"])).tool_result("a", "1");
    let said = |form| turns(&openai().no_text(form), &request)[1].take();
    let called =
        json!([{ "id": "a", "type": "function", "function": { "name": "look", "arguments": "{\"at\": 1.0}" } }]);
    assert_eq!(said(NoText::Empty), json!({ "role": "assistant", "content": "", "tool_calls": called }));
    assert_eq!(said(NoText::Null), json!({ "role": "assistant", "content": null, "tool_calls": called }));
    assert_eq!(said(NoText::Absent), json!({ "role": "assistant", "tool_calls": called }));
    assert_eq!(turns(&openai(), &request)[1], said(NoText::Empty), "which is the default");
    let worded = spoken(Message::assistant("So:").tool_call(ToolCall::new("a", "look", "{}")));
    assert_eq!(turns(&openai().no_text(NoText::Null), &worded)[1]["content"], "So:");
}

/// Case 9.
#[test]
fn three_calls_of_one_name_are_answered_by_id_and_never_by_name() {
    let request = question().message(calls(["x-1", "x-2", "x-3"]));
    let request = ["x-3", "x-1", "x-2"].iter().fold(request, |request, id| request.tool_result(*id, *id));
    let deepseek = openai().name("deepseek").base_url("https://api.deepseek.com");
    let golden = ["x-3", "x-1", "x-2"].map(|id| json!({ "role": "tool", "tool_call_id": id, "content": id }));
    assert_eq!(turns(&deepseek, &request).as_array().unwrap()[2..], golden);
}

/// Case 31.
#[test]
fn thoughts_go_back_with_tool_turns_where_that_is_asked_for_and_nowhere_else() {
    let deepseek = openai().name("deepseek").base_url("https://api.deepseek.com").send_reasoning();
    let body = r#"{"choices":[{"message":{"content":"","reasoning_content":"Caf\u00e9?  Hm.",
        "tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]}}]}"#;
    let reply = decoded(&deepseek, body).unwrap();
    assert_eq!(reply.message().reasoning().next().unwrap().text(), "Café?  Hm.");
    let request = question().message(reply.message().clone()).tool_result("a", "1");
    let sent = deepseek.encode(&request, &mut Fit::default()).unwrap().into_body();
    assert!(std::str::from_utf8(&sent).unwrap().contains(r#""reasoning_content":"Caf\u00e9?  Hm.""#), "byte for byte");
    for other in [openai(), openai().name("deepseek"), openai().name("xai").send_reasoning()] {
        let turn = turns(&other, &request)[1].take();
        assert!(turn.get("reasoning_content").is_none_or(|thoughts| thoughts == ""), "{turn}");
    }
    let signed = thoughts("anthropic", "Hm.", r#"{"type":"thinking","thinking":"Hm.","signature":"x"}"#);
    let foreign = calls(["a"]).part(Part::Reasoning(signed));
    assert_eq!(turns(&deepseek, &spoken(foreign))[1]["reasoning_content"], "", "the field must be there");
    let wordy = Message::assistant("Done.").part(Part::Reasoning(thoughts("deepseek", "x", "\"x\"")));
    assert_eq!(turns(&deepseek, &question().message(wordy))[1].get("reasoning_content"), None);
}

#[test]
fn images_and_documents_stand_in_user_turns_and_what_tools_show_follows_their_results() {
    let shown = Message::user("Look.")
        .part(Part::Image(Media::url("https://h/a.png")))
        .part(Part::Document(Media::base64("application/pdf", "JVBE").name("a.pdf")));
    let image = |url: &str| json!({ "type": "image_url", "image_url": { "url": url } });
    let golden = json!([
        { "type": "text", "text": "Look." },
        image("https://h/a.png"),
        { "type": "file", "file": { "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE" } },
    ]);
    assert_eq!(turns(&openai(), &chat::Request::new("m").message(shown))[0]["content"], golden);
    let plot = ToolResult::new("a", "The plot.").image(Media::base64("image/png", "iVBOR")).error();
    let request = question().message(calls(["a", "b"])).message(Message::new(Role::Tool, [Part::ToolResult(plot)]));
    let turns = turns(&openai(), &request.tool_result("b", "2").user("Well?"));
    let golden = [
        json!({ "role": "tool", "tool_call_id": "a", "content": "The plot." }),
        json!({ "role": "tool", "tool_call_id": "b", "content": "2" }),
        json!({ "role": "user", "content": [
            { "type": "text", "text": "From the tool call a:" }, image("data:image/png;base64,iVBOR"),
        ] }),
        json!({ "role": "user", "content": "Well?" }),
    ];
    assert_eq!(turns.as_array().unwrap()[2..], golden);
}

#[test]
fn a_document_that_is_not_here_is_refused_with_its_message() {
    let afar = Media::url("https://h/a.pdf");
    let given = ToolResult::new("a", "").document(afar.clone());
    let spoken = question().message(calls(["a"])).message(Message::new(Role::Tool, [Part::ToolResult(given)]));
    for (request, index) in [(question().message(Message::user("").part(Part::Document(afar))), 1), (spoken, 2)] {
        let error = openai().encode(&request, &mut Fit::default()).unwrap_err();
        assert_eq!(error.kind(), Kind::InvalidRequest);
        assert!(error.to_string().contains(&format!("message {index}: OpenAI fetches no documents")), "{error}");
    }
}

#[test]
fn formats_and_strict_schemas_go_out_in_openais_words() {
    let schema = json!({ "type": "object" });
    let format = ResponseFormat::json_schema("answer", schema.clone());
    let asked = |request: &chat::Request, field: &str| body(&openai(), request)[field].take();
    let named = |format| asked(&question().response_format(format), "response_format");
    assert_eq!(named(ResponseFormat::Json), json!({ "type": "json_object" }));
    let mut golden = json!({ "type": "json_schema", "json_schema": { "name": "answer", "schema": schema } });
    assert_eq!(named(format.clone()), golden);
    golden["json_schema"]["strict"] = json!(true);
    assert_eq!(named(format.strict()), golden);
    assert_eq!(named(ResponseFormat::Text), Value::Null);
    let request = question().parallel_tool_calls(false);
    assert_eq!(asked(&request, "parallel_tool_calls"), Value::Null, "it is refused where there are no tools");
    let request = request.tool(Tool::new("now", "").strict());
    assert_eq!(asked(&request, "parallel_tool_calls"), false);
    assert_eq!(asked(&request, "tools")[0]["function"]["strict"], true);
}

#[test]
fn ids_are_legal_unique_and_the_same_each_time_and_results_of_one_call_are_one() {
    let long = "toolu_".repeat(8);
    let request = question()
        .message(calls([&long, "dup"]))
        .tool_result(long.as_str(), "1")
        .tool_result("dup", "2")
        .tool_result("dup", "more")
        .message(calls(["dup"]))
        .tool_result("dup", "3");
    let turns = turns(&openai(), &request);
    let id = |turn: usize, call: usize| turns[turn]["tool_calls"][call]["id"].as_str().unwrap();
    assert!(id(1, 0).starts_with("call_") && id(1, 0).len() <= 40);
    assert_eq!((id(1, 1), &turns[2]["tool_call_id"]), ("dup", &json!(id(1, 0))));
    assert_eq!(turns[3], json!({ "role": "tool", "tool_call_id": "dup", "content": "2\nmore" }));
    assert!(id(4, 0) != "dup" && turns[5]["tool_call_id"] == id(4, 0));
    let local = openai().base_url("http://127.0.0.1:1/v1");
    assert_eq!(self::turns(&local, &request)[1]["tool_calls"][0]["id"], json!(long), "others take more");
}

#[test]
fn what_an_answer_cites_is_kept_and_not_sent_back() {
    let list = r#"[{"type":"url_citation",  "url_citation":{"url":"https://h"}}]"#;
    let answer = |list| format!(r#"{{"choices":[{{"message":{{"content":"Blue.","annotations":{list}}}}}]}}"#);
    let reply = decoded(&openai(), &answer(list)).unwrap();
    let Part::Text(text) = &reply.message().parts()[0] else { panic!() };
    assert_eq!((text.as_str(), text.citations().unwrap().json().get()), ("Blue.", list));
    let sent = turns(&openai(), &question().message(reply.message().clone()))[1].take();
    assert_eq!(sent, json!({ "role": "assistant", "content": "Blue." }));
    for none in ["[]", "null", "7"] {
        let reply = decoded(&openai(), &answer(none)).unwrap();
        assert_eq!(reply.message(), &Message::assistant("Blue."), "{none}");
    }
}

#[test]
fn a_request_survives_being_stored() {
    let signed = thoughts("anthropic", "Hm.", r#"{"type":"thinking",  "signature":"x"}"#);
    let cited = chat::Text::from("It is.").with_citations(Native::new("anthropic", raw("[ 1.10 ]")));
    let plot = ToolResult::new("a", "").image(Media::url("https://h/a.png").name("plot")).error();
    let request = question()
        .system("Be brief.")
        .message(calls(["a"]).part(Part::Reasoning(signed)).part(Part::Text(cited)))
        .message(Message::new(Role::Tool, [Part::ToolResult(plot)]))
        .tool(Tool::new("look", "Looks.").strict())
        .tool_choice(chat::ToolChoice::Required)
        .response_format(ResponseFormat::json_schema("answer", json!({ "type": "object" })).strict())
        .parallel_tool_calls(false)
        .max_tokens(5)
        .temperature(0.1 + 0.2)
        .stop("END")
        .seed(-1)
        .extra("openai", "user", json!("x"))
        .tenant("acme");
    let stored = serde_json::to_string(&request).unwrap();
    let restored: chat::Request = serde_json::from_str(&stored).unwrap();
    assert_eq!(serde_json::to_string(&restored).unwrap(), stored);
    assert_eq!(restored.messages(), request.messages());
    assert_eq!(
        openai().encode(&restored, &mut Fit::default()).unwrap().body(),
        openai().encode(&request, &mut Fit::default()).unwrap().body()
    );
    assert_eq!(
        anthropic().encode(&restored, &mut Fit::default()).unwrap().body(),
        anthropic().encode(&request, &mut Fit::default()).unwrap().body()
    );
    let damaged = stored.replace(r#"[ 1.10 ]"#, "[ 1.10");
    assert!(serde_json::from_str::<chat::Request>(&damaged).is_err(), "no request may be built of it");
}
