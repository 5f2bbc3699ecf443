use super::*;
use http::StatusCode;
use seawall::{
    Kind, Origin, Phase, Usage,
    chat::{FinishReason, Media, Part, ResponseFormat, Role, Tool, ToolChoice, ToolResult},
};
use serde_json::json;

fn turns(request: &chat::Request) -> Value {
    body(&anthropic(), request)["messages"].take()
}

fn asked(request: &chat::Request, field: &str) -> Value {
    body(&anthropic(), request)[field].take()
}

#[test]
fn a_question_says_only_what_was_set_and_the_cap_that_must_be_there() {
    let encoded = anthropic()
        .encode(&chat::Request::new("claude-sonnet-4-5").user("Hello."), &mut Fit::default())
        .unwrap()
        .into_body();
    let golden = concat!(
        r#"{"model":"claude-sonnet-4-5","max_tokens":32000,"#,
        r#""messages":[{"role":"user","content":[{"type":"text","text":"Hello."}]}]}"#
    );
    assert_eq!(encoded, golden);
}

#[test]
fn a_whole_tool_conversation_goes_out_in_anthropics_form() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "number" } }, "required": ["a"] });
    let request = chat::Request::new("claude-sonnet-4-5")
        .system("Use the tools.")
        .user("What is 8 / 12?")
        .message(Message::assistant("Let me see.").tool_call(ToolCall::new(
            "toolu_1",
            "divide",
            r#"{"a": 8,"b":12.0}"#,
        )))
        .tool_result("toolu_1", "0.6666666666666666")
        .tool(Tool::new("divide", "Divides.").parameters(schema.clone()).strict())
        .tool(Tool::new("now", ""))
        .tool_choice(ToolChoice::Named("divide".into()))
        .parallel_tool_calls(false)
        .max_tokens(100)
        .temperature(0.7)
        .top_p(0.9)
        .stop("END")
        .seed(7)
        .response_format(ResponseFormat::json_schema("answer", schema.clone()).strict())
        .extra("anthropic", "cache_control", json!({ "type": "ephemeral" }))
        .extra("openai", "logit_bias", json!({}))
        .tenant("acme");
    let golden = json!({
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "system": "Use the tools.",
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "What is 8 / 12?" }] },
            { "role": "assistant", "content": [
                { "type": "text", "text": "Let me see." },
                { "type": "tool_use", "id": "toolu_1", "name": "divide", "input": { "a": 8, "b": 12.0 } },
            ] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "toolu_1",
                "content": [{ "type": "text", "text": "0.6666666666666666" }] }] },
        ],
        "tools": [
            { "name": "divide", "description": "Divides.", "input_schema": schema, "strict": true },
            { "name": "now", "input_schema": { "type": "object", "properties": {} } },
        ],
        "tool_choice": { "type": "tool", "name": "divide", "disable_parallel_tool_use": true },
        "temperature": 0.7,
        "top_p": 0.9,
        "stop_sequences": ["END"],
        "output_config": { "format": { "type": "json_schema", "schema": schema } },
        "cache_control": { "type": "ephemeral" },
    });
    assert_eq!(body(&anthropic(), &request), golden);
    let bytes = anthropic().encode(&request, &mut Fit::default()).unwrap().into_body();
    let text = std::str::from_utf8(&bytes).unwrap();
    assert!(text.contains(r#""input":{"a": 8,"b":12.0}"#), "arguments go byte for byte: {text}");
}

/// Case 23.
#[test]
fn a_turn_that_only_calls_a_tool_has_one_block_and_no_empty_text() {
    let spoken = Message::assistant("")
        .part(Part::Text("".into()))
        .part(Part::Text(" \n".into()))
        .tool_call(ToolCall::new("a", "look", ""));
    let request = question().message(spoken).tool_result("a", "");
    let golden = json!([
        { "role": "user", "content": [{ "type": "text", "text": "What is it?" }] },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "look", "input": {} }] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "a" }] },
    ]);
    assert_eq!(turns(&request), golden);
}

