//! What goes over the wire to OpenAI and its like, and what is read from it.
use crate::seconds;
use bytes::Bytes;
use http::{Response, StatusCode};
use seawall::{
    Context, Error, Kind, Origin, Phase, Secret, Usage,
    chat::{self, FinishReason, Message, Part, Role, Tool, ToolCall, ToolChoice},
    provider::{Dialect, Fit, OpenAi},
};
use serde_json::{Value, json};

const KEY: &str = "sk-proj-4f9aAbC123";

fn openai() -> OpenAi {
    OpenAi::new(KEY)
}

fn question() -> chat::Request {
    chat::Request::new("gpt-4o-mini").user("What is 5 + 8 / 12?")
}

fn encoded(request: &chat::Request) -> Value {
    serde_json::from_slice(openai().encode(request, &mut Fit::default()).unwrap().body()).unwrap()
}

fn refused(request: &chat::Request) -> Error {
    openai().encode(request, &mut Fit::default()).unwrap_err()
}

fn decoded(body: &str) -> Result<chat::Reply, Error> {
    let (head, ()) = Response::builder().status(StatusCode::OK).body(()).unwrap().into_parts();
    openai().decode(&head, body.as_bytes())
}

fn answered(message: &Value) -> chat::Reply {
    decoded(&json!({ "choices": [{ "message": message, "finish_reason": "stop" }] }).to_string()).unwrap()
}

#[test]
fn a_question_says_only_what_was_set() {
    let body = openai().encode(&question(), &mut Fit::default()).unwrap().into_body();
    let golden = r#"{"model":"gpt-4o-mini","messages":[{"role":"user","content":"What is 5 + 8 / 12?"}]}"#;
    assert_eq!(body, golden);
}

