//! What each model takes: a table by name, what is left out for it, and what is learned from refusals.
mod learned;
mod table;

use super::*;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use seawall::{
    Change, Kind, Models, Sink, Stack, What,
    chat::{ResponseFormat, Tool},
    provider::Client,
};
use serde_json::json;
use std::{
    io,
    sync::{Arc, Mutex},
};
use tower::{Service, ServiceExt, service_fn};

const OPENAI: &str = r#"{"choices":[{"message":{"content":"Blue."},"finish_reason":"stop"}]}"#;
const ANTHROPIC: &str = r#"{"type":"message","content":[{"type":"text","text":"Blue."}],"stop_reason":"end_turn"}"#;

type Bodies = Arc<Mutex<Vec<Value>>>;

/// A provider that answers by a script, and keeps what it was asked.
fn scripted(
    script: impl Fn(&Value) -> (u16, String) + Clone + Send + Sync + 'static,
) -> (
    impl Service<Request<Full<Bytes>>, Response = Response<String>, Error = io::Error, Future: Send> + Clone + Send + Sync,
    Bodies,
) {
    let bodies = Bodies::default();
    let seen = bodies.clone();
    let service = service_fn(move |request: Request<Full<Bytes>>| {
        let (script, bodies) = (script.clone(), bodies.clone());
        async move {
            let bytes = request.collect().await.unwrap().to_bytes();
            let body: Value = serde_json::from_slice(&bytes).unwrap();
            let (status, answer) = script(&body);
            bodies.lock().unwrap().push(body);
            Ok(Response::builder().status(status).body(answer).unwrap())
        }
    });
    (service, seen)
}

/// Every change, as `route model: change`.
fn diary() -> (Sink, impl Fn() -> Vec<String>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = lines.clone();
    let sink = Sink::new(move |event| {
        if let What::Changed { key, change } = event.what {
            let (route, model) = (event.route.unwrap_or("-"), key.unwrap_or("-"));
            log.lock().unwrap().push(format!("{route} {model}: {change}"));
        }
    });
    (sink, move || std::mem::take(&mut *lines.lock().unwrap()))
}

/// What a dialect sends, with the table that comes with seawall.
fn fitted(dialect: &impl Dialect, request: &chat::Request) -> (Value, Vec<Change>) {
    let mut fit = Fit::new(Models::default().get(request.model_name()));
    let encoded = dialect.encode(request, &mut fit).unwrap();
    (serde_json::from_slice(encoded.body()).unwrap(), fit.changes().to_vec())
}

fn left_out<const N: usize>(fields: [&str; N]) -> Vec<Change> {
    fields.iter().map(|field| Change::LeftOut { field: (*field).to_owned().into() }).collect()
}

fn all_settings(model: &str) -> chat::Request {
    let request = chat::Request::new(model).user("Hello").temperature(0.2).top_p(0.9).stop("END").seed(7);
    request.parallel_tool_calls(false).max_tokens(100).tool(Tool::new("look", "Looks."))
}

#[test]
fn what_a_model_refuses_is_left_out_and_what_it_takes_is_sent() {
    let ask = |model: &str| chat::Request::new(model).user("Hello").temperature(0.2);
    let (body, changes) = fitted(&anthropic(), &ask("claude-opus-4-8"));
    assert_eq!((body.get("temperature"), changes), (None, left_out(["temperature"])));
    let (body, changes) = fitted(&anthropic(), &ask("claude-sonnet-4-6"));
    assert_eq!((&body["temperature"], changes), (&json!(0.2), vec![]));

    let (body, changes) = fitted(&openai(), &ask("o3"));
    assert_eq!((body.get("temperature"), changes), (None, left_out(["temperature"])));
    let (body, changes) = fitted(&openai(), &ask("gpt-4o"));
    assert_eq!((&body["temperature"], changes), (&json!(0.2), vec![]));
}

#[test]
fn an_unknown_model_is_allowed_everything() {
    for model in ["gpt-5.9", "claude-opus-9", "mine", "/", "-latest", "é-2024-08-06", &"x".repeat(1 << 20)] {
        assert_eq!(Models::default().get(model), seawall::Capabilities::default(), "{model:.20}");
        let request = all_settings(model).max_tokens(u32::MAX).extra("openai", "logprobs", json!(true));
        let (body, changes) = fitted(&openai(), &request);
        assert_eq!(changes, []);
        assert_eq!(body, super::body(&openai(), &request));
        assert_eq!((&body["temperature"], &body["max_completion_tokens"]), (&json!(0.2), &json!(u32::MAX)));
    }
}

