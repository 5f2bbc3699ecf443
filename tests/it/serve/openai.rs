//! OpenAI's chat completions as they are served: what is read, and what comes back as our own client reads it.
mod rounds;

use super::ask;
use crate::guarded;
use bytes::Bytes;
use seawall::{
    Kind, Stack, chat,
    provider::{Anthropic, OpenAi},
    serve::{self, Endpoint, Protocol},
    sim::{Answer, InProcess, Script},
    stack::Boxed,
};
use serde_json::{Value, json};

fn read(body: &Value) -> Result<chat::Request, seawall::Error> {
    serve::OpenAi::new().decode(&Bytes::from(body.to_string()))
}

/// A question with one more field.
fn with(field: &str, value: Value) -> Value {
    let mut body = json!({ "model": "m", "messages": [{ "role": "user", "content": "?" }] });
    body[field] = value;
    body
}

fn refused(body: String) -> String {
    let error = serve::OpenAi::new().decode(&Bytes::from(body)).unwrap_err();
    assert_eq!(error.kind(), Kind::InvalidRequest);
    error.message().unwrap().to_owned()
}

fn over(script: Script) -> (InProcess, Endpoint<serve::OpenAi, Boxed>) {
    let provider = InProcess::new(script.keep_bodies(100_000)).unwrap();
    let stack = Stack::chat(OpenAi::new("k").over(provider.clone())).max_retries(0).build().unwrap();
    (provider, Endpoint::new(serve::OpenAi::new(), Boxed::new(stack)))
}

fn sent(provider: &InProcess) -> Value {
    serde_json::from_slice(provider.log().records.last().unwrap().body.as_deref().unwrap()).unwrap()
}

/// The same without what is null.
fn bare(value: Value) -> Value {
    match value {
        Value::Object(all) => {
            all.into_iter().filter(|(_, it)| !it.is_null()).map(|(key, it)| (key, bare(it))).collect()
        }
        Value::Array(all) => all.into_iter().map(bare).collect(),
        other => other,
    }
}

#[test]
fn null_says_the_same_as_nothing_wherever_it_stands() {
    let full = json!({
        "model": "m", "temperature": null, "stop": null, "n": null, "stream": null, "stream_options": null, "user": null,
        "tool_choice": null, "functions": null, "seed": null, "max_tokens": null,
        "response_format": { "type": "json_schema", "json_schema": { "name": "x", "schema": {}, "strict": null } },
        "tools": [{ "type": null, "function": { "name": "a", "description": null, "parameters": null, "strict": null } }],
        "messages": [
            { "role": "user", "name": null, "content": [
                { "type": "text", "text": "What?", "refusal": null, "image_url": null },
                { "type": "image_url", "text": null, "image_url": { "url": "https://example.com/a.png", "detail": null } },
                { "type": "file", "file": { "file_data": "data:text/plain;base64,QQ==", "file_id": null, "filename": null } },
            ] },
            { "role": "assistant", "content": null, "refusal": null, "function_call": null, "audio": null, "reasoning_content": null,
              "tool_calls": [{ "id": "c", "type": null, "function": { "name": "a", "arguments": null } }] },
            { "role": "tool", "tool_call_id": "c", "content": "1", "tool_calls": null },
        ],
    });
    let [whole, without] = [full.clone(), bare(full)].map(|body| serde_json::to_value(read(&body).unwrap()).unwrap());
    assert_eq!(whole, without);
    assert_eq!(refused(json!({ "model": null, "messages": null }).to_string()), "model: is missing");
}

