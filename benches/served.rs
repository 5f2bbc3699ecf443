//! What the Axum example costs: the CPU time of its process, for a plain call and for a stream of 20 events, over 2,000 calls each.
//!
//! ```sh
//! cargo build --profile dist --example axum_service && cargo bench --profile dist --bench served
//! ```
//! Client and provider live in this process, so that the other one's time is all that a service in between adds. Linux only, as the
//! time is read from `/proc`.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, unreachable_pub)]

#[path = "../tests/served/example.rs"]
mod example;

use example::{Example, Route};
use seawall::sim::{Answer, MockProvider, Script};
use std::{fs, path::Path, time::Duration};

const CALLS: u32 = 2_000;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    if !Path::new("/proc/self/task").exists() {
        println!("no /proc: the CPU time of a process cannot be read here");
        return;
    }
    let words = "w ".repeat(18); // with its first and its last chunk, 20 events
    let provider = MockProvider::start(Script::seeded(1).answer(Answer::default().text(words))).await.unwrap();
    println!("CPU time of the process of the Axum example, over {CALLS} calls each");
    for (name, dialect, path) in [
        ("openai, handed on", "openai", "/v1/chat/completions"),
        ("openai, by Anthropic", "anthropic", "/v1/chat/completions"),
        ("anthropic, handed on", "anthropic", "/v1/messages"),
        ("anthropic, by OpenAI", "openai", "/v1/messages"),
    ] {
        let example = Example::start(&[Route { name: "only", dialect, provider: &provider }], &[]);
        let url = format!("{}{path}", example.base);
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut told = Vec::new();
        for stream in [false, true] {
            let body = format!(
                r#"{{"model":"m","max_tokens":99,"messages":[{{"role":"user","content":"What colour is the sea?"}}],"stream":{stream}}}"#
            );
            let ask = async |calls| {
                for _ in 0..calls {
                    let answer = client.post(&url).body(body.clone()).send().await.unwrap();
                    assert!(answer.status().is_success());
                    answer.bytes().await.unwrap();
                }
            };
            ask(100).await; // connections, caches and tables
            let before = spent(example.child.id());
            ask(CALLS).await;
            told.push((spent(example.child.id()) - before) / CALLS);
        }
        println!("{name:<24} plain {:>9.1?}   stream {:>9.1?}", told[0], told[1]);
    }
}

/// What all threads of a process have spent on a CPU.
fn spent(process: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap().filter_map(Result::ok);
    let times = tasks.filter_map(|task| fs::read_to_string(task.path().join("schedstat")).ok());
    times.map(|times| Duration::from_nanos(times.split(' ').next().unwrap().parse().unwrap())).sum()
}
