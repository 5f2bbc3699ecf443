use crate::{Error, GaveUp, Phase};
use std::{fmt, sync::Arc, time::Duration};

/// What happened inside a layer that a person or a meter may want to know.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// An attempt failed, and the call waits before the next.
    Retrying {
        /// How the attempt failed.
        error: &'a Error,
        /// Which retry comes next, from 1; 0 where a refusal of ours is waited out.
        retry: u32,
        /// How long the call waits first.
        wait: Duration,
    },
    /// A retryable failure is not retried (again).
    GaveUp {
        /// The failure, which now goes to the caller.
        error: &'a Error,
        /// Why.
        reason: GaveUp,
    },
    /// A limit in time was reached.
    TimedOut {
        /// Which.
        phase: Phase,
        /// How long the attempt, or the call, had.
        limit: Duration,
    },
}

/// Where events go: called at once, in the task of the call, and never under a lock. Keep it short.
///
/// ```
/// let sink = seawall::Sink::new(|event| eprintln!("{event:?}"));
/// ```
#[derive(Clone)]
pub struct Sink(Arc<dyn Fn(&Event<'_>) + Send + Sync>);

impl Sink {
    /// Calls `listener` for each event.
    pub fn new(listener: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listener))
    }

    /// Tells one event.
    pub fn emit(&self, event: &Event<'_>) {
        (self.0)(event);
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sink(…)")
    }
}
