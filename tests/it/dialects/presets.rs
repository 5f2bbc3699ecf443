//! What each provider is sent, and a row from outside the crate.
use super::*;
use http::{HeaderMap, Request, StatusCode};
use seawall::{
    Kind, Scope,
    chat::Part,
    provider::{CallIds, NoText, Preset},
};
use serde_json::json;

const LONG: &str = "toolu_0123456789_0123456789_0123456789_0123456789";

fn encoded(dialect: &OpenAi, request: &chat::Request) -> Request<Value> {
    let request = dialect.encode(request, &mut Fit::default()).unwrap();
    request.map(|body| serde_json::from_slice(&body).unwrap())
}

/// A tool turn with an id that is too long for some, and with thoughts of the provider's own.
fn tool_request(provider: &str) -> chat::Request {
    let turn = calls([LONG]).part(Part::Reasoning(thoughts(provider, "Hm.", "\"Hm.\"")));
    question().message(turn).tool_result(LONG, "1").max_tokens(5).seed(7)
}

/// Names of all headers but those of the body, and of what is not there for every provider.
fn told(request: &Request<Value>) -> (String, Vec<&str>, Value, String) {
    let body = request.body();
    let mut names: Vec<_> = request.headers().keys().map(http::HeaderName::as_str).collect();
    names.retain(|name| !["accept", "content-type"].contains(name));
    names.sort_unstable();
    let said = body["messages"][1].as_object().unwrap();
    let own = body
        .as_object()
        .unwrap()
        .iter()
        .chain(said)
        .filter(|(field, _)| !["model", "messages", "role", "content", "tool_calls"].contains(&field.as_str()));
    let fields = own.map(|(field, value)| (field.clone(), value.clone())).collect();
    let id = said["tool_calls"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(body["messages"][2]["tool_call_id"], id.as_str(), "the result follows its call");
    (request.uri().to_string(), names, Value::Object(fields), id)
}

#[test]
fn each_provider_is_asked_where_and_as_it_wants_to_be() {
    let usual = json!({ "max_tokens": 5, "seed": 7 });
    let newer = json!({ "max_completion_tokens": 5, "seed": 7 });
    let (bearer, short, nine) = ("authorization", "call_1b9df8505fb32a4e", "1b9df8505");
    let azure = "https://r.openai.azure.com/openai";
    let dated = format!("{azure}/deployments/m/chat/completions?api-version=2024-10-21");
    let rows = [
        ("openai", "https://api.openai.com/v1/chat/completions", bearer, newer.clone(), short),
        ("azure", &dated, "api-key", usual.clone(), short),
        ("azure_v1", &format!("{azure}/v1/chat/completions"), "api-key", newer.clone(), short),
        (
            "deepseek",
            "https://api.deepseek.com/chat/completions",
            bearer,
            json!({ "max_tokens": 5, "seed": 7, "reasoning_content": "Hm." }),
            LONG,
        ),
        ("groq", "https://api.groq.com/openai/v1/chat/completions", bearer, newer.clone(), LONG),
        (
            "mistral",
            "https://api.mistral.ai/v1/chat/completions",
            bearer,
            json!({ "max_tokens": 5, "random_seed": 7 }),
            nine,
        ),
        ("openrouter", "https://openrouter.ai/api/v1/chat/completions", bearer, usual.clone(), short),
        ("xai", "https://api.x.ai/v1/chat/completions", bearer, newer, LONG),
        ("together", "https://api.together.ai/v1/chat/completions", bearer, usual.clone(), LONG),
        ("fireworks", "https://api.fireworks.ai/inference/v1/chat/completions", bearer, usual.clone(), LONG),
        ("vllm", "http://127.0.0.1:8000/v1/chat/completions", "", usual.clone(), LONG),
        ("ollama", "http://127.0.0.1:11434/v1/chat/completions", "", usual, LONG),
    ];
    for (name, url, header, fields, id) in rows {
        let row = Preset::named(name).unwrap();
        let dialect = if header.is_empty() { row.without_key() } else { row.with_key("k-1") };
        let dialect = if name.starts_with("azure") { dialect.base_url("https://r.openai.azure.com/") } else { dialect };
        let request = encoded(&dialect, &tool_request(row.name()));
        let headers = Vec::from_iter(Some(header).filter(|header| !header.is_empty()));
        assert_eq!(told(&request), (url.to_owned(), headers, fields, id.to_owned()), "{name}");
        if let Some(key) = request.headers().get(header) {
            assert_eq!(key, if header == "api-key" { "k-1" } else { "Bearer k-1" });
            assert!(key.is_sensitive());
        }
        assert_eq!(Dialect::name(&dialect), row.name());
    }
    assert!(Preset::named("Groq").is_none());
}

/// As a user writes it, in a crate of theirs.
const MINE: Preset = Preset::new("mine", "https://llm.example.com/v1")
    .answers_as("groq")
    .path("/ask/{model}")
    .key_header("x-api-key")
    .headers(&[("X-Team", "blue")])
    .cap("max_new_tokens")
    .seed("random_seed")
    .call_ids(CallIds::Nine)
    .no_text(NoText::Absent)
    .send_reasoning();

#[test]
fn a_row_of_a_users_own_is_spoken_to_as_it_says() {
    let request = encoded(&MINE.with_key("k-1"), &tool_request("mine"));
    let fields = json!({ "max_new_tokens": 5, "random_seed": 7, "reasoning_content": "Hm." });
    let url = "https://llm.example.com/v1/ask/m".to_owned();
    assert_eq!(told(&request), (url, vec!["x-api-key", "x-team"], fields, "1b9df8505".to_owned()));
    assert_eq!(request.headers()["x-api-key"], "k-1");
    assert_eq!(request.headers()["x-team"], "blue");
    assert_eq!(request.body()["messages"][1].get("content"), None);
}

#[test]
fn errors_are_read_as_the_provider_behind_the_name_writes_them() {
    let scope = |dialect: &OpenAi| {
        let headers = [("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "2m")];
        let headers: HeaderMap = headers
            .map(|(name, value)| (name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap()))
            .into_iter()
            .collect();
        let error = dialect.classifier().answer(StatusCode::TOO_MANY_REQUESTS, &headers, b"{}");
        (error.provider_name().unwrap().to_owned(), error.scope().unwrap())
    };
    let groq = Preset::GROQ.with_key("k-1");
    assert_eq!(scope(&groq), ("groq".into(), Scope::RequestsPerDay));
    assert_eq!(scope(&groq.name("fast")), ("fast".into(), Scope::RequestsPerDay), "who answers is the same");
    assert_eq!(scope(&MINE.with_key("k-1")), ("mine".into(), Scope::RequestsPerDay));
    assert_eq!(scope(&openai().name("groq")), ("groq".into(), Scope::RequestsPerDay), "without a row the name tells");
    assert_eq!(scope(&Preset::XAI.with_key("k-1")), ("xai".into(), Scope::RequestsPerMinute));
}

#[test]
fn a_deployment_of_any_name_is_one_segment_of_the_path() {
    let azure = Preset::AZURE.with_key("k-1").base_url("https://r.openai.azure.com");
    let rows = [
        ("gpt-4o_mini.1~", "gpt-4o_mini.1~"),
        ("a/b", "a%2Fb"),
        ("a b", "a%20b"),
        ("né", "n%C3%A9"),
        ("../x", "..%2Fx"),
        ("a?b#c%2F", "a%3Fb%23c%252F"),
        ("{api_version}", "%7Bapi_version%7D"),
    ];
    for (model, segment) in rows {
        let request = encoded(&azure, &question().model(model));
        let path = format!("/openai/deployments/{segment}/chat/completions");
        assert_eq!((request.uri().path(), request.uri().query()), (&*path, Some("api-version=2024-10-21")));
        assert_eq!(request.body()["model"], model);
    }
    for (model, words) in [("", "model: is empty"), (".", "model: is no name in a path"), ("..", "model: is no name")] {
        let error = azure.encode(&question().model(model), &mut Fit::default()).unwrap_err();
        assert_eq!((error.kind(), error.sends()), (Kind::InvalidRequest, 0));
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn a_version_of_the_api_and_a_gateway_with_a_query_go_along() {
    let azure = Preset::AZURE.with_key("k-1").base_url("https://gate.example.com/az?tenant=1").api_version("2025 01&x");
    let url = "https://gate.example.com/az/openai/deployments/m/chat/completions?tenant=1&api-version=2025%2001%26x";
    assert_eq!(encoded(&azure, &question()).uri(), url);
}

#[test]
fn a_host_of_openais_own_keeps_what_openai_wants_where_the_row_is_named() {
    let asked = |dialect: OpenAi| encoded(&dialect.base_url("https://eu.api.openai.com/v1"), &question().max_tokens(5));
    assert_eq!(asked(Preset::OPENAI.with_key("k-1")).body()["max_completion_tokens"], 5);
    assert_eq!(asked(openai()).body()["max_tokens"], 5, "a host that nobody named gets what most take");
}

#[test]
fn headers_of_a_users_own_go_along_and_are_not_shown() {
    let openrouter = Preset::OPENROUTER
        .with_key("k-1")
        .header("HTTP-Referer", "https://app.example.com")
        .header("X-Title", "old")
        .header("x-title", "hush");
    let request = openrouter.encode(&question(), &mut Fit::default()).unwrap();
    assert_eq!(request.headers()["http-referer"], "https://app.example.com");
    assert_eq!(request.headers()["x-title"], "hush");
    assert_eq!(request.headers().get_all("x-title").iter().count(), 1);
    let entra =
        Preset::AZURE.without_key().base_url("https://r.openai.azure.com").header("authorization", "Bearer hush");
    assert_eq!(encoded(&entra, &question()).headers()["authorization"], "Bearer hush");
    let claude = Anthropic::without_key().header("Authorization", "Bearer hush").beta("a").beta("b").version("v1");
    let sent = claude.encode(&question(), &mut Fit::default()).unwrap();
    let header = |name: &str| sent.headers()[name].to_str().unwrap();
    assert_eq!((header("authorization"), header("anthropic-beta")), ("Bearer hush", "a,b"));
    assert_eq!(header("anthropic-version"), "v1");
    let shown = format!("{openrouter:?} {request:?} {entra:?} {claude:?} {sent:?} {:?}", Preset::AZURE);
    assert!(!shown.contains("hush") && !shown.contains("k-1") && !shown.contains("deployments"), "{shown}");
    assert!(shown.contains("r.openai.azure.com"), "{shown}");
}

#[test]
fn a_setting_that_cannot_be_sent_says_what_to_do() {
    let mine = || MINE.with_key("hush");
    let azure = || Preset::AZURE.with_key("hush");
    let deployment = "https://h/openai/deployments/gpt-4o";
    let rows = [
        (azure(), "base_url: is not set: say where the server is"),
        (azure().base_url(deployment), "base_url: holds a deployment"),
        (azure().base_url("https://h").api_version(""), "api_version: is not set"),
        (mine().base_url("https://h/{model}"), "base_url: holds a `{`"),
        (mine().api_version("1"), "api_version: has no place in the path"),
        (mine().path("/{deployment}/chat"), "path: has a `{` with neither"),
        (mine().path("/{model"), "path: has a `{` with neither"),
        (mine().header("x y", "hush"), "header: has a name that no header has"),
        (mine().header("", "hush"), "header: has a name that no header has"),
        (mine().header("x", "hush\n"), "header: holds a character"),
        (mine().header("Content-Type", "hush"), "header: may not set `content-type`"),
        (mine().header("X-API-Key", "hush"), "header: may not set `x-api-key`, which holds the key"),
        (MINE.key_header("x y").with_key("hush"), "key_header: is no name of a header"),
        (MINE.with_key(" "), "key: is empty: give one, or use `without_key`"),
    ];
    for (dialect, words) in rows {
        let error = dialect.encode(&question(), &mut Fit::default()).unwrap_err();
        assert_eq!((error.kind(), error.sends()), (Kind::InvalidRequest, 0));
        let shown = format!("{error} {error:?} {dialect:?}");
        assert!(shown.contains(words) && !shown.contains("hush"), "{words}: {shown}");
        #[cfg(feature = "reqwest")]
        assert!(dialect.client().is_err(), "{words}: at once where a client is made");
    }
    let claude = Anthropic::new("k-1");
    for (dialect, words) in [
        (claude.clone().header("x-api-key", "hush"), "header: may not set `x-api-key`"),
        (claude.clone().beta("a\n"), "beta: holds a character"),
        (claude.base_url("https://h/{x}"), "base_url: holds a `{`"),
    ] {
        let error = dialect.encode(&question(), &mut Fit::default()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[cfg(feature = "reqwest")]
#[tokio::test]
async fn a_deployment_is_asked_over_the_wire() {
    use seawall::sim::{MockProvider, Script};
    let provider = MockProvider::start(Script::seeded(1)).await.unwrap();
    let azure = Preset::AZURE.with_key("k-1").base_url(format!("http://{}", provider.address()));
    let client = azure.over(crate::client::direct());
    let reply = crate::ask(&client, question().model("my deployment")).await.unwrap();
    assert!(!reply.text().is_empty());
    let log = provider.shutdown().await;
    let paths: Vec<_> = log.records.iter().map(|record| record.path.clone()).collect();
    assert_eq!(paths, ["/openai/deployments/my%20deployment/chat/completions"]);
}

/// Prints what the environment gives; run by the test below, since a process may not change its own.
#[test]
fn with_env_in_a_child() {
    let Some(name) = std::env::var_os("SEAWALL_CHILD") else { return };
    let name = name.to_str().unwrap();
    let row = match name {
        "moved" => Preset::AZURE.path("/openai/v1/chat/completions"),
        name => Preset::named(name).unwrap_or(MINE),
    };
    let request = row.with_env().map(|dialect| dialect.encode(&question(), &mut Fit::default()).unwrap());
    match request {
        Ok(request) => {
            let keys = ["authorization", "api-key"].into_iter().filter_map(|name| request.headers().get(name));
            println!("{} {:?}", request.uri(), keys.map(|key| key.to_str().unwrap()).collect::<Vec<_>>());
        }
        Err(invalid) => println!("{invalid}"),
    }
}

#[test]
fn each_row_knows_its_variables() {
    let child = |name: &str, variables: &[(&str, &str)]| {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "dialects::presets::with_env_in_a_child", "--nocapture"]).env("SEAWALL_CHILD", name);
        for other in
            ["OPENAI_BASE_URL", "OPENAI_API_VERSION", "AZURE_OPENAI_ENDPOINT", "VLLM_API_KEY", "OLLAMA_API_KEY"]
        {
            command.env_remove(other);
        }
        command.env_remove(format!("{}_API_KEY", name.to_uppercase())).env_remove("AZURE_OPENAI_API_KEY");
        String::from_utf8(command.envs(variables.iter().copied()).output().unwrap().stdout).unwrap()
    };
    for name in ["openai", "deepseek", "groq", "mistral", "openrouter", "xai", "together", "fireworks"] {
        let variable = format!("{}_API_KEY", name.to_uppercase());
        let (with, without) = (child(name, &[(&variable, "k-1\n")]), child(name, &[]));
        assert!(with.contains(r#"/chat/completions ["Bearer k-1"]"#), "{with}");
        assert!(without.contains(&format!("{variable}: is not set: export a key")), "{without}");
    }
    for name in ["vllm", "ollama"] {
        let variable = format!("{}_API_KEY", name.to_uppercase());
        assert!(child(name, &[(&variable, "k-1")]).contains(r#"["Bearer k-1"]"#));
        assert!(child(name, &[]).contains("/chat/completions []"), "it wants no key");
    }
    let azure = [("AZURE_OPENAI_API_KEY", "k-1"), ("AZURE_OPENAI_ENDPOINT", "https://r/"), ("OPENAI_API_VERSION", "v")];
    let dated = child("azure", &azure);
    assert!(dated.contains(r#"https://r/openai/deployments/m/chat/completions?api-version=v ["k-1"]"#), "{dated}");
    for name in ["azure_v1", "moved"] {
        let plain = child(name, &azure);
        assert!(plain.contains(r#"https://r/openai/v1/chat/completions ["k-1"]"#), "no place for a version: {plain}");
    }
    assert!(child("mine", &[]).contains("key_variable: is not set: name the variable"));
}