#[test]
fn a_turn_with_nothing_left_says_so_and_the_sides_alternate() {
    let foreign = thoughts("deepseek", "Hm.", r#""Hm.""#);
    let request = chat::Request::new("m").history([
        Message::assistant("I begin."),
        Message::assistant("And go on."),
        Message::user(""),
        Message::new(Role::Assistant, [Part::Reasoning(foreign)]),
        Message::user("one"),
        Message::user("two"),
    ]);
    let text = |text: &str| json!({ "type": "text", "text": text });
    let golden = json!([
        { "role": "user", "content": [text("(no content)")] },
        { "role": "assistant", "content": [text("I begin."), text("And go on.")] },
        { "role": "user", "content": [text("(no content)")] },
        { "role": "assistant", "content": [text("(no content)")] },
        { "role": "user", "content": [text("one"), text("two")] },
    ]);
    assert_eq!(turns(&request), golden);
    let system_alone = chat::Request::new("m").system("Say hello.");
    assert_eq!(turns(&system_alone), json!([{ "role": "user", "content": [text("(no content)")] }]));
    assert_eq!(body(&anthropic(), &question().system(" ")).get("system"), None);
}

/// Case 25.
#[test]
fn five_results_are_one_user_turn_and_lead_it() {
    let ids = ["a", "b", "c", "d", "e"];
    let request = ids.iter().fold(question().message(calls(ids)), |request, id| request.tool_result(*id, *id));
    let turns = turns(&request.user("And now?"));
    assert_eq!(turns.as_array().unwrap().len(), 3);
    let blocks = turns[2]["content"].as_array().unwrap();
    let answered: Vec<_> = blocks.iter().filter_map(|block| block["tool_use_id"].as_str()).collect();
    assert_eq!(answered, ids);
    assert_eq!((blocks.len(), &blocks[5]), (6, &json!({ "type": "text", "text": "And now?" })));
    let between = question().message(calls(["a", "b"])).tool_result("b", "2").user("Well?").tool_result("a", "1");
    let blocks = self::turns(&between)[2]["content"].take();
    let kinds: Vec<_> = blocks.as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool_result", "tool_result", "text"], "also what comes late leads");
}

/// Case 9.
#[test]
fn three_calls_of_one_name_are_answered_by_id_and_never_by_name() {
    let request = question().message(calls(["x-1", "x-2", "x-3"]));
    let request = ["x-3", "x-1", "x-2"].iter().fold(request, |request, id| request.tool_result(*id, *id));
    let blocks = turns(&request)[2]["content"].take();
    for (block, id) in blocks.as_array().unwrap().iter().zip(["x-3", "x-1", "x-2"]) {
        assert_eq!((&block["tool_use_id"], &block["content"][0]["text"]), (&json!(id), &json!(id)));
    }
}

#[test]
fn results_of_one_call_are_one_block_and_an_error_says_so() {
    let plot = ToolResult::new("a", "The plot.").image(Media::base64("image/png", "iVBOR")).error();
    let request = question().message(calls(["a"])).message(Message::new(Role::Tool, [Part::ToolResult(plot)]));
    let request = request.tool_result("a", "It is late.");
    let golden = json!([{ "type": "tool_result", "tool_use_id": "a", "is_error": true, "content": [
        { "type": "text", "text": "The plot." },
        { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "iVBOR" } },
        { "type": "text", "text": "It is late." },
    ] }]);
    assert_eq!(turns(&request)[2]["content"], golden);
}

#[test]
fn images_and_documents_go_by_url_or_as_bytes() {
    let shown = Message::user("Look.")
        .part(Part::Image(Media::url("https://h/a.png")))
        .part(Part::Image(Media::url("data:image/gif;base64,R0lG")))
        .part(Part::Document(Media::base64("application/pdf", "JVBE").name("a.pdf")))
        .part(Part::Document(Media::url("https://h/b.pdf")));
    let golden = json!([
        { "type": "text", "text": "Look." },
        { "type": "image", "source": { "type": "url", "url": "https://h/a.png" } },
        { "type": "image", "source": { "type": "base64", "media_type": "image/gif", "data": "R0lG" } },
        { "type": "document", "title": "a.pdf",
          "source": { "type": "base64", "media_type": "application/pdf", "data": "JVBE" } },
        { "type": "document", "source": { "type": "url", "url": "https://h/b.pdf" } },
    ]);
    assert_eq!(turns(&chat::Request::new("m").message(shown))[0]["content"], golden);
}

#[test]
fn arguments_that_are_no_object_go_back_as_the_documentation_proposes() {
    for broken in [r#"{"a":"#, "[1]", "7", "\"x\"", "{} {}"] {
        let turn = Message::assistant("").tool_call(ToolCall::new("a", "look", broken));
        let input = turns(&spoken(turn))[1]["content"][0]["input"].take();
        assert_eq!(input, json!({ "INVALID_JSON": broken }));
    }
}

