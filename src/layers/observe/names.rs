//! Names of metrics and labels: those of OpenTelemetry's [conventions for generative AI][1] where it has one.
//!
//! [1]: https://github.com/open-telemetry/semantic-conventions-genai
use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

pub(super) const OPERATION_NAME: &str = "gen_ai.operation.name";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const MODEL: &str = "gen_ai.request.model";
pub(super) const TOKEN_TYPE: &str = "gen_ai.token.type";
pub(super) const ESTIMATED: &str = "seawall.usage.estimated";
pub(super) const ERROR_TYPE: &str = "error.type";
pub(super) const ROUTE: &str = "seawall.route";

pub(super) const OPERATION_DURATION: &str = "gen_ai.client.operation.duration";
pub(super) const FIRST_CHUNK: &str = "gen_ai.client.operation.time_to_first_chunk";
pub(super) const TOKENS: &str = "gen_ai.client.token.usage";

pub(super) const OPERATIONS: &str = "seawall.operations";
pub(super) const ATTEMPTS: &str = "seawall.attempts";
pub(super) const ATTEMPT_DURATION: &str = "seawall.attempt.duration";
pub(super) const CIRCUIT_STATE: &str = "seawall.circuit.state";
pub(super) const CIRCUIT_OPENINGS: &str = "seawall.circuit.openings";
pub(super) const PERMITS: &str = "seawall.concurrency.permits";
pub(super) const WAITING: &str = "seawall.concurrency.waiting";

/// With the label that tells them apart.
pub(super) const RETRIES: (&str, &str) = ("seawall.retries", ERROR_TYPE);
pub(super) const GIVE_UPS: (&str, &str) = ("seawall.give_ups", "seawall.reason");
pub(super) const SWITCHES: (&str, &str) = ("seawall.switches", ERROR_TYPE);
pub(super) const TIMEOUTS: (&str, &str) = ("seawall.timeouts", "seawall.phase");
pub(super) const COOL_DOWNS: (&str, &str) = ("seawall.cool_downs", ERROR_TYPE);
pub(super) const CHANGES: (&str, &str) = ("seawall.request.changes", "seawall.change");

pub(super) const CLOSED: f64 = 0.0;
pub(super) const HALF_OPEN: f64 = 1.0;
pub(super) const OPEN: f64 = 2.0;

pub(super) fn describe() {
    describe_histogram!(OPERATION_DURATION, Unit::Seconds, "GenAI operation duration, its retries included");
    describe_histogram!(FIRST_CHUNK, Unit::Seconds, "Time from sending to the first chunk of a stream");
    describe_histogram!(TOKENS, Unit::Count, "Number of input and output tokens used");
    describe_histogram!(ATTEMPT_DURATION, Unit::Seconds, "Time from sending to the end of the answer");
    describe_gauge!(CIRCUIT_STATE, Unit::Count, "What a circuit does: 0 closed, 1 half-open, 2 open");
    describe_gauge!(PERMITS, Unit::Count, "Permits of a concurrency limit that are taken");
    describe_gauge!(WAITING, Unit::Count, "Calls that wait for such a permit");
    for (name, description) in [
        (OPERATIONS, "Calls that are over"),
        (ATTEMPTS, "Requests that were sent, by the route they were sent to"),
        (CIRCUIT_OPENINGS, "Times that a circuit opened"),
        (RETRIES.0, "Waits before a further attempt"),
        (GIVE_UPS.0, "Failures that could have been retried and were not"),
        (SWITCHES.0, "Calls that left a route for another"),
        (TIMEOUTS.0, "Limits in time that were reached"),
        (COOL_DOWNS.0, "Waits that closed a route to everyone"),
        (CHANGES.0, "Changes to requests, so that the provider takes them"),
    ] {
        describe_counter!(name, Unit::Count, description);
    }
}
