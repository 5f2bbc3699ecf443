//! Four hundred calls to providers on a bad day: through a bare client, through a stack of one route, and through one
//! that switches between two.
//!
//! All run side by side, over real HTTP on loopback, each against providers of its own. They follow the same script; the
//! second route has the same kind of day, with other faults at other times, as another region or vendor has.
//!
//! No network, no key. `-- --json` prints one object instead, in which `seawall` is the stack of two routes, or with
//! `--routes 1` that of one; `--seed N` and `--calls N` change the day.
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

const NAMES: [&str; 3] = ["bare", "one route", "two routes"];
const DEADLINE: Duration = Duration::from_secs(15);
/// These providers' answers take a tenth of a second.
const SILENCE: Duration = Duration::from_secs(2);
/// A day of five seconds: their outages last one, where real ones last minutes.
const OPEN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(5));

struct Options {
    json: bool,
    routes: u32,
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
        println!("{} calls in {ARRIVALS:?} to providers on a bad day (seed {})", options.calls, options.seed);
    }

    let [alone, one, first] = [(); 3].map(|()| Script::storm(options.seed));
    let second = Script::storm(options.seed.wrapping_add(1));
    let (alone, one) = (MockProvider::start(alone).await?, MockProvider::start(one).await?);
    let (first, second) = (MockProvider::start(first).await?, MockProvider::start(second).await?);

    let bare = client(&alone)?;
    let lone = Stack::chat(client(&one)?).deadline(DEADLINE).whole(SILENCE).open_for(OPEN.0, OPEN.1).build()?;
    let pair = Stack::chat(client(&first)?)
        .name("first")
        .then(client(&second)?)
        .name("second")
        .on_429()
        .on_failure()
        .deadline(DEADLINE)
        .whole(SILENCE)
        .open_for(OPEN.0, OPEN.1)
        .build()?;
    let [bar_1, bar_2, bar_3] = NAMES.map(|name| bar(&progress, name, &options));
    let (bare, lone, pair) =
        tokio::join!(run(bare, &options, bar_1), run(lone, &options, bar_2), run(pair, &options, bar_3));
    let bare = Report::new(&bare, sends(alone).await);
    let lone = Report::new(&lone, sends(one).await);
    let pair = Report::new(&pair, sends(first).await + sends(second).await);

    match options.json {
        true => {
            let seawall = if options.routes == 1 { &lone } else { &pair };
            println!(r#"{{"bare":{},"seawall":{}}}"#, bare.json(), seawall.json());
        }
        false => report::print(NAMES, [&bare, &lone, &pair]),
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
    let style = ProgressStyle::with_template("{prefix:10} {bar:40} {pos:>4} of {len} calls ended, {elapsed}");
    let bar = ProgressBar::new(options.calls.into()).with_prefix(name);
    progress.add(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn StdError>> {
        let mut options = Self { json: false, routes: 2, seed: 7, calls: 400 };
        while let Some(argument) = arguments.next() {
            let mut number = || arguments.next().ok_or_else(|| format!("{argument} wants a number"));
            match argument.as_str() {
                "--json" => options.json = true,
                "--routes" => options.routes = number()?.parse::<u32>()?.clamp(1, 2),
                "--seed" => options.seed = number()?.parse()?,
                "--calls" => options.calls = number()?.parse::<u32>()?.clamp(1, 2000),
                _ => return Err(format!("{argument} is unknown: --json, --routes 1|2, --seed N, --calls N").into()),
            }
        }
        Ok(options)
    }
}
