//! What both fronts share: the count of requests, the limits, the log. It decides, and never waits.
use super::{
    End, FaultKind, Log, Phase, Record, Script,
    limits::{Limiter, Refusal},
    log,
    plan::{self, Step, Steps},
    reply::{Asked, Reply},
};
use crate::{
    Invalid,
    time::{self, Instant},
};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::Notify;

/// Told of each attempt as it ends.
pub(super) type Listener = Box<dyn Fn(&Record) + Send + Sync>;

/// How often each fault was given at each phase.
pub(super) type Hits = BTreeMap<(FaultKind, Phase), u64>;

pub(super) struct Core {
    script: Script,
    start: Instant,
    state: Mutex<State>,
    settled: Notify,
    listener: Option<Listener>,
}

#[derive(Debug, Default)]
struct State {
    number: u64,
    in_flight: u64,
    limiter: Limiter,
    log: Log,
    hits: Hits,
}

/// A request that was read whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival<'a, H> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) headers: H,
    pub(super) body: &'a [u8],
}

/// What a request meets.
struct Decision {
    met: Option<(FaultKind, Phase)>,
    steps: Steps,
}

impl Core {
    pub(super) fn new(script: Script, listener: Option<Listener>) -> Result<Arc<Self>, Invalid> {
        script.check()?;
        let state = State { limiter: Limiter::new(&script.limits), ..State::default() };
        let start = time::now();
        Ok(Arc::new(Self { script, start, state: Mutex::new(state), settled: Notify::new(), listener }))
    }

    /// Decides what the request meets, and opens its record.
    pub(super) fn arrive<'a, H>(self: &Arc<Self>, arrival: Arrival<'a, H>, on_drop: End) -> (Ticket, Steps)
    where
        H: Iterator<Item = (&'a str, &'a [u8])>,
    {
        let elapsed = self.elapsed();
        let headers = log::shown(arrival.headers);
        let mut state = self.state();
        state.number += 1;
        let Decision { met, steps } = self.decide(&mut state, elapsed, arrival.path, arrival.body);
        if let Some(met) = met {
            *state.hits.entry(met).or_default() += 1;
        }
        let record = Record {
            method: arrival.method.to_owned(),
            path: log::shortened(arrival.path),
            headers,
            body_len: arrival.body.len() as u64,
            fault: met.map(|(fault, _)| fault),
            phase: met.map(|(_, phase)| phase),
            ..Record::new(state.number, elapsed)
        };
        (self.open(state, record, on_drop), steps)
    }

    /// Opens the record of a request that could not be read.
    pub(super) fn unreadable(self: &Arc<Self>, status: u16) -> Ticket {
        let mut state = self.state();
        state.number += 1;
        let record = Record { status: Some(status), ..Record::new(state.number, self.elapsed()) };
        self.open(state, record, End::Unreadable)
    }

    fn open(self: &Arc<Self>, mut state: MutexGuard<'_, State>, record: Record, on_drop: End) -> Ticket {
        state.in_flight += 1;
        let place = state.log.push(&record);
        drop(state);
        Ticket { core: Arc::clone(self), place, record, on_drop }
    }

    fn decide(&self, state: &mut State, elapsed: Duration, path: &str, body: &[u8]) -> Decision {
        let (number, script) = (state.number, &self.script);
        let rng = script.rng(number);
        let framing = script.answer.framing;
        if let Some(fault) = script.outage_at(elapsed) {
            let steps = plan::broken(Reply::error(fault.status.unwrap_or(503)), framing, fault, &rng);
            return Decision { met: Some((fault.kind(), fault.phase())), steps };
        }
        let asked = Asked::read(path, body);
        let tokens = asked.as_ref().map_or(0, |asked| asked.tokens(body));
        if let Err(refusal) = state.limiter.admit(elapsed, state.in_flight, tokens) {
            let mut reply = Reply::refused(&refusal);
            reply.tell_limits(&state.limiter);
            let kind = match refusal {
                Refusal::Concurrency(_) => FaultKind::Concurrency,
                Refusal::Empty { .. } | Refusal::TooLarge { .. } => FaultKind::RateLimit,
            };
            return Decision { met: Some((kind, Phase::InHead)), steps: plan::whole(reply, framing) };
        }
        let answer = |asked: Asked| asked.answer(number, elapsed, body, &script.answer);
        let mut reply = asked.map_or_else(|error| error, answer);
        reply.tell_limits(&state.limiter);
        let fault = script.fault_for(number, elapsed, path, &rng);
        let mut steps = match fault {
            Some(fault) => plan::broken(reply, framing, fault, &rng),
            None => plan::whole(reply, framing),
        };
        // An error comes at once; all else takes its time first, also where it breaks later.
        let thinks = script.answer.delay.draw(&rng);
        if !thinks.is_zero() && fault.is_none_or(|fault| fault.status.is_none()) {
            steps.push_front(Step::Wait(thinks));
        }
        Decision { met: fault.map(|fault| (fault.kind(), fault.phase())), steps }
    }

    pub(super) fn elapsed(&self) -> Duration {
        time::now().saturating_duration_since(self.start)
    }

    pub(super) fn log(&self) -> Log {
        self.state().log.clone()
    }

    pub(super) fn hits(&self) -> Hits {
        self.state().hits.clone()
    }

    pub(super) fn seen(&self) -> u64 {
        self.state().number
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.state().in_flight
    }

    pub(super) async fn settled(&self) {
        let mut notified = std::pin::pin!(self.settled.notified());
        loop {
            // Listening before looking, so that an end in between is not missed.
            notified.as_mut().enable();
            if self.in_flight() == 0 {
                return;
            }
            notified.as_mut().await;
            notified.set(self.settled.notified());
        }
    }

    /// A test that panicked elsewhere may still read the log.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").field("seen", &self.seen()).field("in_flight", &self.in_flight()).finish_non_exhaustive()
    }
}

/// An attempt under way. Dropped, it ends as `on_drop`.
#[derive(Debug)]
pub(super) struct Ticket {
    core: Arc<Core>,
    place: Option<usize>,
    record: Record,
    on_drop: End,
}

impl Ticket {
    pub(super) fn head(&mut self, status: u16) {
        self.record.status = Some(status);
    }

    pub(super) fn sent(&mut self, bytes: u64) {
        self.record.sent += bytes;
    }

    /// Ends it; only the first end counts.
    pub(super) fn end(&mut self, end: End) {
        if self.record.end != End::Open {
            return;
        }
        self.record.end = end;
        self.record.took = self.core.elapsed().saturating_sub(self.record.at);
        let mut state = self.core.state();
        state.in_flight -= 1;
        if let Some(kept) = self.place.and_then(|place| state.log.records.get_mut(place)) {
            kept.clone_from(&self.record);
        }
        drop(state);
        self.core.settled.notify_waiters();
        if let Some(listener) = &self.core.listener {
            listener(&self.record);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.end(self.on_drop);
    }
}
