//! The breaker against a model of it: plain, slow, and written for this test alone.
use super::*;
use proptest::prelude::*;
use seawall::circuit_breaker::{ResponseFuture, Trip};
use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    task::{Context as Cx, Poll, Waker},
};
use tokio::sync::oneshot;
use tower::{Service, ServiceExt};

const OPEN_FOR: u64 = 10;
const FAILURES: u32 = 2;

/// Opens at two failures in a row, for exactly ten seconds.
#[derive(Clone, Default)]
struct TwoInARow(u32);

impl Policy for TwoInARow {
    fn success(&mut self, _: Instant, _: Option<Duration>) -> Option<Trip> {
        self.0 = 0;
        None
    }

    fn failure(&mut self, _: Instant, _: Option<Duration>) -> Option<Trip> {
        self.0 += 1;
        (self.0 >= FAILURES).then(|| Trip::for_exactly(seconds(OPEN_FOR)))
    }

    fn reset(&mut self) {
        self.0 = 0;
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Ask,
    /// The nth call that is out, from the oldest, ends so; told a wait where it is not zero.
    End(usize, End, u64),
    Drop(usize),
    Wait(u64),
    Hand(Hand),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Fine,
    Fails,
    Limited,
    Neutral,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Hand {
    Open,
    Closed,
    Released,
}

fn step() -> impl Strategy<Value = Step> {
    let end =
        prop_oneof![4 => Just(End::Fine), 6 => Just(End::Fails), 1 => Just(End::Limited), 2 => Just(End::Neutral)];
    let told = prop_oneof![6 => Just(0u64), 1 => 1u64..30];
    let hand = prop_oneof![1 => Just(Hand::Open), 1 => Just(Hand::Closed), 3 => Just(Hand::Released)];
    prop_oneof![
        8 => Just(Step::Ask),
        6 => (0usize..6, end, told).prop_map(|(nth, end, told)| Step::End(nth, end, told)),
        1 => (0usize..6).prop_map(Step::Drop),
        4 => (1u64..12).prop_map(Step::Wait),
        1 => hand.prop_map(Step::Hand),
    ]
}

/// How a call was answered at once.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    Sent,
    Open(Option<u64>),
    Cooling(u64),
}

/// The reference: everything by number of the call, in whole seconds.
struct Reference {
    probes: usize,
    now: u64,
    cools_until: u64,
    limits_in_a_row: u32,
    forced: Hand,
    phase: Phase,
    /// Changes with everything that makes earlier calls stale.
    era: u32,
    out: BTreeMap<u32, Out>,
}

enum Phase {
    Closed {
        failures: u32,
    },
    Open {
        until: u64,
        lasts: u64,
    },
    /// Those that hold a lease, until when; and how many have passed. A lease lasts as long as it was opened for.
    HalfOpen {
        leased: BTreeMap<u32, u64>,
        passed: usize,
        lasts: u64,
    },
}

/// A call under way: when it was let through, and what the account said then.
struct Out {
    era: u32,
    counts: bool,
    cooled_until: u64,
}

impl Reference {
    fn new(probes: usize) -> Self {
        Self {
            probes,
            now: 0,
            cools_until: 0,
            limits_in_a_row: 0,
            forced: Hand::Released,
            phase: Phase::Closed { failures: 0 },
            era: 0,
            out: BTreeMap::new(),
        }
    }

    fn ask(&mut self, call: u32) -> Asked {
        if self.forced == Hand::Open {
            return Asked::Open(None);
        }
        let cools = self.cools_until.saturating_sub(self.now);
        if cools > 0 {
            return match self.phase {
                Phase::Open { until, .. } if self.forced == Hand::Released && until >= self.cools_until => {
                    Asked::Open(Some(until - self.now))
                }
                _ => Asked::Cooling(cools),
            };
        }
        let counts = self.forced == Hand::Released;
        if counts {
            if let Phase::Open { until, lasts } = self.phase {
                if until > self.now {
                    return Asked::Open(Some(until - self.now));
                }
                self.phase = Phase::HalfOpen { leased: BTreeMap::new(), passed: 0, lasts };
                self.era += 1;
            }
            if let Phase::HalfOpen { leased, passed, lasts } = &mut self.phase {
                leased.retain(|_, &mut until| until > self.now);
                if leased.len() + *passed >= self.probes {
                    return Asked::Open(Some(1));
                }
                leased.insert(call, self.now + *lasts);
            }
        }
        self.out.insert(call, Out { era: self.era, counts, cooled_until: self.cools_until });
        Asked::Sent
    }

