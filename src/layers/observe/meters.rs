//! Every event becomes counts, durations and tokens.
use super::{
    label::{LEFT, MOST, OTHER},
    names,
    slots::Slots,
};
use crate::{Event, Outcome, Usage, What, keyed::Keyed};
use metrics::{Counter, Gauge, Histogram, Label, counter, gauge, histogram};
use std::{
    sync::{Once, OnceLock},
    time::Duration,
};

/// The handles of one sink: by route, by key, and by how it ended.
pub(super) struct Meters {
    operation: &'static str,
    described: Once,
    routes: Keyed<Route>,
}

impl Meters {
    pub(super) fn new(operation: &'static str) -> Self {
        Self { operation, described: Once::new(), routes: Keyed::new(MOST, Route::new(operation, None)) }
    }

    pub(super) fn record(&self, event: &Event<'_>) {
        self.described.call_once(names::describe);
        let make = |route: Option<&str>| Route::new(self.operation, Some(route.unwrap_or(OTHER)));
        self.routes.get(event.route, make, |_| false).record(&event.what);
    }
}

struct Route {
    /// Of metrics of ours: the route.
    labels: Vec<Label>,
    keys: Keyed<Key>,
    retries: Slots<Counter>,
    give_ups: Slots<Counter>,
    switches: Slots<Counter>,
    timeouts: Slots<Counter>,
    cool_downs: Slots<Counter>,
    changes: Slots<Counter>,
    permits: OnceLock<Gauge>,
    waiting: OnceLock<Gauge>,
}

impl Route {
    fn new(operation: &'static str, route: Option<&str>) -> Self {
        let label = |name| route.map(|route| Label::new(name, route.to_owned()));
        let shared = [Label::from_static_parts(names::OPERATION_NAME, operation)];
        let shared = shared.into_iter().chain(label(names::PROVIDER)).collect();
        let labels: Vec<_> = label(names::ROUTE).into_iter().collect();
        Self {
            keys: Keyed::new(MOST, Key { labels: labels.clone(), shared, ..Key::default() }),
            labels,
            retries: Slots::default(),
            give_ups: Slots::default(),
            switches: Slots::default(),
            timeouts: Slots::default(),
            cool_downs: Slots::default(),
            changes: Slots::default(),
            permits: OnceLock::new(),
            waiting: OnceLock::new(),
        }
    }

    fn record(&self, what: &What<'_>) {
        match *what {
            What::Retrying { error, .. } => self.count(&self.retries, names::RETRIES, error.kind().as_str()),
            What::GaveUp { reason, .. } => self.count(&self.give_ups, names::GIVE_UPS, reason.as_str()),
            What::Switched { error } => self.count(&self.switches, names::SWITCHES, error.kind().as_str()),
            What::TimedOut { phase, .. } => self.count(&self.timeouts, names::TIMEOUTS, phase.as_str()),
            What::CoolingDown { error, .. } => self.count(&self.cool_downs, names::COOL_DOWNS, error.kind().as_str()),
            What::Changed { change, .. } => self.count(&self.changes, names::CHANGES, change.as_str()),
            // By steps, as what several calls tell of one number may come in any order.
            What::PermitTaken => self.gauge(&self.permits, names::PERMITS).increment(1.0),
            What::PermitReturned => self.gauge(&self.permits, names::PERMITS).decrement(1.0),
            What::QueueEntered => self.gauge(&self.waiting, names::WAITING).increment(1.0),
            What::QueueLeft { .. } => self.gauge(&self.waiting, names::WAITING).decrement(1.0),
            What::CircuitOpened { key, .. } => self.key(key, |key| key.opened()),
            What::CircuitHalfOpened { key } => self.key(key, |key| key.circuit().0.set(names::HALF_OPEN)),
            What::CircuitClosed { key } => self.key(key, |key| key.circuit().0.set(names::CLOSED)),
            What::AttemptEnded { key, outcome, usage, streams, head, took } => self.key(key, |key| {
                key.attempt(outcome, took);
                if let Some(usage) = usage {
                    key.tokens(usage);
                }
                if let Some(head) = head.filter(|_| streams) {
                    key.first_chunk(head);
                }
            }),
            What::OperationEnded { key, outcome, took, .. } => self.key(key, |key| key.operation(outcome, took)),
        }
    }

