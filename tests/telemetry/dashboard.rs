//! The dashboard asks for what the page has.
use super::{page, program};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const DASHBOARD: &str = include_str!("../../dashboards/seawall.json");
/// Words of a query that name no metric.
const WORDS: [&str; 12] = [
    "sum",
    "max",
    "rate",
    "increase",
    "histogram_quantile",
    "by",
    "ignoring",
    "group_left",
    "label_values",
    "le",
    "__rate_interval",
    "seawall",
];

fn dashboard() -> Value {
    serde_json::from_str(DASHBOARD).unwrap()
}

fn panels() -> Vec<Value> {
    dashboard()["panels"].as_array().unwrap().clone()
}

fn texts(of: &[Value], path: &str) -> Vec<String> {
    of.iter().filter_map(|value| value.pointer(path)?.as_str().map(str::to_owned)).collect()
}

/// Every query: those of panels, and those of variables.
fn queries() -> Vec<String> {
    let targets: Vec<_> = panels().iter().filter_map(|panel| panel["targets"].as_array().cloned()).flatten().collect();
    let variables = dashboard()["templating"]["list"].as_array().unwrap().clone();
    [texts(&targets, "/expr"), texts(&variables, "/query/query")].concat()
}

/// The bare words of a query, without what stands in quotes.
fn words(query: &str) -> BTreeSet<String> {
    let bare: String = query.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    let words = bare.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_')).map(str::to_owned).collect()
}

/// The labels that each name on the page may have.
fn names() -> BTreeMap<String, BTreeSet<String>> {
    let mut names = BTreeMap::<String, BTreeSet<String>>::new();
    for line in page::lines(&program::seen().page) {
        names.entry(line.name).or_default().extend(line.labels.into_keys());
    }
    names
}

/// Each metric of a query that is asked for by labels, with these.
fn selectors(query: &str) -> Vec<(String, BTreeSet<String>)> {
    let pieces: Vec<_> = query.split('{').collect();
    let metric =
        |before: &str| before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap().to_owned();
    let labels = |behind: &str| words(behind.split('}').next().unwrap());
    pieces.windows(2).map(|two| (metric(two[0]), labels(two[1]))).collect()
}

#[test]
fn every_query_asks_for_metrics_and_labels_that_the_page_has() {
    let names = names();
    assert!(queries().len() > 20);
    for query in queries() {
        for (metric, labels) in selectors(&query) {
            assert!(names.contains_key(&metric) && labels.is_subset(&names[&metric]), "{metric} {labels:?} in {query}");
        }
        let words: BTreeSet<_> = words(&query).into_iter().filter(|word| !WORDS.contains(&&**word)).collect();
        let (metrics, labels): (Vec<_>, Vec<_>) = words.into_iter().partition(|word| names.contains_key(word));
        assert!(!metrics.is_empty(), "{query}");
        for label in labels {
            assert!(metrics.iter().any(|metric| names[metric].contains(&label)), "{label} in {query}");
        }
    }
}

#[test]
fn every_metric_of_the_page_is_on_the_dashboard() {
    let asked: BTreeSet<_> = queries().iter().flat_map(|query| words(query)).collect();
    for metric in page::metrics(&program::seen().page) {
        assert!(asked.iter().any(|word| word.starts_with(&metric)), "{metric}");
    }
}

#[test]
fn a_panel_has_an_id_of_its_own_a_place_of_its_own_and_the_data_source_that_is_chosen() {
    let panels = panels();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    let places: BTreeSet<_> =
        panels.iter().map(|panel| ["x", "y"].map(|axis| panel["gridPos"][axis].as_u64().unwrap())).collect();
    assert_eq!((ids.len(), places.len()), (panels.len(), panels.len()));
    let variables: Vec<_> = texts(dashboard()["templating"]["list"].as_array().unwrap(), "/name");
    assert_eq!(variables, ["datasource", "route", "model"]);
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{}", panel["title"]);
        let targets = panel["targets"].as_array().unwrap();
        assert!(targets.iter().all(|target| target["datasource"]["uid"] == "${datasource}"), "{}", panel["title"]);
        let refs: BTreeSet<_> = targets.iter().map(|target| target["refId"].as_str().unwrap()).collect();
        assert_eq!(refs.len(), targets.len(), "{}", panel["title"]);
    }
    for query in queries() {
        let used = query.split('$').skip(1).map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next());
        assert!(used.flatten().all(|used| ["route", "model", "__rate_interval"].contains(&used)), "{query}");
    }
}