    fn end(&mut self, call: u32, end: End, told: u64) {
        let Out { era, counts, cooled_until } = self.out.remove(&call).unwrap();
        let is_current = counts && era == self.era;
        match end {
            End::Fine => {
                if self.cools_until == cooled_until {
                    self.limits_in_a_row = 0;
                }
            }
            End::Limited => {
                if self.limits_in_a_row == 0 || self.cools_until == cooled_until {
                    self.limits_in_a_row += 1;
                }
                let step = 60.min(1 << (self.limits_in_a_row - 1).min(6));
                self.cool(if told > 0 { told } else { step });
            }
            End::Fails | End::Neutral => {}
        }
        match (&mut self.phase, end) {
            (Phase::Open { until, .. }, End::Fails) if counts && told > 0 => {
                *until = (*until).max(self.now + told);
            }
            _ if !is_current => {}
            (Phase::Closed { failures }, End::Fine) => *failures = 0,
            (Phase::Closed { failures }, End::Fails) => {
                *failures += 1;
                if *failures >= FAILURES {
                    self.open(told);
                }
            }
            (Phase::HalfOpen { leased, passed, .. }, End::Fine) => {
                leased.remove(&call);
                *passed += 1;
                if *passed == self.probes {
                    self.phase = Phase::Closed { failures: 0 };
                    self.era += 1;
                }
            }
            (Phase::HalfOpen { .. }, End::Fails) => self.open(told),
            (Phase::HalfOpen { leased, .. }, End::Limited | End::Neutral) => drop(leased.remove(&call)),
            _ => {}
        }
    }

    fn open(&mut self, told: u64) {
        let lasts = OPEN_FOR.max(told);
        self.phase = Phase::Open { until: self.now + lasts, lasts };
        self.era += 1;
    }

    fn cool(&mut self, wait: u64) {
        if wait > 0 {
            self.cools_until = self.cools_until.max(self.now + wait);
        }
    }

    fn hand(&mut self, hand: Hand) {
        self.forced = hand;
        self.phase = Phase::Closed { failures: 0 };
        self.era += 1;
        // Not even a told wait of theirs extends what opens later.
        for out in self.out.values_mut() {
            out.counts = false;
        }
    }

    fn state(&self) -> CircuitState {
        match (self.forced, &self.phase) {
            (Hand::Open, _) => CircuitState::Open,
            (Hand::Closed, _) | (_, Phase::Closed { .. }) => CircuitState::Closed,
            (_, Phase::Open { until, .. }) if *until > self.now => CircuitState::Open,
            _ => CircuitState::HalfOpen,
        }
    }
}

/// Calls that end when the test says so.
#[derive(Clone, Default)]
struct Held(Arc<Mutex<Vec<oneshot::Sender<Result<(), Error>>>>>);

impl Service<()> for Held {
    type Response = ();
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        let (end, ended) = oneshot::channel();
        self.0.lock().unwrap().push(end);
        Box::pin(async { ended.await.unwrap() })
    }
}

type Call = Pin<Box<ResponseFuture<<Held as Service<()>>::Future, Bare, TwoInARow>>>;

async fn agree(probes: usize, steps: Vec<Step>) {
    let gate = Gate::new();
    let layer = CircuitBreakerLayer::new().gate(&gate).policy(TwoInARow::default()).probes(probes as u16).unwrap();
    let held = Held::default();
    let mut service = layer.layer(held.clone());
    let mut reference = Reference::new(probes);
    let mut out: Vec<(u32, Call, oneshot::Sender<Result<(), Error>>)> = Vec::new();
    let cx = &mut Cx::from_waker(Waker::noop());
    for (nth, step) in (0u32..).zip(steps) {
        match step {
            Step::Ask => {
                let mut call = Box::pin(service.ready().await.unwrap().call(()));
                let asked = match call.as_mut().poll(cx) {
                    Poll::Pending => Asked::Sent,
                    Poll::Ready(result) => {
                        let error = result.unwrap_err();
                        let wait = error.retry_after().map(|wait| wait.as_secs());
                        if error.kind() == Kind::CoolingDown {
                            Asked::Cooling(wait.unwrap())
                        } else {
                            Asked::Open(wait)
                        }
                    }
                };
                assert_eq!(asked, reference.ask(nth), "step {nth}");
                if asked == Asked::Sent {
                    out.push((nth, call, held.0.lock().unwrap().pop().unwrap()));
                }
            }
            Step::End(which, end, told) if which < out.len() => {
                let (id, mut call, sender) = out.remove(which);
                let kind = match end {
                    End::Fine => None,
                    End::Fails => Some(Kind::Server),
                    End::Limited => Some(Kind::RateLimited),
                    End::Neutral => Some(Kind::InvalidRequest),
                };
                let error = kind.map(Error::provider).map(|error| match told {
                    0 => error,
                    told => error.with_retry_after(seconds(told)),
                });
                sender.send(error.map_or(Ok(()), Err)).unwrap();
                assert!(call.as_mut().poll(cx).is_ready());
                reference.end(id, end, told);
            }
            Step::Drop(which) if which < out.len() => {
                let (id, ..) = out.remove(which);
                reference.end(id, End::Neutral, 0);
            }
            Step::End(..) | Step::Drop(..) => {}
            Step::Wait(wait) => {
                advance(seconds(wait)).await;
                reference.now += wait;
            }
            Step::Hand(hand) => {
                match hand {
                    Hand::Open => gate.force_circuit_open(),
                    Hand::Closed => gate.force_circuit_closed(),
                    Hand::Released => gate.release_circuit(),
                }
                reference.hand(hand);
            }
        }
        assert_eq!(gate.circuit(None), reference.state(), "after step {nth}, {step:?}");
        let cools = reference.cools_until.saturating_sub(reference.now);
        assert_eq!(gate.cools_for().unwrap_or_default(), seconds(cools), "after step {nth}, {step:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_breaker_agrees_with_its_model(probes in 1usize..4, steps in prop::collection::vec(step(), 0..120)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(agree(probes, steps));
    }
}