#[test]
fn every_setting_that_is_refused_goes_and_no_other() {
    let request = all_settings("o3")
        .extra("openai", "logprobs", json!(true))
        .extra("openai", "verbosity", json!("low"))
        .extra("anthropic", "top_logprobs", json!(3));
    let (body, changes) = fitted(&openai(), &request);
    assert_eq!(changes, left_out(["temperature", "top_p", "stop", "parallel_tool_calls", "logprobs"]));
    let fields: Vec<_> = body.as_object().unwrap().keys().cloned().collect();
    assert_eq!(fields, ["max_completion_tokens", "messages", "model", "seed", "tools", "verbosity"]);
    assert_eq!(request.sampling(), (Some(0.2), Some(0.9)), "the caller's own stays as it is");
}

#[test]
fn a_request_that_fits_is_the_one_that_was_given() {
    let request = chat::Request::new("o3").user("Hello").seed(7);
    let mut fit = Fit::new(Models::default().get("o3"));
    assert!(matches!(fit.settings(&request, "openai"), std::borrow::Cow::Borrowed(_)));
    assert_eq!(fit.changes(), []);
}

#[test]
fn tokens_above_the_models_longest_answer_are_brought_down_to_it() {
    let ask = |tokens| chat::Request::new("claude-3-5-haiku-20241022").user("Hello").max_tokens(tokens);
    let (body, changes) = fitted(&anthropic(), &ask(100_000));
    assert_eq!((&body["max_tokens"], changes), (&json!(8_192), vec![Change::Bounded { field: "max_tokens".into() }]));
    let (body, changes) = fitted(&anthropic(), &ask(8_192));
    assert_eq!((&body["max_tokens"], changes), (&json!(8_192), vec![]));
}

#[test]
fn of_two_settings_that_are_not_taken_together_the_first_stays() {
    let ask = || chat::Request::new("claude-sonnet-4-5").user("Hello").top_p(0.9);
    let (body, changes) = fitted(&anthropic(), &ask().temperature(0.2));
    assert_eq!((&body["temperature"], body.get("top_p")), (&json!(0.2), None));
    assert_eq!(changes, left_out(["top_p"]));
    let (body, changes) = fitted(&anthropic(), &ask());
    assert_eq!((&body["top_p"], changes), (&json!(0.9), vec![]));

    let table = "[[model]]\nnames = [\"m\"]\nrefuses = [\"temperature\"]\nnot_both = [[\"temperature\", \"top_p\"]]";
    let mut fit = Fit::new(Models::parse(table).unwrap().get("m"));
    let request = ask().temperature(0.2);
    assert_eq!(fit.settings(&request, "anthropic").sampling(), (None, Some(0.9)), "the first is refused anyway");
    assert_eq!(fit.changes(), left_out(["temperature"]));
}

#[test]
fn some_settings_are_refused_while_the_model_reasons() {
    let effort = |model: &str, effort: &str| {
        let request = chat::Request::new(model).user("Hello").temperature(0.2);
        let effort = (!effort.is_empty()).then(|| json!(effort));
        let request =
            effort.into_iter().fold(request, |request, effort| request.extra("openai", "reasoning_effort", effort));
        fitted(&openai(), &request).1
    };
    assert_eq!(effort("gpt-5.1", ""), [], "it does not reason by itself");
    assert_eq!(effort("gpt-5.1", "none"), []);
    assert_eq!(effort("gpt-5.1", "low"), left_out(["temperature"]));
    assert_eq!(effort("gpt-5.6", ""), left_out(["temperature"]), "it does");
    assert_eq!(effort("gpt-5.6", "none"), []);
    assert_eq!(effort("gpt-5", "none"), left_out(["temperature"]), "it cannot be stopped");

    let routed = chat::Request::new("openai/gpt-5.6").user("Hello").temperature(0.2);
    let routed = routed.extra("openrouter", "reasoning", json!({ "effort": "none" }));
    assert_eq!(fitted(&openai().name("openrouter"), &routed).1, []);
}

