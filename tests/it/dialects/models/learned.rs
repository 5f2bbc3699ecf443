use super::*;

/// How OpenAI refuses a field, where the body has it.
fn refusing(field: &'static str, message: &'static str) -> impl Fn(&Value) -> (u16, String) + Clone {
    move |body| match body.get(field) {
        Some(_) => (400, json!({ "error": { "message": message, "type": "invalid_request_error" } }).to_string()),
        None => (200, OPENAI.to_owned()),
    }
}

const SEED: &str = "Unsupported parameter: 'seed' is not supported with this model.";

async fn kinds<D: Dialect, T>(client: &Client<D, T>, request: &chat::Request, calls: usize) -> Vec<Option<Kind>>
where
    Client<D, T>: Service<chat::Request, Response = Reply, Error = Error> + Clone,
{
    let mut kinds = Vec::new();
    for _ in 0..calls {
        kinds.push(client.clone().oneshot(request.clone()).await.err().map(|error| error.kind()));
    }
    kinds
}

const REFUSED: Option<Kind> = Some(Kind::UnsupportedParameter);

#[tokio::test]
async fn nothing_is_remembered_unless_it_was_asked_for() {
    let (service, _) = scripted(refusing("seed", SEED));
    let client = openai().over(service);
    let request = chat::Request::new("mine").user("Hello").seed(7);
    assert_eq!(kinds(&client, &request, 2).await, [REFUSED, REFUSED]);
}

#[tokio::test]
async fn a_refused_setting_is_left_out_from_then_on_by_every_clone_and_told_once() {
    let (service, bodies) = scripted(refusing("seed", SEED));
    let (sink, told) = diary();
    let client = openai().over(service).sink(sink).remember_refusals();
    let request = chat::Request::new("mine").user("Hello").seed(7).temperature(0.2);
    assert_eq!(kinds(&client, &request, 3).await, [REFUSED, None, None]);
    assert_eq!(told(), ["- mine: `seed` was left out, as it is refused"]);
    assert_eq!(bodies.lock().unwrap().last().unwrap()["temperature"], 0.2);

    let other = request.model("another");
    assert_eq!(kinds(&client, &other, 1).await, [REFUSED], "it is the model that refuses");
}

#[tokio::test]
async fn what_is_learned_joins_what_is_known() {
    let (service, bodies) = scripted(refusing("seed", SEED));
    let client = openai().over(service).remember_refusals();
    let request = chat::Request::new("o3").user("Hello").seed(7).temperature(0.2).max_tokens(300_000);
    assert_eq!(kinds(&client, &request, 2).await, [REFUSED, None]);
    let body = bodies.lock().unwrap().pop().unwrap();
    assert_eq!((body.get("temperature"), &body["max_completion_tokens"]), (None, &json!(100_000)));
}

#[tokio::test]
async fn another_table_begins_with_nothing_learned() {
    let (service, _) = scripted(refusing("seed", SEED));
    let client = openai().over(service).remember_refusals();
    let request = chat::Request::new("mine").user("Hello").seed(7);
    assert_eq!(kinds(&client, &request, 2).await, [REFUSED, None]);
    let client = client.models(&Models::none());
    assert_eq!(kinds(&client, &request, 2).await, [REFUSED, None]);
}

/// Whether an answer is learned from, by a request with a temperature, a seed, a stop, tools, and a field of its own.
async fn learns(message: &str, code: &str) -> Vec<String> {
    let error = json!({ "error": { "message": message, "type": "invalid_request_error", "code": code } }).to_string();
    let (service, bodies) = scripted(move |_| (400, error.clone()));
    let client = openai().over(service).remember_refusals();
    let request = chat::Request::new("mine").user("Hello").temperature(0.2).seed(7).stop("END").max_tokens(9);
    let request = request.extra("openai", "user", json!("u-1")).extra("openai", "presence_penalty", json!(0.5));
    let request = request.extra("openai", "reasoning_effort", json!("low")).tool(Tool::new("look", "Looks."));
    assert_eq!(kinds(&client, &request, 2).await, [REFUSED, REFUSED], "{message}");
    let bodies = bodies.lock().unwrap();
    let [first, second] = [0, 1].map(|n| bodies[n].as_object().unwrap());
    first.keys().filter(|field| !second.contains_key(*field)).cloned().collect()
}