#[test]
fn a_whole_tool_conversation_goes_out_in_openais_form() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "number" } }, "required": ["a"] });
    let calls = Message::assistant("")
        .tool_call(ToolCall::new("call_1", "divide", r#"{"a": 8,"b":12.0}"#))
        .tool_call(ToolCall::new("call_2", "add", ""));
    let request = question()
        .system("Use the tools.")
        .message(calls)
        .tool_result("call_1", "0.6666666666666666")
        .tool_result("call_2", r#"{"error":"nothing to add"}"#)
        .tool(Tool::new("divide", "Divides a by b.").parameters(schema.clone()))
        .tool(Tool::new("now", "Tells the time."))
        .tool_choice(ToolChoice::Named("divide".into()))
        .max_tokens(100)
        .temperature(0.7)
        .top_p(0.9)
        .stop("END")
        .seed(7)
        .extra("openai", "logit_bias", json!({ "50256": -100 }))
        .extra("deepseek", "thinking", json!(true))
        .tenant("acme");
    let golden = json!({
        "model": "gpt-4o-mini",
        "messages": [
            { "role": "system", "content": "Use the tools." },
            { "role": "user", "content": "What is 5 + 8 / 12?" },
            { "role": "assistant", "content": "", "tool_calls": [
                { "id": "call_1", "type": "function", "function": { "name": "divide", "arguments": "{\"a\": 8,\"b\":12.0}" } },
                { "id": "call_2", "type": "function", "function": { "name": "add", "arguments": "" } },
            ] },
            { "role": "tool", "tool_call_id": "call_1", "content": "0.6666666666666666" },
            { "role": "tool", "tool_call_id": "call_2", "content": "{\"error\":\"nothing to add\"}" },
        ],
        "tools": [
            { "type": "function", "function": { "name": "divide", "description": "Divides a by b.", "parameters": schema } },
            { "type": "function", "function": { "name": "now", "description": "Tells the time.",
                "parameters": { "type": "object", "properties": {} } } },
        ],
        "tool_choice": { "type": "function", "function": { "name": "divide" } },
        "max_completion_tokens": 100,
        "temperature": 0.7,
        "top_p": 0.9,
        "stop": ["END"],
        "seed": 7,
        "logit_bias": { "50256": -100 },
    });
    assert_eq!(encoded(&request), golden);
}

#[test]
fn an_assistant_turn_without_calls_or_text_stays_a_turn() {
    let request = question().message(Message::assistant("")).user("Go on.");
    let turns = &encoded(&request)["messages"];
    assert_eq!(turns[1], json!({ "role": "assistant", "content": "(no content)" }), "no empty list of calls either");
}

#[test]
fn several_texts_stay_apart_by_a_line_and_a_refusal_goes_back_as_one() {
    let two = Message::new(Role::User, [Part::Text("one".into()), Part::Text("two".into())]);
    let no = Message::new(Role::Assistant, [Part::Refusal("I will not.".into())]);
    let turns = encoded(&chat::Request::new("m").history([two, no]))["messages"].take();
    assert_eq!(turns[0]["content"], "one\ntwo");
    assert_eq!(turns[1], json!({ "role": "assistant", "content": "", "refusal": "I will not." }));
}

#[test]
fn a_schema_given_as_text_is_sent_byte_for_byte() {
    let schema = r#"{ "type":"object", "properties":{"z":{},"a":{"maximum":1.10}} }"#;
    let raw = serde_json::value::RawValue::from_string(schema.to_owned()).unwrap();
    let request = question().tool(Tool::new("t", "").raw_parameters(raw));
    let body = openai().encode(&request, &mut Fit::default()).unwrap().into_body();
    assert!(std::str::from_utf8(&body).unwrap().contains(schema));
}

#[test]
fn the_head_names_the_server_and_carries_the_key_marked_sensitive() {
    let dialect = openai().organisation("org-1").project("proj-1");
    let request = dialect.encode(&question(), &mut Fit::default()).unwrap();
    assert_eq!(
        (request.method().as_str(), request.uri()),
        ("POST", &"https://api.openai.com/v1/chat/completions".parse().unwrap())
    );
    let header = |name| request.headers()[name].to_str().unwrap();
    assert_eq!(header("authorization"), format!("Bearer {KEY}"));
    assert_eq!((header("openai-organization"), header("openai-project")), ("org-1", "proj-1"));
    assert_eq!((header("content-type"), header("accept")), ("application/json", "application/json"));
    assert!(request.headers()["authorization"].is_sensitive());
    assert!(!format!("{request:?} {dialect:?}").contains(KEY));
}

#[test]
fn others_of_the_dialect_have_their_own_url_and_name() {
    let deepseek = openai().name("deepseek").base_url("https://api.deepseek.com/");
    let request = deepseek
        .encode(&question().max_tokens(5).extra("deepseek", "thinking", json!(true)), &mut Fit::default())
        .unwrap();
    assert_eq!(request.uri(), "https://api.deepseek.com/chat/completions");
    let body: Value = serde_json::from_slice(request.body()).unwrap();
    assert_eq!((&body["max_tokens"], &body["thinking"]), (&json!(5), &json!(true)));
    let local = OpenAi::without_key().base_url("http://127.0.0.1:1/openai/?api-version=1").path("/chat");
    let request = local.encode(&question(), &mut Fit::default()).unwrap();
    assert_eq!(request.uri(), "http://127.0.0.1:1/openai/chat?api-version=1");
    assert!(!request.headers().contains_key("authorization"));
    let queries = local.path("/chat?deployment=d").encode(&question(), &mut Fit::default()).unwrap();
    assert_eq!(queries.uri(), "http://127.0.0.1:1/openai/chat?api-version=1&deployment=d");
}

#[test]
fn a_request_that_nobody_would_take_is_refused_with_a_word_on_what_to_do() {
    let odd = |message| question().message(message);
    let call = Part::ToolCall(ToolCall::new("c", "f", "{}"));
    let rows = [
        (chat::Request::new("m"), "messages: there are none: add one with `user`"),
        (question().model(""), "model: is empty"),
        (question().temperature(f64::NAN), "temperature: is not between 0 and 2"),
        (question().top_p(f64::INFINITY), "top_p: is not between 0 and 1"),
        (question().temperature(-0.1), "temperature: is not between 0 and 2"),
        (question().max_tokens(0), "max_tokens: is zero"),
        (question().tool(Tool::new("", "")), "tools: one has no name"),
        (question().tool(Tool::new("a", "")).tool(Tool::new("a", "")), "tools: two are called `a`"),
        (question().tool_choice(ToolChoice::Required), "tool_choice: requires a tool"),
        (question().tool(Tool::new("a", "")).tool_choice(ToolChoice::Named("b".into())), "names the tool `b`"),
        (question().extra("openai", "stream", json!(true)), "extra: may not set `stream`"),
        (question().max_tokens(1).extra("openai", "max_tokens", json!(2)), "extra: may not set `max_tokens`"),
        (odd(Message::new(Role::Tool, [])), "message 1: a tool turn without a result"),
        (odd(Message::new(Role::User, [call])), "message 1: a user turn holds text, images and documents only"),
        (odd(Message::new(Role::Tool, [Part::Text("6".into())])), "message 1: a tool turn holds results only"),
    ];
    for (request, words) in rows {
        let error = refused(&request);
        assert_eq!((error.kind(), error.origin(), error.sends()), (Kind::InvalidRequest, Origin::Local, 0));
        assert!(error.to_string().contains(words), "{error}");
        assert!(!error.is_retryable() && !error.is_against_provider());
    }
}

#[test]
fn settings_that_cannot_be_sent_are_refused_and_not_shown() {
    let rows = [
        (OpenAi::new(format!("{KEY}\n")), "key: "),
        (openai().organisation("a\u{7f}b"), "organisation: "),
        (openai().base_url("api.example.com/v1?key=hush"), "base_url: "),
        (openai().base_url("ftp://example.com"), "base_url: "),
        (openai().base_url(""), "base_url: "),
        (openai().base_url("https://h/v1#part"), "base_url: is no URL"),
        (openai().base_url("https://h/v 1"), "base_url: is no URL"),
        (openai().base_url("https://me:hush@h/v1"), "base_url: holds a user or a password"),
    ];
    for (dialect, words) in rows {
        let error = dialect.encode(&question(), &mut Fit::default()).unwrap_err();
        assert_eq!((error.kind(), error.sends()), (Kind::InvalidRequest, 0));
        let shown = format!("{error} {error:?} {} {dialect:?}", error.message().unwrap());
        assert!(shown.contains(words) && !shown.contains(KEY) && !shown.contains("hush"), "{shown}");
    }
}

#[test]
fn numbers_keep_their_digits() {
    let encoded =
        openai().encode(&question().temperature(0.1 + 0.2).user("0.6666666666666666"), &mut Fit::default()).unwrap();
    let text = std::str::from_utf8(encoded.body()).unwrap();
    assert!(text.contains("0.30000000000000004") && text.contains("0.6666666666666666"), "{text}");
}

/// As OpenAI writes it, with fields that nobody here knows.
const ANSWER: &str = r#"{
  "id": "chatcmpl-1", "object": "chat.completion", "created": 1741569952, "model": "gpt-4o-mini-2024-07-18",
  "choices": [{
    "index": 0,
    "message": { "role": "assistant", "content": "Five and two thirds: 5.666666666666667.", "refusal": null,
      "annotations": [], "audio": null },
    "logprobs": null,
    "finish_reason": "stop"
  }],
  "usage": {
    "prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29,
    "prompt_tokens_details": { "cached_tokens": 8, "audio_tokens": 0 },
    "completion_tokens_details": { "reasoning_tokens": 4, "accepted_prediction_tokens": 0 }
  },
  "service_tier": "default", "system_fingerprint": null
}"#;

#[test]
fn a_text_answer_is_read_with_all_that_it_tells() {
    let reply = decoded(ANSWER).unwrap();
    assert_eq!(reply.text(), "Five and two thirds: 5.666666666666667.");
    assert_eq!((reply.id(), reply.model()), (Some("chatcmpl-1"), Some("gpt-4o-mini-2024-07-18")));
    assert_eq!(reply.finish_reason(), Some(&FinishReason::Stop));
    let mut usage = Usage::new(19, 10);
    (usage.cached, usage.reasoning) = (8, 4);
    assert_eq!(reply.usage(), Some(usage));
    assert_eq!((reply.tool_calls().count(), reply.trail().is_empty(), reply.is_stream()), (0, true, false));
    assert!(!format!("{reply:?}").contains("thirds"), "an answer stays out of the log");
}

#[test]
fn calls_go_back_with_the_arguments_as_they_came() {
    let arguments = r#"{"b": 12.0, "a":8,  "note":"caf\u00e9"}"#;
    let spoken = json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "call_9", "type": "function", "function": { "name": "divide", "arguments": arguments } },
        { "id": "call_10", "type": "function", "function": { "name": "broken", "arguments": "{\"a\":" } },
        { "id": "call_11", "type": "function", "function": { "name": "now", "arguments": "" } },
    ] });
    let reply = answered(&spoken);
    let calls: Vec<_> = reply.tool_calls().map(|call| (call.id(), call.name(), call.arguments())).collect();
    assert_eq!(calls, [("call_9", "divide", arguments), ("call_10", "broken", "{\"a\":"), ("call_11", "now", "")]);
    let calls = reply.tool_calls().map(|call| Message::tool(call.id(), "1"));
    let request = calls.fold(question().message(reply.message().clone()), chat::Request::message);
    let again = &encoded(&request)["messages"][1];
    assert_eq!((&again["content"], &again["tool_calls"]), (&json!(""), &spoken["tool_calls"]));
}

