use super::{
    label::{Label, OTHER},
    span::{Ended, Span},
    watch::{Level, Watch},
};
use crate::{
    Error, Guard, Outcome, Seen, Trail, Usage, What,
    keyed::LONGEST,
    time::{self, Instant},
};
use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    thread,
    time::Duration,
};

/// One call, or one send, while it lasts; rides in its answer. Tells of its end once, however that comes.
pub struct Observation {
    watch: Arc<Watch>,
    span: Span,
    key: Arc<Label>,
    streams: bool,
    start: Instant,
    polled: bool,
    over: bool,
    head: Option<Duration>,
    trail: Option<Trail>,
    usage: Option<Usage>,
}

impl Observation {
    pub(super) fn new(watch: &Arc<Watch>, key: Option<&str>, streams: bool) -> Self {
        Self {
            span: Span::new(watch, key.map(shown)),
            key: watch.label(key),
            watch: Arc::clone(watch),
            streams,
            start: time::now(),
            polled: false,
            over: false,
            head: None,
            trail: None,
            usage: None,
        }
    }

    /// Runs `work` inside the span.
    pub(super) fn scope<T>(&self, work: impl FnOnce() -> T) -> T {
        self.span.scope(work)
    }

    /// Runs a poll of the call inside the span: nothing is sent before the first.
    pub(super) fn poll<T>(&mut self, poll: impl FnOnce() -> T) -> T {
        self.polled = true;
        self.span.scope(poll)
    }

    /// The answer has begun, after these failures.
    pub(super) fn head(mut self, trail: Option<&Trail>) -> Self {
        self.head = Some(self.elapsed());
        if self.watch.level == Level::Operation {
            self.trail = trail.cloned();
        }
        self
    }

    /// There is no answer.
    pub(super) fn fail(mut self, error: Error) -> Error {
        let error = match &self.watch.route {
            Some(route) => error.with_route(route),
            None => error,
        };
        if self.watch.level == Level::Attempt && error.sends() == 0 {
            self.over = true;
            self.span.refused(&error);
        } else {
            self.tell(Some(Outcome::Failed(&error)));
        }
        error
    }

    fn elapsed(&self) -> Duration {
        time::now().saturating_duration_since(self.start)
    }

    fn tell(&mut self, outcome: Option<Outcome<'_>>) {
        // First, so that a listener that panics is not called again by the drop.
        self.over = true;
        let (took, head, usage, streams) = (self.elapsed(), self.head, self.usage, self.streams);
        let (key, trail) = ((*self.key).as_deref(), self.trail.as_ref());
        self.span.end(&Ended { outcome, trail, usage });
        let Some(sink) = &self.watch.sink else { return };
        sink.emit(match self.watch.level {
            Level::Operation => What::OperationEnded { key, outcome, trail, usage, streams, head, took },
            Level::Attempt => What::AttemptEnded { key, outcome, usage, streams, head, took },
        });
    }
}

/// The key that a span is told: what is no name of a model is not written out for each call.
fn shown(key: &str) -> &str {
    if key.len() <= LONGEST { key } else { OTHER }
}

impl Guard for Observation {
    fn progress(self: Pin<&mut Self>, seen: Seen) {
        if let Seen::Usage(usage) = seen {
            self.get_mut().usage = Some(usage);
        }
    }

    fn end(self: Pin<&mut Self>, outcome: Outcome<'_>) {
        self.get_mut().tell(Some(outcome));
    }
}

/// Whoever waited for it left.
impl Drop for Observation {
    fn drop(&mut self) {
        let unsent = self.watch.level == Level::Attempt && !self.polled;
        if self.over || unsent {
            return;
        }
        match thread::panicking() {
            // A listener that panics too would end the process.
            true => drop(catch_unwind(AssertUnwindSafe(|| self.tell(None)))),
            false => self.tell(None),
        }
    }
}

impl fmt::Debug for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observation")
            .field("level", &self.watch.level)
            .field("over", &self.over)
            .finish_non_exhaustive()
    }
}
