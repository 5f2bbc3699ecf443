//! Replies as literals of the types that the Node SDKs are written in.
use crate::{
    accept::{KNOWN, is_known},
    cases::{self, Case},
    child::{Node, Sdk, lines},
};
use seawall::sim::InProcess;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower::ServiceExt;

pub fn fits_the_types(runtime: &Runtime, node: &Node) {
    let replies: Vec<_> = cases::replies().into_iter().map(|case| (case, false)).collect();
    let errors = cases::errors().into_iter().map(|case| (case, true));
    let all: Vec<_> = replies.into_iter().chain(errors).filter(|(case, _)| case.path.is_none()).collect();
    let mut bodies = Vec::new();
    for (case, failed) in &all {
        let body = runtime.block_on(body(case));
        let literal =
            |name: &str, body: &Value| json!({"name": name, "api": case.api.name(), "failed": failed, "body": body});
        bodies.push(literal(&case.name, &body));
        // What is known hides nothing else.
        if let Some(without) = without_thoughts(&body) {
            bodies.push(literal(&format!("{}, without its thoughts", case.name), &without));
        }
    }
    let told = lines(node.command("types"), &json!(bodies));
    let (checked, errors) = told.split_last().unwrap();
    assert_eq!(checked["checked"], bodies.len());
    let text = |error: &Value| error["error"].as_str().unwrap().to_owned();
    let mut wrong: Vec<_> =
        errors.iter().filter(|error| !bodies.iter().any(|body| body["name"] == error["case"])).map(text).collect();
    for body in &bodies {
        let name = body["name"].as_str().unwrap();
        let found: Vec<_> = errors.iter().filter(|error| error["case"] == name).map(text).collect();
        let known = KNOWN.iter().find(|(of, ..)| *of == name).map(|(_, word, _)| *word);
        if !is_known(&found, known) {
            wrong.push(format!("{name}: {found:?}, expected: {known:?}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn without_thoughts(body: &Value) -> Option<Value> {
    let mut body = body.clone();
    body["choices"].get_mut(0)?["message"].as_object_mut()?.remove("reasoning_content")?;
    Some(body)
}

/// The body of the last reply, asked for in the same way as the SDKs do.
async fn body(case: &Case) -> Value {
    let provider = InProcess::new(case.script.clone()).unwrap();
    let path = match case.api {
        cases::Api::OpenAi => "/v1/chat/completions",
        cases::Api::Anthropic => "/v1/messages",
    };
    let mut request = json!({
        "model": case.model, "max_tokens": case.max_tokens.unwrap_or(1024), "tools": [{}],
        "messages": [{"role": "user", "content": "hello"}],
    });
    if !case.stop.is_empty() {
        request["stop"] = json!(case.stop);
    }
    let mut last = Value::Null;
    for _ in 0..case.requests {
        let request = http::Request::post(path).body(request.to_string()).unwrap();
        let body = provider.clone().oneshot(request).await.unwrap().into_body();
        let bytes = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
        last = serde_json::from_slice(&bytes).unwrap();
    }
    last
}