#[test]
fn an_empty_list_of_calls_is_none() {
    let reply = answered(&json!({ "content": "Done.", "tool_calls": [] }));
    assert_eq!((reply.tool_calls().count(), reply.text().as_ref()), (0, "Done."));
    assert_eq!(encoded(&question().message(reply.message().clone()))["messages"][1].get("tool_calls"), None);
}

#[test]
fn what_others_write_a_little_differently_is_read_too() {
    let pieces = json!([{ "type": "text", "text": "Blue" }, { "type": "reference" }, { "type": "text", "text": "." }]);
    assert_eq!(answered(&json!({ "content": pieces })).text(), "Blue.");
    let object = r#"{"content":"","tool_calls":[{"function":{"name":"f","arguments":{"a": 1.10}}}]}"#;
    let reply = decoded(&format!(r#"{{"choices":[{{"message":{object}}}]}}"#)).unwrap();
    let call = reply.tool_calls().next().unwrap();
    assert_eq!((call.id(), call.arguments()), ("", r#"{"a": 1.10}"#));
    let no = answered(&json!({ "content": null, "refusal": "I will not." }));
    assert_eq!((no.text().as_ref(), no.message().refusal()), ("", Some("I will not.")));
    let spent = |usage: Value| {
        decoded(&json!({ "choices": [{ "message": { "content": "x" } }], "usage": usage }).to_string()).unwrap().usage()
    };
    assert_eq!(
        spent(json!({ "prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 5 })).unwrap().cached,
        5
    );
    assert_eq!(spent(json!({ "prompt_tokens": -1 })), None, "a paid answer is not lost for its count");
}

#[test]
fn a_reason_that_is_new_is_kept_in_its_own_word() {
    let reply = decoded(r#"{"choices":[{"message":{"content":""},"finish_reason":"insufficient_system_resource"}]}"#);
    let reply = reply.unwrap();
    assert_eq!(reply.finish_reason().unwrap().as_str(), "insufficient_system_resource");
    for word in ["stop", "length", "tool_calls", "content_filter", "new"] {
        let reason: FinishReason = serde_json::from_value(json!(word)).unwrap();
        assert_eq!(json!(reason), json!(word));
        assert_eq!(matches!(reason, FinishReason::Other(_)), word == "new");
    }
}

#[test]
fn a_paid_answer_is_read_whatever_its_names_and_counts_look_like() {
    let body =
        r#"{"id":7,"model":{"name":"m"},"usage":"much","choices":[{"message":{"content":"Blue."},"finish_reason":0}]}"#;
    let reply = decoded(body).unwrap();
    assert_eq!((&*reply.text(), reply.id(), reply.model()), ("Blue.", None, None));
    assert!(reply.usage().is_none() && reply.finish_reason().is_none());
}

#[test]
fn an_answer_without_a_choice_is_an_error() {
    for body in ["{}", r#"{"choices":[]}"#, r#"{"choices":null}"#, r#"{"choices":[{"finish_reason":"stop"}]}"#] {
        let error = decoded(body).unwrap_err();
        assert_eq!((error.kind(), error.sends()), (Kind::Server, 1), "{body}");
    }
}

#[test]
fn an_answer_cut_anywhere_is_no_answer() {
    for end in 0..ANSWER.len() {
        let error = decoded(&ANSWER[..end]).unwrap_err();
        assert_eq!((error.kind(), error.phase()), (Kind::Transport, Some(Phase::Body)), "{}", &ANSWER[..end]);
    }
}

#[test]
fn what_cannot_be_read_tells_its_place_and_none_of_its_words() {
    for (body, place) in [
        (r#"{"choices":"my secret diary"}"#, "line 1, column "),
        (r#"{"choices":[{"message":"my secret diary"}]}"#, "line 1, column "),
        (r#"{"choices":[{"message":{"content":"x","tool_calls":"my secret diary"}}]}"#, "not of this dialect"),
    ] {
        let error = decoded(body).unwrap_err();
        assert_eq!((error.kind(), error.is_delivered()), (Kind::Unknown, false));
        let told = format!("{error} {error:?} {}", error.message().unwrap());
        assert!(told.contains(place) && !told.contains("diary"), "{told}");
        assert!(std::error::Error::source(&error).is_none());
    }
}

#[test]
fn any_bytes_are_an_answer_without_a_panic() {
    let deep = format!(r#"{{"choices":[{{"message":{{"content":{}"#, "[".repeat(100_000));
    let nested = format!(
        r#"{{"x":{}{},"choices":[{{"message":{{"content":"x"}}}}]}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_eq!(decoded(&nested).unwrap().text(), "x", "what is deep and unknown is passed over");
    for body in [deep.as_str(), "\u{0}", "[]", "null", "1e999", r#"{"choices":[{"message":{"content":1}}]}"#] {
        assert!(decoded(body).is_err(), "{body:.40}");
    }
}

#[test]
fn a_clone_shares_the_text_and_a_change_leaves_the_other_alone() {
    let text = "x".repeat(100_000);
    let request = (0..100).fold(question(), |request, _| request.user(text.clone()));
    let twin = request.clone();
    assert!(std::ptr::eq(request.messages(), twin.messages()));
    let longer = twin.user("more");
    assert_eq!((request.messages().len(), longer.messages().len()), (101, 102));
    let shared = |request: &chat::Request| request.messages()[50].parts().as_ptr();
    assert_eq!(shared(&request), shared(&longer), "also then only the list is copied");
}

#[test]
fn a_field_that_is_set_again_is_sent_once() {
    let request = question().extra("openai", "user", 1.into()).extra("other", "user", 2.into());
    let request = request.extra("openai", "user", 3.into());
    assert_eq!(request.extras("openai").collect::<Vec<_>>(), [("user", &Value::from(3))]);
    assert_eq!(request.extras("other").count(), 1, "another's stays");
}

#[test]
fn four_characters_are_a_token() {
    let request = chat::Request::new("m").system("12345678").user("海".repeat(8)).user("1");
    assert_eq!(request.estimate(), 5);
    let tool = Tool::new("name", "12345678");
    let schema = tool.schema().get().len();
    assert_eq!(chat::Request::new("m").tool(tool).estimate(), (12 + schema).div_ceil(4) as u64);
}

#[test]
fn a_history_survives_being_stored() {
    let history = vec![
        Message::user("What is 4 + 2?"),
        Message::assistant("").tool_call(ToolCall::new("call_1", "add", r#"{"a":4, "b":2.0}"#)),
        Message::tool("call_1", "6"),
        Message::assistant("Six."),
    ];
    let stored = serde_json::to_string(&history).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Message>>(&stored).unwrap(), history);
}

#[test]
fn what_may_be_logged_holds_no_prompt_and_no_tenant_is_sent() {
    let request = question().system("hush").tenant("acme").with_context(Context::default().with_timeout(seconds(1)));
    assert!(!format!("{request:?}").contains("5 + 8") && !format!("{request:?}").contains("hush"));
    let body: Bytes = openai().encode(&request, &mut Fit::default()).unwrap().into_body();
    assert!(!String::from_utf8_lossy(&body).contains("acme"));
    assert_eq!(request.tenant_name(), Some("acme"));
    assert!(!format!("{:?}", Secret::new(KEY)).contains(KEY));
}

/// Prints what the environment gives; run by the test below, since a process may not change its own.
#[test]
fn from_env_in_a_child() {
    if std::env::var_os("SEAWALL_CHILD").is_none() {
        return;
    }
    match OpenAi::from_env() {
        Ok(dialect) => {
            let request = dialect.encode(&question(), &mut Fit::default()).unwrap();
            println!("{} {}", request.uri(), request.headers()["authorization"].to_str().unwrap());
        }
        Err(invalid) => println!("{}: {invalid}", invalid.setting()),
    }
}

#[test]
fn the_environment_gives_key_and_url() {
    let child = |variables: &[(&str, &str)]| {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "provider::from_env_in_a_child", "--nocapture"]).env("SEAWALL_CHILD", "1");
        command.env_remove("OPENAI_API_KEY").env_remove("OPENAI_BASE_URL").envs(variables.iter().copied());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let key = ("OPENAI_API_KEY", "sk-1\n");
    assert!(child(&[key]).contains("https://api.openai.com/v1/chat/completions Bearer sk-1\n"));
    let local = child(&[key, ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1/")]);
    assert!(local.contains("http://127.0.0.1:9/v1/chat/completions Bearer sk-1\n"), "{local}");
    assert!(child(&[]).contains("OPENAI_API_KEY: OPENAI_API_KEY: is not set: export a key"));
}
