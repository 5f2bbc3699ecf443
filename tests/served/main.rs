//! The clients that people have, in front of the Axum example: the official SDKs of both providers, LangChain, the Vercel AI SDK and curl,
//! each with nothing but another base URL, over a route of each dialect.
//!
//! They are told of as for the test `sdks`. What is not at hand is said and passed over, unless `SEAWALL_SDKS_REQUIRED=1`.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, unreachable_pub, dead_code)]

#[path = "../sdks/child.rs"]
mod child;
mod example;

use child::lines;
use example::{Example, Route};
use seawall::sim::{Answer, Fault, MockProvider, Phase, Script, When};
use serde_json::{Value, json};
use std::{
    env,
    io::{Read, Write},
    net::TcpStream,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};

fn main() -> ExitCode {
    // The providers live on the worker; this thread waits for the clients.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (mut clients, mut missing) = (Vec::new(), Vec::new());
    match env::var("SEAWALL_PYTHON") {
        Ok(python) => clients.extend(
            ["openai_sdk.py", "anthropic_sdk.py", "langchain.py"].map(|script| Client::Python(python.clone(), script)),
        ),
        Err(_) => missing.push("SEAWALL_PYTHON"),
    }
    match env::var("SEAWALL_NODE_MODULES") {
        Ok(modules) => {
            let modules = std::path::absolute(modules).unwrap();
            clients.extend(["sdks.cjs", "vercel.cjs"].map(|script| Client::Node(modules.clone(), script)));
        }
        Err(_) => missing.push("SEAWALL_NODE_MODULES"),
    }
    for variable in &missing {
        eprintln!("served: {variable} is not set: these clients are not tried (CONTRIBUTING.md)");
    }
    let is_required = env::var("SEAWALL_SDKS_REQUIRED").is_ok_and(|value| value == "1");
    let mut well = missing.is_empty() || !is_required;
    for dialect in ["openai", "anthropic"] {
        let provider = runtime.block_on(MockProvider::start(script())).unwrap();
        let example = example(dialect, &provider);
        for client in &clients {
            well &= check(&format!("{} over {dialect}", client.name()), || client.run(&example.base, dialect, false));
        }
        match Command::new("curl").arg("--version").output() {
            Ok(_) => well &= check(&format!("curl over {dialect}"), || curl(&example.base)),
            Err(_) => {
                eprintln!("served: curl is not installed, and not tried");
                well &= !is_required;
            }
        }
        for client in &clients {
            well &= check(&format!("{} waits as it is told over {dialect}", client.name()), || {
                patient(&runtime, dialect, client)
            });
        }
    }
    #[cfg(unix)]
    {
        let provider = runtime.block_on(MockProvider::start(script())).unwrap();
        well &= check("more connections than descriptors", || crowded(&provider));
    }
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Those for which there is no room wait, and the service goes on when there is.
#[cfg(unix)]
fn crowded(provider: &MockProvider) {
    let route = Route { name: "only", dialect: "openai", provider };
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 40 && exec \"$0\" \"$@\""]).arg(example::binary());
    let example = Example::spawn(command, &[route], &[]);
    let address = example.base.strip_prefix("http://").unwrap();
    let ask = || {
        let mut connection = TcpStream::connect(address).unwrap();
        connection.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        connection
    };
    let answer = |mut connection: TcpStream| {
        let mut told = String::new();
        connection.read_to_string(&mut told).unwrap();
        assert!(told.starts_with("HTTP/1.1 200 "), "{told}");
    };
    let crowd: Vec<_> = (0..60).map(|_| TcpStream::connect(address).unwrap()).collect();
    let waiting = ask();
    drop(crowd);
    answer(waiting);
    answer(ask());
}

