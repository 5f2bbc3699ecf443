//! What both fronts share: the count of requests, the limits, the log. It decides, and never waits.
use super::{
    Answer, End, Fault, FaultKind, Log, Phase, Record, Script,
    api::Api,
    asked::Asked,
    limits::{Limiter, Refusal},
    log, plan,
    reply::Reply,
    said::Said,
    step::{Piece, Step, Steps},
    when::Facts,
};
use crate::{
    Invalid, Rng,
    time::{self, Instant},
};
use bytes::Bytes;
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
    /// How many bytes of bodies the log holds.
    kept: usize,
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
enum Verdict<'a> {
    Outage(&'a Fault),
    Refused(Refusal),
    Fault(&'a Fault),
    Well,
}

impl State {
    /// A copy of a body, as long as there is room for it.
    fn keep(&mut self, body: &[u8], most: usize) -> Option<Bytes> {
        let kept = self.kept.checked_add(body.len()).filter(|kept| most > 0 && *kept <= most)?;
        self.kept = kept;
        Some(Bytes::copy_from_slice(body))
    }
}

impl<'a> Verdict<'a> {
    fn met(&self) -> Option<(FaultKind, Phase)> {
        match self {
            Self::Outage(fault) | Self::Fault(fault) => Some((fault.kind(), fault.phase())),
            Self::Refused(Refusal::Concurrency(_)) => Some((FaultKind::Concurrency, Phase::InHead)),
            Self::Refused(_) => Some((FaultKind::RateLimit, Phase::InHead)),
            Self::Well => None,
        }
    }

    /// The answer of the fault's own.
    fn answer(&self) -> Option<&'a Answer> {
        match *self {
            Self::Fault(fault) => fault.answer.as_deref(),
            Self::Outage(_) | Self::Refused(_) | Self::Well => None,
        }
    }
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
        let Arrival { method, path, headers, body } = arrival;
        let headers = log::shown(headers);
        let asked = Asked::read(path, body);
        let tokens = asked.as_ref().map_or(0, Asked::tokens);
        let elapsed = self.elapsed();
        let mut state = self.state();
        state.number += 1;
        let number = state.number;
        let rng = self.script.rng(number);
        let facts = Facts::new(number, elapsed, path, asked.as_ref().ok());
        let verdict = self.judge(&mut state, &facts, tokens, &rng);
        let how = verdict.answer().unwrap_or(&self.script.answer);
        let limiter = state.limiter.clone();
        let met = verdict.met();
        if let Some(met) = met {
            *state.hits.entry(met).or_default() += 1;
        }
        let record = Record {
            method: log::shortened(method),
            path: log::shortened(path),
            headers,
            body_len: body.len() as u64,
            body: state.keep(body, self.script.kept_bodies),
            fault: met.map(|(fault, _)| fault),
            phase: met.map(|(_, phase)| phase),
            ..Record::new(number, elapsed)
        };
        let ticket = self.open(state, record, on_drop);
        let answer = |asked: Asked<'_>| {
            let ids = Rng::seeded(self.script.rng(number).bits());
            let said = Said::new(&asked, how, number, elapsed, ids);
            match asked.streams() {
                true => asked.api().stream(&said, &asked, &how.stream),
                false => asked.api().whole(&said),
            }
        };
        let api = Api::at(path).unwrap_or(Api::OpenAi);
        let reply = || asked.map_or_else(|error| error, answer);
        let told = |mut reply: Reply| {
            reply.set(api.request_id(), format!("req_mock_{number}"));
            reply.tell_limits(&limiter);
            reply
        };
        (ticket, Self::steps(&verdict, api, how, reply, told, &rng))
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

    /// An outage is asked first, then the limits, then the faults.
    fn judge(&self, state: &mut State, facts: &Facts<'_>, tokens: u32, rng: &Rng) -> Verdict<'_> {
        if let Some(fault) = self.script.outage_at(facts.elapsed) {
            return Verdict::Outage(fault);
        }
        if let Err(refusal) = state.limiter.admit(facts.elapsed, state.in_flight, tokens) {
            return Verdict::Refused(refusal);
        }
        self.script.fault_for(facts, rng).map_or(Verdict::Well, Verdict::Fault)
    }

    fn steps(
        verdict: &Verdict<'_>,
        api: Api,
        how: &Answer,
        answer: impl FnOnce() -> Reply,
        told: impl Fn(Reply) -> Reply,
        rng: &Rng,
    ) -> Steps {
        let mut steps = match verdict {
            Verdict::Outage(fault) => return plan::broken(api.error(503), how, fault, rng),
            Verdict::Refused(refusal) => return plan::whole(told(Reply::refused(api, refusal)), how, rng),
            Verdict::Fault(fault) => plan::broken(told(answer()), how, fault, rng),
            Verdict::Well => plan::whole(told(answer()), how, rng),
        };
        // An error comes at once; all else takes its time first, also where it breaks later.
        let thinks = how.delay.draw(rng);
        if !thinks.is_zero() && !matches!(verdict, Verdict::Fault(fault) if fault.is_error()) {
            steps.push_front(Step::Wait(thinks));
        }
        steps
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

    pub(super) fn sent(&mut self, piece: &Piece) {
        self.record.sent += piece.bytes.len() as u64;
        self.record.events += u64::from(piece.events);
        self.record.tokens += u64::from(piece.tokens);
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
