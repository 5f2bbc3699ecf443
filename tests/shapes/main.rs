//! Sixteen bad days, over real HTTP: a primary, a fallback, and one stack for all of them, in this process and then in that of the Axum
//! example, whose callers it hears. It prints the stack's settings, and what came of each. Ten times as fast as life: where a time is given in seconds, tenths of them pass.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, unreachable_pub)]

mod days;
mod seen;
mod served;

use days::{DAYS, Day};
use seawall::{
    Stack, chat,
    circuit_breaker::Window,
    failover::On,
    provider::{OpenAi, Reqwest},
    recovery::Recovery,
    sim::{MockProvider, Script},
};
use seen::Seen;
use served::Example;
use std::{future::Future, pin::Pin, sync::LazyLock, time::Duration};

/// So many times as fast as life.
const SPEED: u32 = 10;

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds) / SPEED
}

/// Made before the days begin: it reads the system's certificates, which takes a while.
static HTTP: LazyLock<Reqwest> = LazyLock::new(|| Reqwest::new().unwrap());

/// A call through the stack, whatever its type.
type Ask = Box<dyn Fn(chat::Request) -> Asked + Send + Sync>;
type Asked = Pin<Box<dyn Future<Output = Result<chat::Reply, seawall::Error>> + Send>>;

/// The one stack, of these settings.
fn stack(primary: &MockProvider, fallback: &MockProvider, recovery: Recovery, seen: &Seen) -> (Ask, String) {
    let client = |provider: &MockProvider| OpenAi::new("sk-1").base_url(provider.base_url()).over(HTTP.clone());
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

/// Who asks, and whom.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Days {
    /// The protocol of those who ask the example; of nobody in this process.
    callers: &'static str,
    /// The dialect of the routes.
    routes: &'static str,
}

impl Days {
    const HERE: Self = Self { callers: "", routes: "openai" };

    fn is_served(self) -> bool {
        self != Self::HERE
    }
}

/// One day, played.
struct Played {
    days: Days,
    primary: MockProvider,
    fallback: MockProvider,
    ask: Ask,
    seen: Seen,
    _example: Option<Example>,
}

async fn provider(script: &str) -> MockProvider {
    let text: Vec<_> = (1..=60).map(|token| token.to_string()).collect();
    let script = format!("answer.text = \"{}\"\n{script}", text.join(" "));
    MockProvider::start(Script::parse(&script).unwrap()).await.unwrap()
}

async fn play(days: Days, day: &'static Day, recovery: Recovery) -> (String, String, Result<String, String>) {
    let (primary, fallback) = (provider(day.primary).await, provider(day.fallback).await);
    let seen = Seen::default();
    let (ask, settings, example) = if days.is_served() {
        let start = || Example::start(days, &primary, &fallback, recovery);
        let example = tokio::task::block_in_place(start);
        (example.ask(days), String::new(), Some(example))
    } else {
        let (ask, settings) = stack(&primary, &fallback, recovery, &seen);
        (ask, settings, None)
    };
    let played = Played { days, primary, fallback, ask, seen, _example: example };
    let name = match recovery {
        Recovery::BufferThenRestart => format!("{} (BufferThenRestart)", day.name),
        _ => day.name.to_owned(),
    };
    let judged = tokio::time::timeout(seconds(150.0), (day.play)(played, recovery)).await;
    (name, settings, judged.unwrap_or_else(|_| Err("it hangs".to_owned())))
}

/// How many failed.
async fn play_all(days: Days) -> u32 {
    let is_crossed = days.is_served() && days.callers != days.routes;
    let played = DAYS.iter().filter(|day| !(is_crossed && day.is_of_routes_alone));
    let once = played.map(|day| (day, Recovery::Fail));
    let again = DAYS.iter().filter(|day| day.is_buffered_too).map(|day| (day, Recovery::BufferThenRestart));
    let all: Vec<_> = once.chain(again).map(|(day, recovery)| tokio::spawn(play(days, day, recovery))).collect();
    let (mut printed, mut failed) = (days.is_served(), 0);
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
    failed
}

#[tokio::main]
async fn main() {
    LazyLock::force(&HTTP);
    let mut failed = play_all(Days::HERE).await;
    let is_required = std::env::var("SEAWALL_SDKS_REQUIRED").is_ok_and(|value| value == "1");
    if served::is_built() {
        for (callers, routes) in
            [("openai", "openai"), ("anthropic", "anthropic"), ("openai", "anthropic"), ("anthropic", "openai")]
        {
            let not_all = if callers == routes { "" } else { " (15 is not played again)" };
            println!("\nthrough the Axum example, whose callers speak {callers}, and its routes {routes}{not_all}:\n");
            failed += play_all(Days { callers, routes }).await;
        }
    } else {
        println!(
            "\nthe Axum example is not built, and nothing is played through it: cargo build --example axum_service"
        );
        assert!(!is_required, "the Axum example is not built");
    }
    assert_eq!(failed, 0, "so many shapes failed");
}