/// Thinking, a block with a signature and no text, a redacted one, a search, a citation: with digits and spaces of their own.
const SIGNED: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5-20250929","content":[
    {"type":"thinking", "thinking":"Caf\u00e9?", "signature":"EqQB/+=="},
    {"type":"tool_use","id":"toolu_1","name":"look","input":{"at": 1.10, "b":[ ]}},
    {"signature":"ErUC","thinking":"","type":"thinking"},
    {"type":"redacted_thinking","data":"EmwK"},
    {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query": "sea" }},
    {"type":"text","text":"It is blue.","citations":[{"type":"char_location","cited_text":"blue", "start_char_index":0}]},
    {"type":"tool_use","id":"toolu_2","name":"look","input":{}}],
    "stop_reason":"tool_use","stop_sequence":null,
    "usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":30,"output_tokens":7,
    "output_tokens_details":{"thinking_tokens":5},"service_tier":"standard"}}"#;

/// Case 29.
#[test]
fn signed_blocks_go_back_byte_for_byte_in_their_order_also_after_being_stored() {
    let reply = decoded(&anthropic(), SIGNED).unwrap();
    let kept = serde_json::to_value(reply.message()).unwrap();
    let restored: Message = serde_json::from_str(&serde_json::to_string(&kept).unwrap()).unwrap();
    assert_eq!(&restored, reply.message());
    let request = question().message(restored).tool_result("toolu_1", "1").tool_result("toolu_2", "2");
    let encoded = anthropic().encode(&request, &mut Fit::default()).unwrap().into_body();
    let text = std::str::from_utf8(&encoded).unwrap();
    let places: Vec<_> = [
        r#"{"type":"thinking", "thinking":"Caf\u00e9?", "signature":"EqQB/+=="}"#,
        r#"{"type":"tool_use","id":"toolu_1","name":"look","input":{"at": 1.10, "b":[ ]}}"#,
        r#"{"signature":"ErUC","thinking":"","type":"thinking"}"#,
        r#"{"type":"redacted_thinking","data":"EmwK"}"#,
        r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query": "sea" }}"#,
        r#"[{"type":"char_location","cited_text":"blue", "start_char_index":0}]"#,
        r#"{"type":"tool_use","id":"toolu_2","name":"look","input":{}}"#,
    ]
    .iter()
    .map(|block| text.find(block).unwrap_or_else(|| panic!("{block} is not in {text}")))
    .collect();
    assert!(places.is_sorted());
}

#[test]
fn thinking_rests_while_it_answers_calls_that_others_made() {
    let thinking = json!({ "type": "enabled", "budget_tokens": 1024 });
    let ask = |message: Message| spoken(message).extra("anthropic", "thinking", thinking.clone());
    let own = decoded(&anthropic(), SIGNED).unwrap().message().clone();
    let foreign = Message::new(Role::Assistant, [Part::Reasoning(thoughts("deepseek", "Hm.", "\"Hm.\""))]);
    let foreign = foreign.tool_call(ToolCall::new("a", "look", "{}"));
    assert_eq!(asked(&ask(own), "thinking"), thinking);
    assert_eq!(asked(&ask(Message::assistant("Blue.")), "thinking"), thinking);
    assert_eq!(asked(&ask(foreign.clone()), "thinking"), Value::Null);
    let adaptive = json!({ "type": "adaptive" });
    let request = spoken(foreign).extra("anthropic", "thinking", adaptive.clone());
    assert_eq!(asked(&request, "thinking"), adaptive);
}

