//! The Axum example under mixed traffic: 200 callers at once over a route of each dialect, faults on both, callers that leave, and a SIGTERM at
//! the end. None is left unanswered, none is answered twice, and what the process holds stays flat.
//!
//! A few seconds by default; `SEAWALL_SOAK_SECONDS=60` plays the whole, and `SEAWALL_SOAK_SEED` another one.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, unreachable_pub, dead_code)]

mod account;
mod call;
mod caller;
#[path = "../served/example.rs"]
mod example;
mod judge;
mod process;
mod report;
mod script;
mod wire;

use account::Told;
use call::Call;
use example::{Example, Route};
use process::{Held, held};
use seawall::{Rng, sim::MockProvider};
use std::{
    env,
    net::SocketAddr,
    process::ExitCode,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    net::TcpStream,
    time::{Instant, sleep},
};

const CALLERS: u64 = 200;

/// How long answers may go on behind the SIGTERM.
const GRACE: Duration = Duration::from_secs(3);

/// Those that outlast it are told so within two seconds more; the rest is this machine's.
const SLACK: Duration = Duration::from_secs(5);

const FLAGS: &str = "--on 429,overloaded,server,timeout,transport --retries 1 --first-byte 2 --first-token 2.5 --idle 1.5 \
    --whole 6 --deadline 8 --wait-at-most 0.5 --body-limit 1000000 --connect-timeout 2 --grace 3";

/// What all callers share.
struct Soak {
    seed: u64,
    address: SocketAddr,
    ids: AtomicU64,
    /// Requests that are out.
    sent: AtomicU64,
    told: Mutex<Vec<Told>>,
}

impl Soak {
    async fn call(&self, kept: &mut Option<wire::Connection>, draw: fn(u64, &Rng) -> Call) {
        let id = self.ids.fetch_add(1, Relaxed);
        let call = draw(id, &Rng::seeded(Rng::seeded(self.seed).bits() ^ Rng::seeded(id).bits()));
        let outcome = caller::play(kept, self.address, &call, &self.sent).await;
        self.told.lock().unwrap().push(Told::new(&call, outcome));
    }

    async fn mix(self: Arc<Self>, end: Instant) {
        let mut kept = None;
        while Instant::now() < end {
            self.call(&mut kept, Call::drawn).await;
        }
    }

    async fn last(self: Arc<Self>) {
        self.call(&mut None, Call::last).await;
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let set = |name: &str, default| env::var(name).map_or(default, |value| value.parse().expect("a number"));
    let (time, seed) = (Duration::from_secs(set("SEAWALL_SOAK_SECONDS", 6)), set("SEAWALL_SOAK_SEED", 1));
    println!("soak: {CALLERS} callers for {time:?}, seed {seed}");
    match play(time, seed).await.as_slice() {
        [] => ExitCode::SUCCESS,
        wrong => {
            wrong.iter().take(10).for_each(|wrong| println!("\nWRONG: {wrong}"));
            println!("\nsoak: FAILED, {} things are wrong", wrong.len());
            ExitCode::FAILURE
        }
    }
}

/// What is wrong.
async fn play(time: Duration, seed: u64) -> Vec<String> {
    let start = |route| MockProvider::start(script::script(seed, route, time));
    let (openai, anthropic) = (start(0).await.unwrap(), start(1).await.unwrap());
    let routes = [
        Route { name: "openai", dialect: "openai", provider: &openai },
        Route { name: "anthropic", dialect: "anthropic", provider: &anthropic },
    ];
    let mut example = Example::start(&routes, &FLAGS.split_whitespace().collect::<Vec<_>>());
    let address: SocketAddr = example.base.strip_prefix("http://").unwrap().parse().unwrap();
    let (process, mut wrong) = (example.child.id(), Vec::new());
    let holds = || held(process, address.port()).unwrap_or_default();
    let idle = holds();
    let soak =
        Arc::new(Soak { seed, address, ids: AtomicU64::new(1), sent: AtomicU64::new(0), told: Mutex::default() });
    let in_flight = || openai.in_flight() + anthropic.in_flight();

    // The mix.
    let begin = Instant::now();
    let callers: Vec<_> = (0..CALLERS).map(|_| tokio::spawn(Arc::clone(&soak).mix(begin + time))).collect();
    let mut samples = Vec::new();
    while begin.elapsed() < time {
        sleep((time / 120).max(Duration::from_millis(100))).await;
        samples.push((begin.elapsed(), soak.told.lock().unwrap().len(), in_flight(), holds()));
    }
    for caller in callers {
        caller.await.unwrap();
    }

    // At rest: nobody is left behind.
    let rested = Instant::now();
    while (holds().callers, in_flight()) != (0, 0) && rested.elapsed() < SLACK {
        sleep(Duration::from_millis(50)).await;
    }
    let rest = holds();
    report::held(idle, &samples, rest);
    wrong.extend(report::flat(time, idle, &samples, rest));
    if (rest.callers, in_flight()) != (0, 0) && process::is_told() {
        wrong.push(format!(
            "at rest {} callers are connected, and {} requests are under way",
            rest.callers,
            in_flight()
        ));
    }

    // The last calls, and the SIGTERM.
    let (before, seen) = (soak.told.lock().unwrap().len(), openai.seen() + anthropic.seen());
    let sent = soak.sent.load(Relaxed);
    let callers: Vec<_> = (0..CALLERS).map(|_| tokio::spawn(Arc::clone(&soak).last())).collect();
    let begun = Instant::now();
    // Three of four are for models that nothing else is asked for.
    let are_sent =
        || soak.sent.load(Relaxed) >= sent + CALLERS && openai.seen() + anthropic.seen() >= seen + CALLERS * 3 / 4;
    while !are_sent() && begun.elapsed() < SLACK {
        sleep(Duration::from_millis(20)).await;
    }
    sleep(Duration::from_millis(500)).await;
    let under_way = CALLERS as usize - (soak.told.lock().unwrap().len() - before);
    let upstream = in_flight();
    process::terminate(process);
    let told = Instant::now();
    sleep(Duration::from_millis(300)).await;
    if TcpStream::connect(address).await.is_ok() {
        wrong.push("a connection is taken behind the SIGTERM".to_owned());
    }
    let exit = process::exit(&mut example.child, GRACE + SLACK).await;
    println!(
        "\nSIGTERM with {under_way} of {CALLERS} calls under way, {upstream} of them upstream; new connections refused; {exit:?}"
    );
    if !exit.is_some_and(|(status, _)| status.success()) {
        wrong.push(format!("the process ends with {exit:?}"));
    }
    for caller in callers {
        caller.await.unwrap();
    }
    println!("all are told {:?} behind it", told.elapsed());
    while in_flight() > 0 && told.elapsed() < GRACE + 2 * SLACK {
        sleep(Duration::from_millis(20)).await;
    }
    if in_flight() > 0 {
        wrong.push(format!("{} requests are under way behind the end", in_flight()));
    }
    let logs = [openai.shutdown().await, anthropic.shutdown().await];
    let told = std::mem::take(&mut *soak.told.lock().unwrap());
    report::outcomes("the mix", &told[..before]);
    report::outcomes("under way at the SIGTERM, or just before", &told[before..]);
    wrong.extend(account::settle(&told, &logs));
    wrong
}
