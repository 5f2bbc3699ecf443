//! The tables, and what is flat.
use crate::{CALLERS, Held, account::Told, caller::Outcome, process};
use std::{collections::BTreeMap, time::Duration};

/// When, how many calls were over, how many requests were under way upstream, and what was held.
pub type Sample = (Duration, usize, u64, Held);

/// Below this a play is too short to tell growth from a start.
const LONG: Duration = Duration::from_secs(30);

pub fn held(idle: Held, samples: &[Sample], rest: Held) {
    println!("\n  time   calls  upstream   RSS KiB  threads  descriptors  callers");
    let row = |when: String, calls: usize, upstream: u64, held: Held| {
        let Held { rss_kib, threads, descriptors, callers } = held;
        println!("{when:>6} {calls:>7} {upstream:>9} {rss_kib:>9} {threads:>8} {descriptors:>12} {callers:>8}");
    };
    row("idle".to_owned(), 0, 0, idle);
    for (when, calls, upstream, held) in samples.iter().step_by(samples.len().div_ceil(12).max(1)) {
        row(format!("{:.1}", when.as_secs_f64()), *calls, *upstream, *held);
    }
    row("rest".to_owned(), samples.last().map_or(0, |last| last.1), 0, rest);
}

/// What is not.
pub fn flat(time: Duration, idle: Held, samples: &[Sample], rest: Held) -> Vec<String> {
    if !process::is_told() {
        println!("no /proc: what the process holds is not told here, and not judged");
        return Vec::new();
    }
    let mut wrong = Vec::new();
    // A caller has one connection, and one more that it left and that is not yet noticed; each call one at a provider. Those to
    // providers are kept when they are idle, as many as were once under way at each of the two.
    let most = idle.descriptors + 4 * CALLERS as usize;
    if let Some((when, .., held)) = samples.iter().find(|(.., held)| held.descriptors > most) {
        wrong.push(format!("{} descriptors at {when:?}, and {most} are reason", held.descriptors));
    }
    if rest.descriptors > idle.descriptors + 2 * CALLERS as usize {
        wrong.push(format!("{} descriptors at rest", rest.descriptors));
    }
    if time < LONG {
        println!("growth is not judged below {LONG:?}");
        return wrong;
    }
    // The second quarter is warm, the fourth is the end: what leaks grows by its half in between.
    let quarter = |at: usize| &samples[samples.len() * at / 4..samples.len() * (at + 1) / 4];
    let median = |samples: &[Sample], of: fn(&Held) -> usize| {
        let mut values: Vec<_> = samples.iter().map(|(.., held)| of(held)).collect();
        values.sort_unstable();
        values[values.len() / 2]
    };
    let judged: [(&str, fn(&Held) -> usize, usize); 3] = [
        ("KiB of memory", |held| held.rss_kib, 8 * 1024),
        ("threads", |held| held.threads, 4),
        ("descriptors", |held| held.descriptors, 50),
    ];
    for (name, of, beside) in judged {
        let (warm, end) = (median(quarter(1), of), median(quarter(3), of));
        println!("{name}: {warm} when warm, {end} at the end (medians of a quarter)");
        if end > warm + warm / 10 + beside {
            wrong.push(format!("{name} grew from {warm} to {end}"));
        }
    }
    wrong
}

/// Calls by protocol and outcome.
pub fn outcomes(name: &str, told: &[Told]) {
    let mut columns = BTreeMap::<String, BTreeMap<_, usize>>::new();
    for told in told {
        let outcome = match &told.outcome {
            Outcome::Answered(_) => "answered whole".to_owned(),
            Outcome::Refused(status) => format!("refused, {status}"),
            Outcome::Event => "told by an error event".to_owned(),
            Outcome::Left => "left by its caller".to_owned(),
            Outcome::Wrong(_) => "WRONG".to_owned(),
        };
        *columns.entry(outcome).or_default().entry((told.protocol, told.is_stream)).or_default() += 1;
    }
    let kinds: Vec<_> = told
        .iter()
        .map(|told| (told.protocol, told.is_stream))
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect();
    print!("\n{name:<28}");
    for (protocol, is_stream) in &kinds {
        print!(" {:>17}", format!("{protocol:?} {}", if *is_stream { "stream" } else { "plain" }));
    }
    println!();
    for (outcome, counts) in columns {
        print!("{outcome:<28}");
        kinds.iter().for_each(|kind| print!(" {:>17}", counts.get(kind).copied().unwrap_or_default()));
        println!();
    }
}