#[tokio::test]
async fn the_setting_that_an_answer_names_is_learned_in_the_words_of_many() {
    let code = "unsupported_parameter";
    for (message, field) in [
        (SEED, "seed"),
        ("Unrecognized request argument supplied: user", "user"),
        ("`temperature` is deprecated for this model.", "temperature"),
        ("The model returned the following errors: temperature is deprecated for this model.", "temperature"),
        (
            "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
            "temperature",
        ),
        ("Model sea-5 does not support parameter presencePenalty.", "presence_penalty"),
        ("Model sea-5 does not support parameter stop.", "stop"),
        ("Argument not supported on this model: stop", "stop"),
        ("stop: Extra inputs are not permitted", "stop"),
        ("unsupported_parameter: reasoning_effort is not supported with this model", "reasoning_effort"),
    ] {
        assert_eq!(learns(message, code).await, [field], "{message}");
    }
}

#[tokio::test]
async fn an_answer_that_names_several_settings_or_none_or_a_value_teaches_nothing() {
    for (message, code) in [
        ("Unsupported parameter: 'top_p' is not supported with this model.", "unsupported_parameter"),
        ("`temperature` and `seed` cannot both be specified for this model.", "unsupported_parameter"),
        ("`seed` is not supported when tools are used.", "unsupported_parameter"),
        ("Tools and reasoning_effort are not supported for sea-5 here.", "unsupported_parameter"),
        ("Unsupported value: 'reasoning_effort' does not support 'low' with this model.", "unsupported_value"),
        ("'reasoning_effort' does not support 'low' here.", "unsupported_value"),
        ("The stream must stop, as the user of this model does not support it.", "unsupported_parameter"),
        ("The answer had to stop: such an image is not supported for this model.", "unsupported_parameter"),
        ("Your organization must be verified to stream this model.", "unsupported_value"),
        ("", "unsupported_parameter"),
    ] {
        assert_eq!(learns(message, code).await, [""; 0], "{message}");
    }
}

#[tokio::test]
async fn a_refused_name_of_the_cap_on_tokens_teaches_the_other_name() {
    let message =
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    let (service, bodies) = scripted(refusing("max_tokens", message));
    let (sink, told) = diary();
    let client = openai().base_url("http://127.0.0.1:1/v1").over(service).sink(sink).remember_refusals();
    let request = chat::Request::new("mine").user("Hello").max_tokens(9);
    assert_eq!(kinds(&client, &request, 2).await, [REFUSED, None]);
    assert_eq!(bodies.lock().unwrap()[1]["max_completion_tokens"], 9);
    assert_eq!(told(), [""; 0], "nothing was left out");
}

#[tokio::test]
async fn a_server_that_refuses_both_names_gets_neither() {
    let (service, bodies) = scripted(|body| {
        let named = ["max_tokens", "max_completion_tokens"].into_iter().find(|name| body.get(*name).is_some());
        match named {
            Some(name) => {
                (400, json!({ "error": { "message": format!("Unsupported parameter: '{name}'") } }).to_string())
            }
            None => (200, OPENAI.to_owned()),
        }
    });
    let client = openai().over(service).remember_refusals();
    let request = chat::Request::new("mine").user("Hello").max_tokens(9);
    assert_eq!(kinds(&client, &request, 3).await, [REFUSED, REFUSED, None]);
    assert_eq!(bodies.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn anthropic_is_learned_from_too() {
    let refusal = |body: &Value| {
        match body.get("temperature") {
        Some(_) => (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"`temperature` is deprecated for this model."}}"#.to_owned()),
        None => (200, ANTHROPIC.to_owned()),
    }
    };
    let (service, _) = scripted(refusal);
    let client = anthropic().over(service).remember_refusals();
    let request = chat::Request::new("claude-opus-9").user("Hello").temperature(0.2);
    assert_eq!(kinds(&client, &request, 2).await, [REFUSED, None]);
}

#[tokio::test]
async fn what_asks_for_the_form_of_an_answer_is_never_learned() {
    let message = "Unsupported parameter: 'response_format' is not supported with this model.";
    let (service, _) = scripted(refusing("response_format", message));
    let client = openai().over(service).remember_refusals();
    let request = chat::Request::new("mine").user("Hello").response_format(ResponseFormat::Json);
    assert_eq!(kinds(&client, &request, 2).await, [REFUSED, REFUSED]);
}

#[tokio::test]
async fn models_beyond_a_bound_are_forgotten() {
    let (service, _) = scripted(refusing("seed", SEED));
    let client = openai().over(service).remember_refusals();
    let ask = |n: u32| chat::Request::new(format!("m{n}")).user("Hello").seed(7);
    for n in 0..=256 {
        assert_eq!(kinds(&client, &ask(n), 1).await, [REFUSED]);
    }
    assert_eq!(kinds(&client, &ask(256), 1).await, [None]);
    assert_eq!(kinds(&client, &ask(0), 1).await, [REFUSED], "it was learned first, and is learned again");
}
