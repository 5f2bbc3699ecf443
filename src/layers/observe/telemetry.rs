use crate::Sink;

/// What an operation is called by default (`gen_ai.operation.name`).
pub(super) const CHAT: &str = "chat";

/// A sink that makes metrics (feature `metrics`) and events of `tracing` (feature `tracing`) of all that it is told.
///
/// Make one, and hand its clones to every layer, as its handles are kept: a recorder of `metrics` must be installed before the
/// first call, or these metrics go nowhere for good. See the [module's docs](super#metrics) for their names.
///
/// The operation is called `chat`; see [`telemetry_of`]. To listen too: [`Sink::and`].
#[must_use]
pub fn telemetry() -> Sink {
    telemetry_of(CHAT)
}

/// [`telemetry`] for an operation of another name: `embeddings`, say.
#[must_use]
pub fn telemetry_of(operation: &'static str) -> Sink {
    #[cfg(feature = "metrics")]
    let meters = super::meters::Meters::new(operation);
    #[cfg(not(feature = "metrics"))]
    let _ = operation;
    Sink::new(move |event| {
        #[cfg(feature = "metrics")]
        meters.record(event);
        #[cfg(feature = "tracing")]
        super::logs::log(event);
        let _ = event;
    })
}
