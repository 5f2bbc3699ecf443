//! What came of the calls, as a table for people and as JSON for scripts.
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use seawall::{Error, GaveUp, chat::Reply};

/// One call, when it has ended.
pub(crate) struct Done {
    failed: Option<&'static str>,
    gave_up: Option<GaveUp>,
    waited: Duration,
    took: Duration,
}

impl Done {
    pub(crate) fn new(result: Result<Reply, Error>, took: Duration) -> Self {
        match result {
            Ok(reply) => Self { failed: None, gave_up: None, waited: reply.trail().waited(), took },
            Err(error) => {
                let (failed, gave_up) = (Some(error.kind().as_str()), error.gave_up());
                Self { failed, gave_up, waited: error.trail().waited(), took }
            }
        }
    }
}

pub(crate) struct Report {
    calls: usize,
    failures: BTreeMap<&'static str, usize>,
    gave_up: BTreeMap<String, usize>,
    sends: u64,
    waited: Duration,
    /// Of the answered calls, sorted.
    took: Vec<Duration>,
}

impl Report {
    pub(crate) fn new(done: &[Done], sends: u64) -> Self {
        let mut failures = BTreeMap::new();
        for kind in done.iter().filter_map(|call| call.failed) {
            *failures.entry(kind).or_default() += 1;
        }
        let mut gave_up = BTreeMap::new();
        for reason in done.iter().filter_map(|call| call.gave_up) {
            *gave_up.entry(reason.to_string()).or_default() += 1;
        }
        let mut took: Vec<_> = done.iter().filter(|call| call.failed.is_none()).map(|call| call.took).collect();
        took.sort_unstable();
        let waited = done.iter().map(|call| call.waited).sum();
        Self { calls: done.len(), failures, gave_up, sends, waited, took }
    }

    pub(crate) fn json(&self) -> String {
        let Self { calls, sends, took, .. } = self;
        let (answered, failed) = (took.len(), calls - took.len());
        let (p50, p99) = (self.percentile(50), self.percentile(99));
        format!(
            r#"{{"calls":{calls},"answered":{answered},"failed":{failed},"sends":{sends},"p50_ms":{p50},"p99_ms":{p99}}}"#
        )
    }

    /// In milliseconds, by nearest rank; zero where nothing was answered.
    fn percentile(&self, percent: usize) -> u128 {
        let rank = (self.took.len() * percent).div_ceil(100).max(1);
        self.took.get(rank - 1).map_or(0, Duration::as_millis)
    }
}

pub(crate) fn print(names: [&str; 3], reports: [&Report; 3]) {
    let line = |name: &str, [one, two, three]: [String; 3]| println!("{name:<28}{one:>12}{two:>12}{three:>12}");
    let row = |name: &str, of: &dyn Fn(&Report) -> String| line(name, reports.map(of));
    println!();
    line("", names.map(str::to_owned));
    row("calls", &|report| report.calls.to_string());
    row("answered", &|report| report.took.len().to_string());
    row("failed", &|report| (report.calls - report.took.len()).to_string());
    let kinds: BTreeSet<_> = reports.iter().flat_map(|report| report.failures.keys()).collect();
    for kind in kinds {
        row(&format!("  {kind}"), &|report| report.failures.get(kind).copied().unwrap_or(0).to_string());
    }
    row("requests sent", &|report| report.sends.to_string());
    row("waited between attempts", &|report| format!("{:.1} s", report.waited.as_secs_f64()));
    row("answered within, p50", &|report| format!("{} ms", report.percentile(50)));
    row("answered within, p99", &|report| format!("{} ms", report.percentile(99)));
    for (name, report) in names.iter().zip(reports) {
        for (reason, calls) in &report.gave_up {
            println!("{name}: gave {calls} of them up, as {reason}");
        }
    }
}