    fn count(&self, slots: &Slots<Counter>, (name, by): (&'static str, &'static str), word: &'static str) {
        let make = || counter!(name, with(&self.labels, Label::from_static_parts(by, word)));
        slots.with(Some(word), make, |counter| counter.increment(1));
    }

    fn gauge<'a>(&self, kept: &'a OnceLock<Gauge>, name: &'static str) -> &'a Gauge {
        kept.get_or_init(|| gauge!(name, self.labels.clone()))
    }

    fn key(&self, key: Option<&str>, each: impl FnOnce(&Key)) {
        let keyless = self.keys.get(None, |_| Key::default(), |_| false);
        let Some(key) = key else { return each(&keyless) };
        let make = |key: Option<&str>| keyless.named(key.unwrap_or(OTHER));
        each(&self.keys.get(Some(key), make, |_| false));
    }
}

#[derive(Default)]
struct Key {
    /// Of metrics of ours: route and model.
    labels: Vec<Label>,
    /// Of metrics of OpenTelemetry: operation, provider and model.
    shared: Vec<Label>,
    operations: Slots<(Counter, Histogram)>,
    attempts: Slots<(Counter, Histogram)>,
    tokens: OnceLock<[Histogram; 2]>,
    /// Those that nobody told.
    estimated: OnceLock<[Histogram; 2]>,
    first_chunk: OnceLock<Histogram>,
    circuit: OnceLock<(Gauge, Counter)>,
}

impl Key {
    fn named(&self, key: &str) -> Self {
        let model = Label::new(names::MODEL, key.to_owned());
        Self { labels: with(&self.labels, model.clone()), shared: with(&self.shared, model), ..Self::default() }
    }

    fn operation(&self, outcome: Option<Outcome<'_>>, took: Duration) {
        let error = error_type(outcome);
        let make = || {
            let (labels, shared) = (failed(&self.labels, error), failed(&self.shared, error));
            (counter!(names::OPERATIONS, labels), histogram!(names::OPERATION_DURATION, shared))
        };
        self.operations.with(error, make, |(count, duration)| {
            count.increment(1);
            duration.record(took);
        });
    }

    fn attempt(&self, outcome: Option<Outcome<'_>>, took: Duration) {
        let error = error_type(outcome);
        let make = || {
            let labels = failed(&self.labels, error);
            (counter!(names::ATTEMPTS, labels.clone()), histogram!(names::ATTEMPT_DURATION, labels))
        };
        self.attempts.with(error, make, |(count, duration)| {
            count.increment(1);
            duration.record(took);
        });
    }

    fn tokens(&self, usage: Usage) {
        let (kept, mark) = match usage.estimated {
            true => (&self.estimated, Some(Label::from_static_parts(names::ESTIMATED, "true"))),
            false => (&self.tokens, None),
        };
        let make = |kind| {
            let labels = with(&self.shared, Label::from_static_parts(names::TOKEN_TYPE, kind)).into_iter();
            histogram!(names::TOKENS, labels.chain(mark.clone()).collect::<Vec<_>>())
        };
        let [input, output] = kept.get_or_init(|| ["input", "output"].map(make));
        // Exact up to 2^53, which no answer costs.
        input.record(usage.input as f64);
        output.record(usage.output as f64);
    }

    fn first_chunk(&self, head: Duration) {
        self.first_chunk.get_or_init(|| histogram!(names::FIRST_CHUNK, self.shared.clone())).record(head);
    }

    fn opened(&self) {
        let (state, openings) = self.circuit();
        state.set(names::OPEN);
        openings.increment(1);
    }

    fn circuit(&self) -> &(Gauge, Counter) {
        let make = || {
            let labels = self.labels.clone();
            (gauge!(names::CIRCUIT_STATE, labels.clone()), counter!(names::CIRCUIT_OPENINGS, labels))
        };
        self.circuit.get_or_init(make)
    }
}

/// `None`: it did not fail.
fn error_type(outcome: Option<Outcome<'_>>) -> Option<&'static str> {
    match outcome {
        Some(Outcome::Whole) => None,
        Some(Outcome::Failed(error)) => Some(error.kind().as_str()),
        None => Some(LEFT),
    }
}

fn failed(labels: &[Label], error: Option<&'static str>) -> Vec<Label> {
    let error = error.map(|error| Label::from_static_parts(names::ERROR_TYPE, error));
    labels.iter().cloned().chain(error).collect()
}

fn with(labels: &[Label], label: Label) -> Vec<Label> {
    labels.iter().cloned().chain([label]).collect()
}
