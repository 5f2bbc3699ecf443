use crate::{Change, Error, GaveUp, Outcome, Phase, Trail, Usage};
use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
    time::Duration,
};

/// What happened, and on which route.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The name of the route, in a stack or a failover: its number, where it was given none. `None`: outside all of them.
    pub route: Option<&'a str>,
    /// What happened there.
    pub what: What<'a>,
}

/// What happened inside a layer that a person or a meter may want to know.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
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
        /// The failure, which now goes to the caller, or to another route.
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
    /// A call leaves this route for another one.
    Switched {
        /// How the route failed.
        error: &'a Error,
    },
    /// A request was changed on its way out, so that the provider takes it. That a model refuses a setting is told once by
    /// each client. What was changed in a turn is told when the turn is first encoded for a dialect, and not again with
    /// each longer history while that is kept, nor with a repeat.
    Changed {
        /// The model.
        key: Option<&'a str>,
        /// What was changed.
        change: &'a Change,
    },
    /// A circuit opened: nobody asks the provider for a while.
    CircuitOpened {
        /// Of which key, where circuits have one.
        key: Option<&'a str>,
        /// The failure that opened it.
        error: &'a Error,
        /// For how long.
        wait: Duration,
    },
    /// An open circuit lets a probe through.
    CircuitHalfOpened {
        /// Of which key, where circuits have one.
        key: Option<&'a str>,
    },
    /// A circuit closed: the provider answers again.
    CircuitClosed {
        /// Of which key, where circuits have one.
        key: Option<&'a str>,
    },
    /// A rate limit closes the route to everyone: for the wait that it named, or for a step of ours.
    CoolingDown {
        /// The answer that asked for it.
        error: &'a Error,
        /// For how long.
        wait: Duration,
    },
    /// A call took a permit of a [concurrency limit](crate::concurrency_limit).
    PermitTaken,
    /// A permit is free again, as the answer under it is over or was left.
    PermitReturned,
    /// A call found all permits taken, and stands in line.
    QueueEntered,
    /// A call that stood in line has its permit, or does without: its time is over, or its caller left.
    QueueLeft {
        /// For how long it stood there.
        waited: Duration,
    },
    /// One send is over, its answer read to the end, or left.
    AttemptEnded {
        /// The [key](crate::Shape::key) of the request: the model, of a chat.
        key: Option<&'a str>,
        /// How it ended; `None`: the caller, or the reader of the answer, left.
        outcome: Option<Outcome<'a>>,
        /// The tokens that it cost, as far as the answer told.
        usage: Option<Usage>,
        /// Whether a stream was [asked for](crate::Shape::streams).
        streams: bool,
        /// From the call to the head of the answer, in a stream its first content; `None`: there was none.
        head: Option<Duration>,
        /// From the call to the end.
        took: Duration,
    },
    /// A call is over, its answer read to the end, or left.
    OperationEnded {
        /// The [key](crate::Shape::key) of the request: the model, of a chat.
        key: Option<&'a str>,
        /// How it ended; `None`: the caller, or the reader of the answer, left.
        outcome: Option<Outcome<'a>>,
        /// The attempts that failed before an answer, where that can keep them. Those of a failure are in its error.
        trail: Option<&'a Trail>,
        /// The tokens of the answer, as far as it told. What failed attempts cost is in their own events.
        usage: Option<Usage>,
        /// Whether a stream was [asked for](crate::Shape::streams).
        streams: bool,
        /// From the call to the head of the answer, in a stream its first content; `None`: there was none.
        head: Option<Duration>,
        /// From the call to the end.
        took: Duration,
    },
}

/// Where events go: called at once, in the task of the call, and never under a lock. Keep it short.
///
/// ```
/// let sink = seawall::Sink::new(|event| eprintln!("{event:?}"));
/// ```
#[derive(Clone)]
pub struct Sink {
    listener: Arc<dyn Fn(&Event<'_>) + Send + Sync>,
    route: Option<Arc<str>>,
}

impl Sink {
    /// Calls `listener` for each event.
    pub fn new(listener: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        Self { listener: Arc::new(listener), route: None }
    }

    /// The same listener, told that what happens is on this route.
    #[must_use]
    pub fn route(&self, name: impl Into<Arc<str>>) -> Self {
        Self { listener: Arc::clone(&self.listener), route: Some(name.into()) }
    }

    /// Tells `next` everything as well, after this one, with the route that this one names.
    ///
    /// ```
    /// use seawall::{Sink, observe};
    ///
    /// let sink = observe::telemetry().and(&Sink::new(|event| eprintln!("{event:?}")));
    /// ```
    #[must_use]
    pub fn and(self, next: &Self) -> Self {
        let (first, next) = (self.listener, Arc::clone(&next.listener));
        let both = move |event: &Event<'_>| {
            first(event);
            next(event);
        };
        Self { listener: Arc::new(both), route: self.route }
    }

    /// Tells that something happened.
    pub fn emit(&self, what: What<'_>) {
        let event = Event { route: self.route.as_deref(), what };
        match thread::panicking() {
            // What a call holds tells of its end too while a panic drops it; a second panic would end the process.
            true => drop(catch_unwind(AssertUnwindSafe(|| (self.listener)(&event)))),
            false => (self.listener)(&event),
        }
    }

    /// Names the route of an error that does not know its own.
    pub(crate) fn name(&self, error: Error) -> Error {
        match &self.route {
            Some(route) => error.with_route(route),
            None => error,
        }
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sink(…)")
    }
}
