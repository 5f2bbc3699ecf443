//! Four hundred calls to a provider on a bad day: through a bare client, and through the stack.
//!
//! Both run side by side, over real HTTP on loopback, each against a provider of its own that follows the same script.
//! No network, no key. `-- --json` prints one object instead; `--seed N` and `--calls N` change the day.
#![allow(clippy::disallowed_methods)] // a program of its own, which measures real time

mod report;

use std::{
    error::Error as StdError,
    io::IsTerminal,
    time::{Duration, Instant},
};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use report::{Done, Report};
use seawall::{
    Error, Rng, Stack, chat,
    provider::{Client, OpenAi, Reqwest},
    sim::{MockProvider, Script},
};
use tokio::task::JoinSet;
use tower::{Service, ServiceExt};

/// Calls arrive within this time, as chance has it.
const ARRIVALS: Duration = Duration::from_secs(5);

struct Options {
    json: bool,
    seed: u64,
    calls: u32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn StdError>> {
    let options = Options::parse(std::env::args().skip(1))?;
    let progress = MultiProgress::new();
    if options.json || !std::io::stderr().is_terminal() {
        progress.set_draw_target(indicatif::ProgressDrawTarget::hidden());
    }
    if !options.json {
        println!("{} calls in {ARRIVALS:?} to a provider on a bad day (seed {})", options.calls, options.seed);
    }

    let providers = [
        MockProvider::start(Script::storm(options.seed)).await?,
        MockProvider::start(Script::storm(options.seed)).await?,
    ];
    let bare = client(&providers[0])?;
    let stack = Stack::chat(client(&providers[1])?)
        .deadline(Duration::from_secs(15))
        .whole(Duration::from_secs(2)) // this provider's answers take a tenth of a second
        .build()?;
    let [bar_of_bare, bar_of_stack] = ["bare", "seawall"].map(|name| bar(&progress, name, &options));
    let (bare, stack) = tokio::join!(run(bare, &options, bar_of_bare), run(stack, &options, bar_of_stack));
    let [of_bare, of_stack] = providers;
    let bare = Report::new(&bare, sends(of_bare).await);
    let seawall = Report::new(&stack, sends(of_stack).await);

    match options.json {
        true => println!(r#"{{"bare":{},"seawall":{}}}"#, bare.json(), seawall.json()),
        false => report::print(&bare, &seawall),
    }
    Ok(())
}

/// Asks it directly, as it is on this machine, whatever proxy the environment names.
fn client(provider: &MockProvider) -> Result<Client<OpenAi, Reqwest>, Box<dyn StdError>> {
    let direct = Reqwest::with_client(Reqwest::client_builder().no_proxy().build()?);
    Ok(OpenAi::new("no key needed").name("mock").base_url(provider.base_url()).over(direct))
}

async fn run<S>(service: S, options: &Options, bar: ProgressBar) -> Vec<Done>
where
    S: Service<chat::Request, Response = chat::Reply, Error = Error, Future: Send> + Clone + Send + 'static,
{
    let (rng, mut calls) = (Rng::seeded(options.seed), JoinSet::new());
    for number in 0..options.calls {
        let (service, bar, arrival) = (service.clone(), bar.clone(), rng.up_to(ARRIVALS));
        calls.spawn(async move {
            tokio::time::sleep(arrival).await;
            let request = chat::Request::new("storm-1").user(format!("Question {number}: what is a seawall?"));
            let start = Instant::now();
            let done = Done::new(service.oneshot(request).await, start.elapsed());
            bar.inc(1);
            done
        });
    }
    let done = calls.join_all().await;
    bar.finish();
    done
}

/// The provider's own count.
async fn sends(provider: MockProvider) -> u64 {
    let log = provider.shutdown().await;
    log.records.len() as u64 + log.dropped
}

fn bar(progress: &MultiProgress, name: &'static str, options: &Options) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix:8} {bar:40} {pos:>4} of {len} calls ended, {elapsed}");
    let bar = ProgressBar::new(options.calls.into()).with_prefix(name);
    progress.add(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn StdError>> {
        let mut options = Self { json: false, seed: 7, calls: 400 };
        while let Some(argument) = arguments.next() {
            let mut number = || arguments.next().ok_or_else(|| format!("{argument} wants a number"));
            match argument.as_str() {
                "--json" => options.json = true,
                "--seed" => options.seed = number()?.parse()?,
                "--calls" => options.calls = number()?.parse::<u32>()?.clamp(1, 2000),
                _ => return Err(format!("{argument} is unknown: --json, --seed N, --calls N").into()),
            }
        }
        Ok(options)
    }
}
