//! What some servers want differently, as it goes out.
use super::*;
use seawall::{
    Change, Kind, Mend, Models,
    chat::{Media, Part, ResponseFormat, Role, ToolResult},
    provider::Preset,
};
use serde_json::json;

fn fitted(dialect: &OpenAi, request: &chat::Request) -> (Value, Vec<Change>) {
    let mut fit = Fit::new(Models::default().get(request.model_name()));
    let encoded = dialect.encode(request, &mut fit).unwrap().into_body();
    (serde_json::from_slice(&encoded).unwrap(), fit.changes().to_vec())
}

#[test]
fn what_a_provider_refuses_for_every_model_is_left_out_and_told() {
    let request = question().extra("groq", "logprobs", json!(true)).extra("groq", "user", json!("me")).temperature(0.5);
    let (sent, changes) = fitted(&Preset::GROQ.with_key("gsk-1"), &request);
    assert_eq!((sent.get("logprobs"), &sent["user"], &sent["temperature"]), (None, &json!("me"), &json!(0.5)));
    assert_eq!(changes, [Change::LeftOut { field: "logprobs".into() }]);
    let other = question().extra("openai", "logprobs", json!(true));
    assert_eq!(fitted(&openai(), &other).0["logprobs"], true);
}

#[test]
fn where_no_user_may_speak_behind_a_tool_the_model_says_something_in_between() {
    let mistral = Preset::MISTRAL.with_key("m-1");
    let roles = |request: &chat::Request| {
        let (sent, changes) = fitted(&mistral, request);
        let roles: Vec<_> = sent["messages"].as_array().unwrap().iter().map(|turn| turn["role"].clone()).collect();
        (Value::from(roles), changes)
    };
    let plain = spoken(calls(["a"]));
    assert_eq!(roles(&plain), (json!(["user", "assistant", "tool"]), vec![]));
    let (with_user, changes) = roles(&plain.clone().user("Well?"));
    assert_eq!(with_user, json!(["user", "assistant", "tool", "assistant", "user"]));
    assert_eq!(changes, [Change::Mended { message: 2, how: Mend::Filled }]);
    let plot = ToolResult::new("a", "The plot.").image(Media::base64("image/png", "iVBOR"));
    let shown = question().message(calls(["a"])).message(Message::new(Role::Tool, [Part::ToolResult(plot)]));
    assert_eq!(roles(&shown).0, json!(["user", "assistant", "tool", "assistant", "user"]));
    assert_eq!(roles(&question().message(Message::assistant("x")).user("y")).0, json!(["user", "assistant", "user"]));
    let ids = fitted(&mistral, &plain).0;
    let id = ids["messages"][1]["tool_calls"][0]["id"].as_str().unwrap().to_owned();
    assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    assert_eq!(ids["messages"][2]["tool_call_id"], id);
    assert_eq!(fitted(&mistral, &question().seed(1)).0["random_seed"], 1);
}

#[test]
fn a_schema_that_a_provider_has_no_place_for_is_refused_before_it_is_sent() {
    let request = question().response_format(ResponseFormat::json_schema("answer", json!({ "type": "object" })));
    let deepseek = Preset::DEEPSEEK.with_key("sk-1");
    let error = deepseek.encode(&request, &mut Fit::default()).unwrap_err();
    assert_eq!((error.kind(), error.sends()), (Kind::InvalidRequest, 0));
    assert!(error.to_string().contains("ask for `ResponseFormat::Json`"), "{error}");
    assert_eq!(
        fitted(&deepseek, &question().response_format(ResponseFormat::Json)).0["response_format"]["type"],
        "json_object"
    );
}

#[test]
fn the_system_text_is_the_developers_where_model_and_provider_have_one() {
    let role = |dialect: &OpenAi, model: &str| {
        fitted(dialect, &question().model(model).system("Be brief.")).0["messages"][0]["role"].clone()
    };
    assert_eq!(role(&openai(), "o3"), "developer");
    assert_eq!(role(&openai(), "gpt-4o"), "system");
    assert_eq!(role(&openai(), "some-model"), "system");
    assert_eq!(role(&Preset::OPENROUTER.with_key("sk-1"), "openai/o3"), "system");
}

#[test]
fn the_cap_goes_by_the_name_that_the_model_takes() {
    let cap = |dialect: &OpenAi, model: &str| {
        let (sent, _) = fitted(dialect, &question().model(model).max_tokens(7));
        (sent.get("max_tokens").cloned(), sent.get("max_completion_tokens").cloned())
    };
    let (old, new) = ((Some(json!(7)), None), (None, Some(json!(7))));
    assert_eq!(cap(&openai(), "gpt-4o"), new);
    assert_eq!(cap(&Preset::AZURE_V1.with_key("k").base_url("https://r.openai.azure.com/openai/v1"), "o3"), new);
    assert_eq!(cap(&Preset::DEEPSEEK.with_key("k"), "deepseek-chat"), old);
}

#[test]
fn openrouters_details_of_its_thoughts_go_back_as_they_came() {
    let openrouter = Preset::OPENROUTER.with_key("sk-1");
    let details = r#"[{"type":"reasoning.text","text":"Hm.","signature":"x", "index":0},{"type":"reasoning.encrypted","data":"EqQ="}]"#;
    let answer = format!(
        r#"{{"choices":[{{"message":{{"content":"","reasoning":"Hm.","reasoning_details":{details},"tool_calls":[{{"id":"a","type":"function","function":{{"name":"look","arguments":"{{}}"}}}}]}}}}]}}"#
    );
    let reply = decoded(&openrouter, &answer).unwrap();
    assert_eq!(reply.message().reasoning().next().unwrap().text(), "Hm.");
    let request = spoken(reply.message().clone());
    let sent = openrouter.encode(&request, &mut Fit::default()).unwrap().into_body();
    assert!(std::str::from_utf8(&sent).unwrap().contains(&format!(r#""reasoning_details":{details}"#)));
    assert!(body(&openai(), &request)["messages"][1].get("reasoning_details").is_none());
}

#[test]
fn a_stream_is_asked_for_its_usage_where_it_must_be_and_where_it_may_be() {
    let options = |dialect: &OpenAi, request: chat::Request| {
        let sent = fitted(dialect, &request).0;
        assert_eq!(sent.get("stream"), request.is_stream().then_some(&json!(true)));
        sent.get("stream_options").cloned()
    };
    let asked = Some(json!({ "include_usage": true }));
    assert_eq!(options(&openai(), question().stream()), asked);
    assert_eq!(options(&openai(), question()), None);
    assert_eq!(options(&Preset::MISTRAL.with_key("m-1"), question().stream()), None);
    let own = question().stream().extra("openai", "stream_options", json!({ "include_usage": false }));
    assert_eq!(options(&openai(), own), Some(json!({ "include_usage": false })));
    assert_eq!(body(&anthropic(), &question().stream())["stream"], true);
}
