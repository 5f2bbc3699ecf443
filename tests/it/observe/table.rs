//! The tables in the docs of `observe` say what there is: no more, and no less.
use super::{meters::Told, spans, talkative, usage};
use crate::seconds;
use seawall::{Change, GaveUp, Kind, Outcome, Phase, What, observe::telemetry};
use std::collections::{BTreeMap, BTreeSet};

const EVENTS: &str = include_str!("../../../src/event.rs");
const DOCS: &str = include_str!("../../../src/layers/observe/mod.rs");
/// The words of the column of labels that stand for a longer name.
const SHORT: [(&str, &str); 4] = [
    ("operation", "gen_ai.operation.name"),
    ("provider", "gen_ai.provider.name"),
    ("model", "gen_ai.request.model"),
    ("route", "seawall.route"),
];

/// The rows of the table under a heading, cell by cell, without links and marks of code.
fn table(heading: &str) -> Vec<Vec<String>> {
    let lines = DOCS.lines().skip_while(|line| *line != format!("//! # {heading}")).skip(1);
    let within = lines.take_while(|line| !line.starts_with("//! # "));
    let rows = within.filter_map(|line| line.strip_prefix("//! | ")?.strip_suffix('|')).skip(1);
    let cell = |cell: &str| cell.trim().trim_start_matches('[').replace('`', "");
    let rows: Vec<Vec<_>> = rows.map(|row| row.split('|').map(cell).collect()).collect();
    assert!(rows.len() > 10, "{heading}: {rows:?}");
    rows
}

fn names(cell: &str) -> BTreeSet<String> {
    cell.split(", ").map(str::to_owned).filter(|name| !name.is_empty()).collect()
}

fn variants() -> BTreeSet<String> {
    let body = EVENTS.split_once("pub enum What<'a> {\n").unwrap().1.split_once("\n}\n").unwrap().0;
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    let starts = lines.filter(|line| line.starts_with(char::is_uppercase));
    starts.map(|line| line.trim_end_matches([' ', '{', ',']).to_owned()).collect()
}

/// Each event, with all that it may bring.
fn everything(tell: &mut dyn FnMut(&'static str, What<'_>)) {
    let (error, wait, key) = (&talkative(Kind::Overloaded), seconds(1), Some("m"));
    let (head, outcome) = (Some(wait), Some(Outcome::Failed(error)));
    tell("Retrying", What::Retrying { error, retry: 1, wait });
    tell("GaveUp", What::GaveUp { error, reason: GaveUp::BudgetSpent });
    tell("TimedOut", What::TimedOut { phase: Phase::Idle, limit: wait });
    tell("Switched", What::Switched { error });
    tell("Changed", What::Changed { key, change: &Change::LeftOut { field: "seed".into() } });
    tell("CircuitOpened", What::CircuitOpened { key, error, wait });
    tell("CircuitHalfOpened", What::CircuitHalfOpened { key });
    tell("CircuitClosed", What::CircuitClosed { key });
    tell("CoolingDown", What::CoolingDown { error, wait });
    tell("PermitTaken", What::PermitTaken);
    tell("PermitReturned", What::PermitReturned);
    tell("QueueEntered", What::QueueEntered);
    tell("QueueLeft", What::QueueLeft { waited: wait });
    for usage in [true, false].map(|estimated| Some(usage(3, 4, estimated))) {
        let ended = What::AttemptEnded { key, outcome, usage, streams: true, head, took: wait };
        tell("AttemptEnded", ended);
        let trail = None;
        tell("OperationEnded", What::OperationEnded { key, outcome, trail, usage, streams: true, head, took: wait });
    }
}

#[test]
fn every_event_is_in_the_table_with_the_metrics_that_it_moves() {
    let mut moved = BTreeMap::<String, BTreeSet<String>>::new();
    everything(&mut |name, what| {
        let (told, _guard) = Told::listen();
        telemetry().route("a").emit(what);
        let told = told.names().into_iter().map(|series| series.split('{').next().unwrap().to_owned());
        moved.entry(name.to_owned()).or_default().extend(told);
    });
    assert_eq!(moved.keys().cloned().collect::<BTreeSet<_>>(), variants(), "the events above are all there are");
    let event = |row: &Vec<String>| row[0].split_once(']').unwrap().0.to_owned();
    let table: BTreeMap<_, _> = table("Events").iter().map(|row| (event(row), names(&row[4]))).collect();
    assert_eq!(table, moved);
}

#[test]
fn every_metric_is_in_the_table_with_its_kind_its_unit_and_its_labels() {
    let (told, _guard) = Told::listen();
    let sink = telemetry().route("a");
    everything(&mut |_, what| sink.emit(what));
    let mut labels = BTreeMap::<String, BTreeSet<String>>::new();
    for series in told.names() {
        let (name, rest) = series.trim_end_matches('}').split_once('{').unwrap();
        let keys = rest.split(',').filter_map(|label| Some(label.split_once('=')?.0.to_owned()));
        labels.entry(name.to_owned()).or_default().extend(keys);
    }
    let seen: BTreeMap<_, _> = told
        .described()
        .into_iter()
        .map(|described| {
            let [kind, name, unit] = [0, 1, 2].map(|nth| described.split(' ').nth(nth).unwrap().to_owned());
            let labels = labels.get(&name).cloned().unwrap_or_default();
            (name, (kind, unit == "seconds", labels))
        })
        .collect();
    assert_eq!(labels.keys().collect::<Vec<_>>(), seen.keys().collect::<Vec<_>>(), "all are described");

    let long = |word: &str| {
        let word = word.trim().split(' ').next().unwrap();
        SHORT.iter().find(|(short, _)| *short == word).map_or(word, |(_, long)| long).to_owned()
    };
    let row = |row: &Vec<String>| {
        let kind = row[1].split([':', ',']).next().unwrap().to_owned();
        let labels = row[3].split(',').map(long).filter(|label| label.contains('.')).collect();
        (row[0].clone(), (kind, row[2] == "s", labels))
    };
    assert_eq!(table("Metrics").iter().map(row).collect::<BTreeMap<_, _>>(), seen);
}

#[tokio::test(start_paused = true)]
async fn every_field_of_a_span_is_in_the_table() {
    let [operation, attempt] = spans::declared().await.map(|names| names.into_iter().collect::<BTreeSet<_>>());
    let span = |field: &str| match (operation.contains(field), attempt.contains(field)) {
        (true, true) => "both",
        (true, false) => "operation",
        _ => "attempt",
    };
    let seen: BTreeMap<_, _> =
        operation.union(&attempt).map(|field| ((*field).to_owned(), span(field).to_owned())).collect();
    let table: BTreeMap<_, _> = table("Spans").iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    assert_eq!(table, seen);
}

#[test]
fn every_line_has_the_level_that_the_table_says() {
    let mut lines = BTreeMap::<String, String>::new();
    everything(&mut |name, what| {
        let told = spans::levels(|| telemetry().route("a").emit(what));
        lines.insert(name.to_owned(), told.into_iter().map(|level| level.to_string()).collect());
    });
    let event = |row: &Vec<String>| row[0].split_once(']').unwrap().0.to_owned();
    let table: BTreeMap<_, _> = table("Events").iter().map(|row| (event(row), row[3].clone())).collect();
    assert_eq!(table, lines);
}
