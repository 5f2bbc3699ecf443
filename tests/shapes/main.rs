//! Sixteen bad days, over real HTTP: a primary, a fallback, and one stack for all of them. It prints the stack's settings, and what
//! came of each. Ten times as fast as life: where a time is given in seconds, tenths of them pass.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, unreachable_pub)]

mod days;
mod seen;

use days::{DAYS, Day};
use seawall::{
    Stack, chat,
    circuit_breaker::Window,
    failover::On,
    provider::OpenAi,
    recovery::Recovery,
    sim::{MockProvider, Script},
};
use seen::Seen;
use std::{future::Future, pin::Pin, time::Duration};

/// So many times as fast as life.
const SPEED: u32 = 10;

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds) / SPEED
}

/// A call through the stack, whatever its type.
type Ask = Box<dyn Fn(chat::Request) -> Asked + Send + Sync>;
type Asked = Pin<Box<dyn Future<Output = Result<chat::Reply, seawall::Error>> + Send>>;

/// The one stack, of these settings.
fn stack(primary: &MockProvider, fallback: &MockProvider, recovery: Recovery, seen: &Seen) -> (Ask, String) {
    let client = |provider: &MockProvider| OpenAi::new("sk-1").base_url(provider.base_url()).client().unwrap();
    let stack = Stack::chat(client(primary))
        .name("primary")
        .then(client(fallback))
        .name("fallback")
        .model("larger")
        .larger()
        .on_429()
        .on([On::Overloaded, On::Server, On::Timeout, On::Transport])
        .wait_at_most(seconds(3.0))
        .max_retries(2)
        .backoff(seawall::retry::Backoff::new(seconds(0.5), seconds(8.0)).unwrap())
        .whole(seconds(30.0))
        .idle(seconds(30.0))
        .first_token(seconds(10.0))
        .circuit(Window::calls(10).unwrap())
        .open_for(seconds(5.0), seconds(10.0))
        .recovery(recovery)
        .sink(seen.sink())
        .build()
        .unwrap();
    let settings = format!(
        "{stack:?}\nwait_at_most 3 s, backoff 0.5 s to 8 s, circuit of 10 calls, open for 5 s doubling to 10 s"
    );
    (Box::new(move |request| Box::pin(stack.ask(request))), settings)
}

/// One day, played.
struct Played {
    primary: MockProvider,
    fallback: MockProvider,
    ask: Ask,
    seen: Seen,
}

async fn provider(script: &str) -> MockProvider {
    let text: Vec<_> = (1..=60).map(|token| token.to_string()).collect();
    let script = format!("answer.text = \"{}\"\n{script}", text.join(" "));
    MockProvider::start(Script::parse(&script).unwrap()).await.unwrap()
}

async fn play(day: &'static Day, recovery: Recovery) -> (String, String, Result<String, String>) {
    let (primary, fallback) = (provider(day.primary).await, provider(day.fallback).await);
    let seen = Seen::default();
    let (ask, settings) = stack(&primary, &fallback, recovery, &seen);
    let played = Played { primary, fallback, ask, seen };
    let name = match recovery {
        Recovery::BufferThenRestart => format!("{} (BufferThenRestart)", day.name),
        _ => day.name.to_owned(),
    };
    let judged = tokio::time::timeout(seconds(150.0), (day.play)(played, recovery)).await;
    (name, settings, judged.unwrap_or_else(|_| Err("it hangs".to_owned())))
}

#[tokio::main]
async fn main() {
    let once = DAYS.iter().map(|day| (day, Recovery::Fail));
    let again = DAYS.iter().filter(|day| day.is_buffered_too).map(|day| (day, Recovery::BufferThenRestart));
    let all: Vec<_> = once.chain(again).map(|(day, recovery)| tokio::spawn(play(day, recovery))).collect();
    let (mut printed, mut failed) = (false, 0);
    for one in all {
        let (name, settings, judged) = one.await.unwrap();
        if !printed {
            println!("{settings}\n(in the first line a second is a tenth of one)\n");
            printed = true;
        }
        match judged {
            Ok(told) => println!("{name}: ok, {told}"),
            Err(told) => {
                failed += 1;
                println!("{name}: FAILED, {told}");
            }
        }
    }
    assert_eq!(failed, 0, "so many shapes failed");
}
