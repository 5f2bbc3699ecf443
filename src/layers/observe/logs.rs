//! Events that people read: what befalls a route at `WARN` or `INFO`, what befalls one call at `INFO` or `DEBUG`.
use crate::{Event, What};
use tracing::Level;

/// Never the provider's words, a prompt, a key or a body.
pub(super) fn log(&Event { route, what }: &Event<'_>) {
    macro_rules! tell {
        ($level:ident, $($fields:tt)+) => {
            tracing::event!(target: "seawall", Level::$level, seawall.route = route, $($fields)+)
        };
    }
    macro_rules! failure {
        ($level:ident, $error:ident, $($fields:tt)+) => {
            tell!($level, error.type = $error.kind().as_str(), http.response.status_code = $error.status(), $($fields)+)
        };
    }
    match what {
        What::CircuitOpened { key, error, wait } => {
            failure!(WARN, error, gen_ai.request.model = key, wait = ?wait, "circuit opened");
        }
        What::CircuitHalfOpened { key } => tell!(INFO, gen_ai.request.model = key, "circuit lets a probe through"),
        What::CircuitClosed { key } => tell!(INFO, gen_ai.request.model = key, "circuit closed"),
        What::CoolingDown { error, wait } => failure!(WARN, error, wait = ?wait, "cooling down"),
        What::Switched { error } => failure!(INFO, error, "left for another route"),
        What::GaveUp { error, reason } => failure!(INFO, error, reason = reason.as_str(), "gave up"),
        What::Retrying { error, retry, wait } => failure!(DEBUG, error, retry, wait = ?wait, "retrying"),
        What::TimedOut { phase, limit } => tell!(DEBUG, phase = phase.as_str(), limit = ?limit, "timed out"),
        What::Changed { key, change } => tell!(INFO, gen_ai.request.model = key, "request changed: {change}"),
        // Each call has some of these: meters count them, and spans tell of the ends.
        What::PermitTaken
        | What::PermitReturned
        | What::QueueEntered
        | What::QueueLeft { .. }
        | What::AttemptEnded { .. }
        | What::OperationEnded { .. } => {}
    }
}
