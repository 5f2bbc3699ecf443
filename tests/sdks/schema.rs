//! Replies as literals of the types that the Node SDKs are written in.
use crate::{
    accept::{KNOWN, is_known},
    cases::{self, Case},
    child::{Node, Sdk, lines},
};
use bytes::Bytes;
use seawall::sim::InProcess;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower::ServiceExt;

pub fn fits_the_types(runtime: &Runtime, node: &Node) {
    let typed = |cases: Vec<Case>, of: &'static str| cases.into_iter().map(move |case| (case, of));
    let all = typed(cases::replies(), "Reply").chain(typed(cases::errors(), "Failure"));
    let all = all.chain(typed(cases::streams(), "Event"));
    let mut bodies = Vec::new();
    for (case, of) in all.filter(|(case, _)| case.path.is_none()) {
        let literal = |name: &str, of: &str, body: &Value| json!({"name": name, "api": case.api.name(), "type": of, "body": body});
        let body = runtime.block_on(body(&case));
        if case.stream {
            for (nth, event) in events(&body).into_iter().enumerate() {
                let of = if event.get("error").is_some() { "Failure" } else { of };
                bodies.push(literal(&format!("{}, event {nth}", case.name), of, &event));
            }
            continue;
        }
        let body: Value = serde_json::from_slice(&body).unwrap();
        bodies.push(literal(&case.name, of, &body));
        // What is known hides nothing else.
        if let Some(without) = without_thoughts(&body, "message") {
            bodies.push(literal(&format!("{}, without its thoughts", case.name), of, &without));
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

/// Events as the types have them: a ping is in none, and that thoughts are unknown is told by the whole replies.
fn events(body: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(body).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    let events = data.map(|data| serde_json::from_str::<Value>(data).unwrap());
    events
        .filter(|event| event["type"] != "ping")
        .map(|event| without_thoughts(&event, "delta").unwrap_or(event))
        .collect()
}

fn without_thoughts(body: &Value, place: &str) -> Option<Value> {
    let mut body = body.clone();
    body["choices"].get_mut(0)?[place].as_object_mut()?.remove("reasoning_content")?;
    Some(body)
}

/// The body of the last reply, asked for in the same way as the SDKs do.
async fn body(case: &Case) -> Bytes {
    let provider = InProcess::new(case.script.clone()).unwrap();
    let path = match case.api {
        cases::Api::OpenAi => "/v1/chat/completions",
        cases::Api::Anthropic => "/v1/messages",
    };
    let mut request = json!({
        "model": case.model, "max_tokens": case.max_tokens.unwrap_or(1024), "tools": [{}],
        "messages": [{"role": "user", "content": "hello"}], "stream": case.stream,
        "stream_options": {"include_usage": true},
    });
    if !case.stop.is_empty() {
        request["stop"] = json!(case.stop);
    }
    let mut last = Bytes::new();
    for _ in 0..case.requests {
        let request = http::Request::post(path).body(request.to_string()).unwrap();
        let body = provider.clone().oneshot(request).await.unwrap().into_body();
        last = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
    }
    last
}