#[test]
fn the_cap_on_tokens_goes_by_the_name_that_the_model_takes() {
    let host = || openai().base_url("http://127.0.0.1:1/v1");
    let (body, changes) = fitted(&host(), &chat::Request::new("openai/gpt-5").user("Hello").max_tokens(100));
    assert_eq!((&body["max_completion_tokens"], body.get("max_tokens"), changes), (&json!(100), None, vec![]));
    let (body, _) = fitted(&host(), &chat::Request::new("mine").user("Hello").max_tokens(100));
    assert_eq!((&body["max_tokens"], body.get("max_completion_tokens")), (&json!(100), None));
}

#[tokio::test(start_paused = true)]
async fn what_was_left_out_is_told_once_however_many_calls_and_clones() {
    let (service, bodies) = scripted(|_| (200, OPENAI.to_owned()));
    let (sink, told) = diary();
    let stack = Stack::chat(openai().over(service)).name("eu").sink(sink).build().unwrap();
    let question = || chat::Request::new("o3").user("Hello").temperature(0.2).max_tokens(200_000);
    for _ in 0..3 {
        stack.clone().ask(question()).await.unwrap();
    }
    let expected = [
        "eu o3: `temperature` was left out, as it is refused",
        "eu o3: `max_tokens` was brought into the range that is taken",
    ];
    assert_eq!(told(), expected);
    stack.ask(question().model("o4-mini")).await.unwrap();
    assert_eq!(told().len(), 2, "of another model");
    stack.ask(question().top_p(0.9)).await.unwrap();
    assert_eq!(told(), ["eu o3: `top_p` was left out, as it is refused"]);
    assert!(bodies.lock().unwrap().iter().all(|body| body.get("temperature").is_none()));
}

#[tokio::test(start_paused = true)]
async fn each_route_gets_what_its_own_model_takes() {
    let (first, asked_first) = scripted(|_| (503, String::new()));
    let (second, asked_second) = scripted(|_| (200, ANTHROPIC.to_owned()));
    let (sink, told) = diary();
    let stack = Stack::chat(openai().over(first))
        .name("openai")
        .max_retries(1)
        .then(anthropic().over(second))
        .name("anthropic")
        .model("claude-sonnet-4-6")
        .on([seawall::failover::On::Overloaded, seawall::failover::On::Server])
        .sink(sink);
    let question = chat::Request::new("gpt-5").user("Hello").temperature(0.2).stop("END").max_tokens(500_000);
    let reply = stack.build().unwrap().ask(question).await.unwrap();
    assert_eq!(reply.text(), "Blue.");
    for body in asked_first.lock().unwrap().iter() {
        assert_eq!((body.get("temperature"), body.get("stop")), (None, None));
        assert_eq!(body["max_completion_tokens"], 128_000);
    }
    let body = asked_second.lock().unwrap().pop().unwrap();
    assert_eq!((&body["temperature"], &body["stop_sequences"]), (&json!(0.2), &json!(["END"])));
    let expected = [
        "openai gpt-5: `temperature` was left out, as it is refused",
        "openai gpt-5: `stop` was left out, as it is refused",
        "openai gpt-5: `max_tokens` was brought into the range that is taken",
        "anthropic claude-sonnet-4-6: `max_tokens` was brought into the range that is taken",
    ];
    assert_eq!(told(), expected);
}

#[tokio::test]
async fn a_client_takes_a_table_of_ones_own() {
    let mine = Models::parse("[[model]]\nnames = [\"sea-7b\", \"o3\"]\nrefuses = [\"seed\"]").unwrap();
    let (service, bodies) = scripted(|_| (200, OPENAI.to_owned()));
    let client = openai().over(service).models(&mine.or(&Models::default()));
    for model in ["sea-7b", "o3", "o4-mini"] {
        client.clone().oneshot(chat::Request::new(model).user("Hello").temperature(0.2).seed(7)).await.unwrap();
    }
    let has = |body: &Value| (body.get("temperature").is_some(), body.get("seed").is_some());
    let sent: Vec<_> = bodies.lock().unwrap().iter().map(has).collect();
    assert_eq!(sent, [(true, false), (true, false), (false, true)], "a row of one's own is taken as a whole");
}
