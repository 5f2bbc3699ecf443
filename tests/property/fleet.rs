//! Stacks of two routes, each shared by many calls, and what they told of their routes.
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use seawall::{
    Event, Gate, KeyBy, Rng, Sink, Stack, What,
    chat::{self, Chat},
    circuit_breaker::Window,
    failover::{On, One, Then},
    provider::{Client, OpenAi},
    retry::Budget,
    sim::InProcess,
    stack::{Paved, Several},
};
use tokio::time::{Instant, sleep};

use super::tap::{Mode, Send, Tap, Way};

/// One circuit a route: these calls are told apart by the names of their models.
type Shape = KeyBy<Chat, fn(&chat::Request) -> Option<&str>>;
type Route = Paved<Client<OpenAi, Tap>, Shape>;
type Whole = Stack<Several<Then<One<Route>, Route>, Shape>, Shape>;

pub struct Joined {
    pub stack: Whole,
    routes: [(Tap, Gate); 2],
    limit: u32,
}

pub struct Fleet {
    pub stacks: Vec<Arc<Joined>>,
    told: Arc<Mutex<Vec<Closed>>>,
}

/// A route was closed to these stacks, and nobody may be sent there until then.
struct Closed {
    stack: Option<usize>,
    route: usize,
    at: Instant,
    until: Instant,
}

tokio::task_local! {
    /// Of the call that a listener is told of.
    pub static DEADLINE: Option<Instant>;
}

pub fn asserts_that_sleeps_fit(event: &Event<'_>, deadline: Option<Instant>) {
    if let (What::Retrying { wait, .. }, Some(deadline)) = (event.what, deadline) {
        assert!(Instant::now() + wait < deadline, "a sleep of {wait:?} would end past the deadline");
    }
}

impl Fleet {
    /// One stack for each number of retries, all on the same two accounts.
    pub fn new(tap: &Tap, providers: [&InProcess; 2], budget: &Budget, rounds: u32, rng: &Rng) -> Self {
        let (told, accounts) = (Arc::default(), [Gate::new(), Gate::new()]);
        let stacks = (0..4).map(|stack| {
            let routes = [0, 1].map(|route| {
                let way = Way { stack: Some(stack), route };
                (tap.on(way, providers[route]), accounts[route].same_quota())
            });
            Arc::new(Joined::new(stack, routes, budget, rounds, rng, &told))
        });
        Self { stacks: stacks.collect(), told }
    }

    /// No route that told it was closed was asked before its time had come, or by more at once than it lets through.
    pub fn settle(&self, sends: &[Send]) -> usize {
        let told = self.told.lock().unwrap();
        for send in sends.iter().filter(|send| send.way.stack.is_some()) {
            let closed =
                told.iter().find(|closed| closed.is_for(send.way) && closed.at < send.at && send.at < closed.until);
            assert!(closed.is_none(), "{send:?} went to a route that was closed");
        }
        for joined in &self.stacks {
            for (tap, _) in &joined.routes {
                assert!(tap.most() <= joined.limit, "{} at once, {} allowed", tap.most(), joined.limit);
            }
        }
        assert!(self.stacks.iter().any(|joined| joined.routes[0].0.most() == joined.limit), "a limit was met");
        told.iter().filter(|closed| closed.stack.is_some()).count()
    }

    /// Nothing is left of all the calls that ended, were dropped or ran out of time: each circuit can be probed, and each
    /// permit taken.
    pub async fn assert_nothing_leaks(&self) {
        sleep(Duration::from_secs(180)).await;
        for joined in &self.stacks {
            for route in [0, 1] {
                joined.assert_well(route).await;
            }
        }
    }
}

impl Joined {
    fn new(
        number: usize,
        routes: [(Tap, Gate); 2],
        budget: &Budget,
        rounds: u32,
        rng: &Rng,
        told: &Arc<Mutex<Vec<Closed>>>,
    ) -> Self {
        let client = |route: usize| OpenAi::new("key").base_url("http://provider/v1").over(routes[route].0.clone());
        let told = told.clone();
        let sink = Sink::new(move |event| {
            asserts_that_sleeps_fit(event, DEADLINE.try_with(|deadline| *deadline).ok().flatten());
            told.lock().unwrap().extend(Closed::by(event, number));
        });
        let key: fn(&chat::Request) -> Option<&str> = |_| None;
        let limit = [8, 12, 24, 36][number];
        let window = Window::calls(20).unwrap().failure_rate(0.5).unwrap().min_calls(5).unwrap();
        let stack = Stack::chat(client(0)).gate(&routes[0].1).then(client(1)).gate(&routes[1].1);
        let stack = stack.on_429().on(On::ALL.iter().copied()).rounds(rounds).sends(9).max_retries(number as u32);
        let stack = stack.circuit(window).probes(1 + number as u16 % 2).concurrency(limit);
        let stack = stack.whole(Duration::from_secs(20)).seed(rng.bits()).sink(sink).key_by(key);
        let stack = if number == 0 { stack } else { stack.budget(budget) }.build().unwrap();
        Self { stack, routes, limit: limit as u32 }
    }

    async fn assert_well(&self, route: usize) {
        let ((tap, gate), (_, other)) = (&self.routes[route], &self.routes[1 - route]);
        assert_eq!((tap.live(), gate.opens_in(None)), (0, None), "long after the last call");
        other.force_circuit_open();
        let ask = || self.stack.ask(chat::Request::new("0").user("hello"));
        tap.set(Mode::Well);
        // As many as there are probes at most.
        for _ in 0..2 {
            ask().await.unwrap();
        }
        assert_eq!(gate.circuit(None), seawall::CircuitState::Closed);
        tap.set(Mode::Holding);
        let calls: Vec<_> = (0..self.limit + 3).map(|_| tokio::spawn(ask())).collect();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(tap.live(), self.limit, "every permit is there");
        for call in calls {
            call.abort();
            let _ = call.await;
        }
        assert_eq!(tap.live(), 0);
        other.release_circuit();
    }
}

impl Closed {
    fn by(event: &Event<'_>, stack: usize) -> Option<Self> {
        let (stack, wait) = match event.what {
            What::CircuitOpened { wait, .. } => (Some(stack), wait),
            What::CoolingDown { wait, .. } => (None, wait),
            _ => return None,
        };
        let route = event.route.unwrap().parse::<usize>().unwrap() - 1;
        let at = Instant::now();
        Some(Self { stack, route, at, until: at + wait })
    }

    fn is_for(&self, way: Way) -> bool {
        self.route == way.route && self.stack.is_none_or(|stack| Some(stack) == way.stack)
    }
}