/// What is answered goes by the model that is asked for.
fn script() -> Script {
    let secrets = r#"{"error":{"type":"authentication_error","message":"Incorrect API key provided: sk-upstream of org-upstream"}}"#;
    let refused = r#"{"error":{"type":"invalid_request_error","message":"temperature: must be at most 2"}}"#;
    let unknown =
        r#"{"error":{"type":"not_found_error","message":"The model does not exist","code":"model_not_found"}}"#;
    let tools = Answer::default()
        .text("")
        .tool_call("weather", r#"{"place":"Paris"}"#)
        .tool_call("weather", r#"{"place":"Rome"}"#);
    let when = |model: &str| When::always().model(model);
    Script::seeded(1)
        .answer(Answer::default().text("Blue, mostly. It depends."))
        .fault(when("tools"), Fault::answer(tools))
        .fault(when("json"), Fault::answer(Answer::default().text(r#"{"colour":"blue"}"#)))
        .fault(when("thinking"), Fault::answer(Answer::default().reasoning("The sky is blue.").text("Blue.")))
        .fault(when("refused"), Fault::status(400).body(refused))
        .fault(when("unknown"), Fault::status(404).body(unknown))
        .fault(when("unauthorized"), Fault::status(401).body(secrets))
        .fault(when("limited"), Fault::status(429).header("retry-after-ms", "1500"))
        .fault(when("broken"), Fault::status(500))
        .fault(when("overloaded"), Fault::status(503))
        .fault(when("silent"), Fault::silence(Phase::BeforeHead))
        .fault(when("cut"), Fault::truncate(Phase::AfterTokens(3)))
}

fn example(dialect: &'static str, provider: &MockProvider) -> Example {
    let route = Route { name: "only", dialect, provider };
    Example::start(&[route], &["--retries", "0", "--deadline", "2", "--body-limit", "2000000"])
}

/// Its first request is limited for a second.
fn patient(runtime: &Runtime, dialect: &'static str, client: &Client) {
    let script = Script::seeded(1).fault(When::first(1), Fault::status(429).header("retry-after", "1"));
    let provider = runtime.block_on(MockProvider::start(script)).unwrap();
    let example = example(dialect, &provider);
    client.run(&example.base, dialect, true);
    assert_eq!(provider.seen(), 2, "the stack does not ask again here, and the client does once");
}

enum Client {
    Python(String, &'static str),
    Node(PathBuf, &'static str),
}

impl Client {
    fn name(&self) -> &'static str {
        match self {
            Self::Python(_, script) | Self::Node(_, script) => script,
        }
    }

    fn run(&self, base: &str, dialect: &str, retry_after: bool) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/served");
        let mut command = match self {
            Self::Python(python, script) => {
                let mut command = Command::new(python);
                command.arg("-B").arg(folder.join(script));
                command
            }
            Self::Node(modules, script) => {
                let mut command = Command::new(env::var("SEAWALL_NODE").unwrap_or_else(|_| "node".to_owned()));
                command.arg(folder.join(script)).env("SEAWALL_NODE_MODULES", modules);
                command
            }
        };
        // Nobody is called home.
        command.env("LANGSMITH_TRACING", "false").env("AI_SDK_LOG_WARNINGS", "false");
        let checks = lines(command, &json!({ "base": base, "dialect": dialect, "retry_after": retry_after }));
        let least = if retry_after { 1 } else { 7 };
        assert!(checks.len() >= least, "only {checks:?}");
    }
}

fn curl(base: &str) {
    let ask = |path: &str, body: &Value| {
        let url = format!("{base}{path}");
        let mut command = Command::new("curl");
        command.args([
            "-sS",
            "--noproxy",
            "*",
            "--max-time",
            "20",
            "-w",
            "\n%{http_code}",
            "-d",
            &body.to_string(),
            &url,
        ]);
        let output = command.output().expect("curl is installed");
        String::from_utf8(output.stdout).unwrap()
    };
    let messages = json!([{ "role": "user", "content": "What colour is the sea?" }]);
    let answer = ask("/v1/chat/completions", &json!({ "model": "plain", "messages": messages }));
    assert!(answer.contains("Blue, mostly.") && answer.ends_with("\n200"), "{answer}");
    let answer = ask("/v1/chat/completions", &json!({ "model": "plain", "messages": messages, "stream": true }));
    assert!(answer.contains("data: [DONE]\n\n") && answer.ends_with("\n200"), "{answer}");
    let answer = ask("/v1/chat/completions", &json!({ "model": "cut", "messages": messages, "stream": true }));
    assert!(!answer.contains("[DONE]") && answer.contains("\"error\""), "{answer}");
    let answer =
        ask("/v1/messages", &json!({ "model": "plain", "messages": messages, "max_tokens": 9, "stream": true }));
    assert!(answer.contains("event: message_stop\n"), "{answer}");
    let answer = ask("/v1/messages", &json!({ "model": "plain", "messages": messages }));
    assert!(answer.contains("max_tokens: is missing") && answer.ends_with("\n400"), "{answer}");
}

/// Goes on behind one that fails, so that one run tells all.
fn check(name: &str, body: impl FnOnce()) -> bool {
    let well = catch_unwind(AssertUnwindSafe(body)).is_ok();
    eprintln!("served: {}: {name}", if well { "ok" } else { "FAILED" });
    well
}