#[test]
fn a_field_that_is_given_twice_is_refused_wherever_it_stands() {
    let user = r#"{"role":"user","content":"?"}"#;
    for (body, told) in [
        (format!(r#"{{"model":"a","model":"b","messages":[{user}]}}"#), "model: is given twice"),
        (format!(r#"{{"model":"a","messages":[{user}],"messages":[{user}]}}"#), "messages: is given twice"),
        (format!(r#"{{"model":"a","messages":[{user}],"top_k":1,"top\u005fk":2}}"#), "top_k: is given twice"),
        (
            r#"{"model":"a","messages":[{"role":"user","role":"system","content":"?"}]}"#.to_owned(),
            "messages[0].role: is",
        ),
        (
            r#"{"model":"a","messages":[{"role":null,"role":"system","content":"?"}]}"#.to_owned(),
            "messages[0].role: is",
        ),
        (
            r#"{"model":"a","tools":[{"type":"function","function":{"name":"a","name":"b"}}]}"#.to_owned(),
            "tools[0].function.name: is given twice",
        ),
    ] {
        let message = refused(body.clone());
        assert!(message.starts_with(told), "{body}: {message}");
    }
}

#[test]
fn what_would_take_many_times_its_size_is_refused() {
    let fields: String = (0..100).map(|at| format!(r#","x{at}":1"#)).collect();
    let question = r#"{"model":"m","messages":[{"role":"user","content":"?"}]"#;
    assert_eq!(refused(format!("{question}{fields}}}")), "has more than 100 fields");
    let list = format!("[{}1]", "1,".repeat(40_000));
    let told = refused(format!(r#"{question},"a":{list},"b":{list},"c":{list}}}"#));
    assert_eq!(told, "c: holds more than 100000 values, with those before it");
    assert_eq!(refused(with("stop", vec!["x"; 101].into()).to_string()), "stop[100]: more than 100 are too many");
    assert!(read(&with("stop", vec!["x"; 100].into())).is_ok());
}

#[test]
fn options_and_numbers_that_nobody_can_read_are_told_by_their_place() {
    for (body, told) in [
        (with("stream_options", "yes".into()).to_string(), "stream_options: must be an object, and is a text"),
        (
            with("stream_options", json!({ "include_usage": "yes" })).to_string(),
            "stream_options.include_usage: must be true",
        ),
        (with("stop", 7.into()).to_string(), "stop: must be a text or a list of them, and is a number"),
        (with("x", 7.into()).to_string().replace(":7", ":1e400"), "x: is nested too deep, or holds a number"),
        (
            r#"{"model":"m","messages":[{"role":"assistant","reasoning_content":"\ud83c"}]}"#.to_owned(),
            "messages[0].reasoning_content: holds an escape",
        ),
    ] {
        let message = refused(body.clone());
        assert!(message.starts_with(told), "{body}: {message}");
    }
}

#[test]
fn system_texts_stand_in_front_in_their_order_wherever_they_came() {
    let system = |role: &str, text: Value| json!({ "role": role, "content": text });
    let parts = json!([{ "type": "text", "text": "b" }, { "type": "text", "text": "c" }]);
    let turns = [
        system("system", "a".into()),
        system("user", "?".into()),
        system("developer", parts),
        system("system", "".into()),
    ];
    let request = read(&with("messages", turns.into())).unwrap();
    assert_eq!((request.system_text(), request.messages().len()), (Some("a\n\nb\nc"), 1));
    // Of a million, each is copied once.
    let many = vec![system("system", "x".into()); 200_000];
    assert_eq!(read(&with("messages", many.into())).unwrap().system_text().unwrap().len(), 3 * 200_000 - 2);
}

#[tokio::test(start_paused = true)]
async fn system_text_alone_is_answered_by_either_provider() {
    guarded(async {
        let body =
            json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "system", "content": "Say hello." }] });
        let (_, endpoint) = over(Script::seeded(1));
        assert_eq!(ask(&endpoint, body.to_string()).await.0.status, 200);
        let provider = InProcess::new(Script::seeded(1)).unwrap();
        let stack = Stack::chat(Anthropic::new("k").over(provider)).max_retries(0).build().unwrap();
        let endpoint = Endpoint::new(serve::OpenAi::new(), Boxed::new(stack));
        assert_eq!(ask(&endpoint, body.to_string()).await.0.status, 200);
    })
    .await;
}

/// Case 59.
#[tokio::test(start_paused = true)]
async fn a_streams_usage_is_always_asked_for_and_told_to_those_who_asked() {
    guarded(async {
        for (options, is_told) in [
            (Value::Null, false),
            (json!({}), false),
            (json!({ "include_usage": false }), false),
            (json!({ "include_obfuscation": false }), false),
            (json!({ "include_usage": false, "include_obfuscation": false }), false),
            (json!({ "include_usage": true }), true),
            (json!({ "include_usage": true, "include_obfuscation": false }), true),
        ] {
            let (provider, endpoint) = over(Script::seeded(1).answer(Answer::default().text("Blue.")));
            let mut body = with("stream", true.into());
            body["stream_options"] = options.clone();
            let (head, told) = ask(&endpoint, body.to_string()).await;
            assert_eq!(head.status, 200, "{told}");
            assert_eq!(told.matches("\"prompt_tokens\"").count(), usize::from(is_told), "{options}: {told}");
            let asked = &sent(&provider)["stream_options"];
            assert_eq!(asked["include_usage"], true, "{options}");
            assert_eq!(asked.get("include_obfuscation"), options.get("include_obfuscation"), "{options}");
        }
        let (provider, endpoint) = over(Script::seeded(1));
        let body = with("stream_options", json!({ "include_obfuscation": false }));
        assert_eq!(ask(&endpoint, body.to_string()).await.0.status, 200);
        assert!(sent(&provider).get("stream_options").is_none(), "without a stream nobody takes them");
    })
    .await;
}

#[test]
fn thoughts_that_are_given_as_text_and_in_pieces_are_both_kept() {
    let turn = json!({ "role": "assistant", "content": "Blue.", "reasoning_content": "Sea.",
        "reasoning_details": [{ "type": "reasoning.text", "text": "Sea." }] });
    let request = read(&with("messages", [turn.clone()].into())).unwrap();
    let kept: Vec<_> = request.messages()[0].reasoning().map(|it| it.native().json().get().to_owned()).collect();
    assert_eq!(kept, [turn["reasoning_content"].to_string(), turn["reasoning_details"].to_string()]);
}