#[test]
fn a_reply_is_read_with_all_that_it_tells() {
    let reply = decoded(&anthropic(), SIGNED).unwrap();
    assert_eq!((reply.id(), reply.model()), (Some("msg_1"), Some("claude-sonnet-4-5-20250929")));
    assert_eq!((reply.text().as_ref(), reply.finish_reason()), ("It is blue.", Some(&FinishReason::ToolCalls)));
    let calls: Vec<_> = reply.tool_calls().map(|call| (call.id(), call.arguments())).collect();
    assert_eq!(calls, [("toolu_1", r#"{"at": 1.10, "b":[ ]}"#), ("toolu_2", "{}")]);
    let thoughts: Vec<_> = reply.message().reasoning().map(Reasoning::text).collect();
    assert_eq!(thoughts, ["Café?", "", ""]);
    let mut usage = Usage::new(60, 7);
    (usage.cached, usage.cache_write, usage.reasoning) = (30, 20, 5);
    assert_eq!(reply.usage(), Some(usage));
}

#[test]
fn why_it_stopped_is_told_in_our_words_or_in_its_own() {
    let rows = [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("tool_use", FinishReason::ToolCalls),
        ("refusal", FinishReason::ContentFilter),
        ("pause_turn", FinishReason::Other("pause_turn".into())),
    ];
    for (word, reason) in rows {
        let reply = decoded(&anthropic(), &json!({ "content": [], "stop_reason": word }).to_string()).unwrap();
        assert_eq!((reply.finish_reason(), reply.text().as_ref()), (Some(&reason), ""));
    }
}

#[test]
fn a_choice_is_said_in_its_words_and_only_where_there_is_something_to_choose() {
    let tool = || question().tool(Tool::new("now", ""));
    let rows = [
        (tool(), Value::Null),
        (tool().parallel_tool_calls(true), Value::Null),
        (tool().parallel_tool_calls(false), json!({ "type": "auto", "disable_parallel_tool_use": true })),
        (tool().tool_choice(ToolChoice::Never), json!({ "type": "none" })),
        (tool().tool_choice(ToolChoice::Required), json!({ "type": "any" })),
        (question().tool_choice(ToolChoice::Never).parallel_tool_calls(false), Value::Null),
    ];
    for (request, choice) in rows {
        assert_eq!(asked(&request, "tool_choice"), choice);
    }
}

#[test]
fn without_a_cap_the_longest_answer_of_the_model_is_asked_for() {
    let rows = [
        ("claude-3-haiku-20240307", 4_096),
        ("claude-3-5-haiku-latest", 8_192),
        ("claude-opus-4-1", 32_000),
        ("claude-sonnet-4-5", 64_000),
        ("claude-zephyr-9", 32_000),
        ("some-other-model", 8_192),
    ];
    for (model, cap) in rows {
        let mut fit = Fit::new(seawall::Models::default().get(model));
        let encoded = anthropic().encode(&question().model(model), &mut fit).unwrap().into_body();
        let sent: Value = serde_json::from_slice(&encoded).unwrap();
        assert_eq!((&sent["max_tokens"], fit.changes()), (&json!(cap), &[][..]), "{model}");
    }
    let cap = |characters: usize, request: chat::Request| {
        let mut fit = Fit::new(seawall::Models::default().get("claude-sonnet-4-0"));
        let request = request.model("claude-sonnet-4-0").user("a".repeat(characters));
        let encoded = anthropic().encode(&request, &mut fit).unwrap().into_body();
        serde_json::from_slice::<Value>(&encoded).unwrap()["max_tokens"].as_u64().unwrap()
    };
    assert_eq!(cap(4_000, question()), 64_000);
    assert!((45_000..60_000).contains(&cap(480_000, question())), "120,000 of 200,000 tokens are taken, at least");
    assert_eq!((cap(900_000, question()), cap(900_000, question().max_tokens(64_000))), (4_096, 64_000));
}

#[test]
fn the_head_names_server_version_and_betas_and_carries_the_key_marked_sensitive() {
    let dialect = anthropic().version("2024-01-01").beta("one").beta("two");
    let request = dialect.encode(&question(), &mut Fit::default()).unwrap();
    assert_eq!(request.uri(), "https://api.anthropic.com/v1/messages");
    let header = |name| request.headers()[name].to_str().unwrap();
    assert_eq!((header("x-api-key"), header("anthropic-version")), (KEY, "2024-01-01"));
    assert_eq!((header("anthropic-beta"), header("content-type")), ("one,two", "application/json"));
    assert!(request.headers()["x-api-key"].is_sensitive() && !request.headers().contains_key("authorization"));
    assert!(!format!("{request:?} {dialect:?}").contains(KEY));
    for (base, url) in [
        ("http://127.0.0.1:1/", "http://127.0.0.1:1/v1/messages"),
        ("http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1/messages"),
        ("https://h/anthropic?a=1", "https://h/anthropic/v1/messages?a=1"),
    ] {
        assert_eq!(anthropic().base_url(base).encode(&question(), &mut Fit::default()).unwrap().uri(), url);
    }
}

#[test]
fn what_nobody_would_take_is_refused_with_a_word_on_what_to_do() {
    let rows = [
        (
            anthropic(),
            question().response_format(ResponseFormat::Json),
            "response_format: asks for JSON without a schema",
        ),
        (anthropic(), question().extra("anthropic", "max_tokens", json!(1)), "extra: may not set `max_tokens`"),
        (Anthropic::new(" "), question(), "key: is empty"),
        (anthropic().beta("a\nb"), question(), "beta: holds a character"),
        (anthropic().base_url("h/v1"), question(), "base_url: is no URL"),
    ];
    for (dialect, request, words) in rows {
        let error = dialect.encode(&request, &mut Fit::default()).unwrap_err();
        assert_eq!((error.kind(), error.origin(), error.sends()), (Kind::InvalidRequest, Origin::Local, 0));
        assert!(error.to_string().contains(words), "{error}");
    }
    let blocks = question().extra("anthropic", "system", json!([{ "type": "text", "text": "x" }]));
    assert_eq!(asked(&blocks, "system")[0]["text"], "x", "what is not set here may be");
    let both = blocks.system("as others are told");
    assert_eq!(asked(&both, "system")[0]["text"], "x", "it stands in the place of what others are told");
}

#[tokio::test]
async fn a_success_that_holds_an_error_is_one() {
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#;
    let client = anthropic().over(tower::service_fn(async move |_: http::Request<_>| {
        Ok::<_, std::io::Error>(Response::new(body.to_owned()))
    }));
    let error = crate::ask(&client, question()).await.unwrap_err();
    assert_eq!((error.kind(), error.provider_name()), (Kind::Overloaded, Some("anthropic")));
    assert_eq!(decoded(&anthropic(), body).unwrap_err().kind(), Kind::Server, "nor does the dialect take it for one");
}

#[tokio::test]
async fn its_own_errors_are_known() {
    let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"Slow down."}}"#;
    let client = anthropic().over(tower::service_fn(async move |_: http::Request<_>| {
        let response = Response::builder().status(StatusCode::TOO_MANY_REQUESTS).header("retry-after", "9");
        Ok::<_, std::io::Error>(response.body(body.to_owned()).unwrap())
    }));
    let error = crate::ask(&client, question()).await.unwrap_err();
    assert_eq!((error.kind(), error.retry_after()), (Kind::RateLimited, Some(crate::seconds(9))));
}

#[test]
fn an_answer_cut_anywhere_is_no_answer_and_any_bytes_are_read_without_a_panic() {
    for end in 0..SIGNED.len() {
        let Some(cut) = SIGNED.get(..end) else { continue };
        let error = decoded(&anthropic(), cut).unwrap_err();
        assert_eq!((error.kind(), error.phase()), (Kind::Transport, Some(Phase::Body)), "{cut}");
    }
    let deep = format!(r#"{{"content":[{{"type":"x","y":{}{}}}]}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let Part::Native(kept) = &decoded(&anthropic(), &deep).unwrap().message().parts()[0].clone() else { panic!() };
    assert_eq!(kept.json().get().len(), 200_017);
    let many = format!(r#"{{"content":[{}{{"type":"text","text":"x"}}]}}"#, r#"{"type":"x"},"#.repeat(5_000));
    let reply = decoded(&anthropic(), &many).unwrap();
    assert_eq!((reply.message().parts().len(), reply.text().as_ref()), (1_025, "x"), "what is unknown is bounded");
    for body in
        ["\u{0}", "[]", "null", "{}", r#"{"content":7}"#, r#"{"content":[{"type":"text"}]}"#, r#"{"content":[1]}"#]
    {
        assert!(decoded(&anthropic(), body).is_err(), "{body}");
    }
    let secret = decoded(&anthropic(), r#"{"content":[{"type":"text","text":{"my":"diary"}}]}"#).unwrap_err();
    assert!(!format!("{secret} {secret:?} {:?}", secret.message()).contains("diary"));
}

/// Prints what the environment gives; run by the test below, since a process may not change its own.
#[test]
fn from_env_in_a_child() {
    if std::env::var_os("SEAWALL_CHILD").is_none() {
        return;
    }
    match Anthropic::from_env() {
        Ok(dialect) => {
            let request = dialect.encode(&question(), &mut Fit::default()).unwrap();
            println!("{} {}", request.uri(), request.headers()["x-api-key"].to_str().unwrap());
        }
        Err(invalid) => println!("{invalid}"),
    }
}

#[test]
fn the_environment_gives_key_and_url() {
    let child = |variables: &[(&str, &str)]| {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "dialects::anthropic::from_env_in_a_child", "--nocapture"]).env("SEAWALL_CHILD", "1");
        command.env_remove("ANTHROPIC_API_KEY").env_remove("ANTHROPIC_BASE_URL").envs(variables.iter().copied());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let key = ("ANTHROPIC_API_KEY", "sk-1\n");
    assert!(child(&[key]).contains("https://api.anthropic.com/v1/messages sk-1\n"));
    assert!(child(&[key, ("ANTHROPIC_BASE_URL", "http://h")]).contains("http://h/v1/messages sk-1\n"));
    assert!(child(&[]).contains("ANTHROPIC_API_KEY: is not set: export a key"));
}
