//! What a builder was told, checked, and turned into layers.
use crate::{
    Context, Gate, Invalid, Rng, Sink,
    circuit_breaker::{CircuitBreakerLayer, Window},
    concurrency_limit::ConcurrencyLimitLayer,
    failover::{self, Facts},
    recovery::{Recovery, RecoveryLayer},
    retry::{Backoff, Budget, RetryLayer},
    timeout::{AttemptTimeoutLayer, DeadlineLayer},
};
use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) deadline: Option<Duration>,
    pub(super) sends: Option<u32>,
    pub(super) max_retries: Option<u32>,
    pub(super) backoff: Option<Backoff>,
    pub(super) max_wait: Option<Duration>,
    pub(super) budget: Option<Budget>,
    pub(super) rng: Option<Rng>,
    pub(super) window: Option<Window>,
    pub(super) open_for: Option<(Duration, Duration)>,
    pub(super) probes: Option<u16>,
    pub(super) concurrency: Option<usize>,
    pub(super) recovery: Recovery,
    pub(super) first_byte: Option<Duration>,
    pub(super) first_token: Option<Duration>,
    pub(super) whole: Option<Duration>,
    pub(super) idle: Option<Duration>,
    pub(super) sink: Option<Sink>,
    pub(super) operation: Option<&'static str>,
    pub(super) failover: failover::Policy,
    pub(super) ready_within: Option<Duration>,
    pub(super) rounds: Option<u32>,
}

impl Settings {
    /// How many requests one call may send.
    pub(super) fn most_sends(&self) -> u32 {
        self.sends.unwrap_or_else(|| Context::default().sends_left)
    }

    /// What meters and traces call a call.
    pub(super) fn operation(&self) -> &'static str {
        self.operation.unwrap_or("chat")
    }

    pub(super) fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(1)
    }

    /// What cannot take effect was meant otherwise.
    pub(super) fn check(&self, routes: &[Facts]) -> Result<(), Invalid> {
        self.check_retry().map_err(|invalid| invalid.of_layer("retry"))?;
        self.check_recovery(routes).map_err(|invalid| invalid.of_layer("recovery"))?;
        self.check_timeouts().map_err(|invalid| invalid.of_layer("timeout"))?;
        self.check_failover(routes).map_err(|invalid| invalid.of_layer("failover"))
    }

    fn check_retry(&self) -> Result<(), Invalid> {
        let sends = self.most_sends();
        if sends == 0 {
            return Err(Invalid::new("sends", "with no sends no call could be made; set at least 1"));
        }
        if let Some(retries) = self.max_retries
            && retries >= sends
        {
            let reason = format!("{retries} retries cannot happen with {sends} sends; raise `sends` to more");
            return Err(Invalid::new("max_retries", reason));
        }
        if sends == 1 || self.max_retries == Some(0) {
            // Further rounds have a schedule, too, and a budget of their own.
            let lone = self.rounds() <= 1;
            let idle = [
                ("backoff", lone && self.backoff.is_some()),
                ("max_wait", lone && self.max_wait.is_some()),
                ("budget", self.budget.is_some()),
            ];
            if let Some((setting, _)) = idle.into_iter().find(|(_, idle)| *idle) {
                let other = if sends == 1 { "sends(1)" } else { "max_retries(0)" };
                return Err(Invalid::new(setting, format!("has no effect with `{other}`; drop one of the two")));
            }
        }
        let max_wait = self.max_wait.unwrap_or(RetryLayer::MAX_WAIT);
        if self.backoff.is_some_and(|backoff| backoff.cap() > max_wait) {
            let reason = format!("delays over {max_wait:?} would end the call; lower the cap, or raise `max_wait`");
            return Err(Invalid::new("backoff", reason));
        }
        Ok(())
    }

    /// An answer that is read for nothing, as there is nowhere to start over.
    fn check_recovery(&self, routes: &[Facts]) -> Result<(), Invalid> {
        let switches = routes.len() > 1 && self.failover.switches_at_all();
        let is_lone = self.max_retries == Some(0) && self.rounds() <= 1 && !switches;
        if self.recovery.is_buffered() && (is_lone || self.most_sends() == 1) {
            let reason = "an answer that is cut cannot start over: allow a retry, or a switch, and more than one send";
            return Err(Invalid::new("recovery", reason));
        }
        Ok(())
    }

    /// A limit that another one is always reached before.
    fn check_timeouts(&self) -> Result<(), Invalid> {
        if let (Some(head), Some(token)) = (self.first_byte, self.first_token)
            && head >= token
        {
            let reason = format!("has no effect with `first_token({token:?})`; set it shorter, or leave it out");
            return Err(Invalid::new("first_byte", reason));
        }
        let Some(deadline) = self.deadline else { return Ok(()) };
        // A stream that is shown as it comes may last longer than the call has.
        let idle = self.idle.filter(|_| self.recovery.is_buffered());
        let limits =
            [("first_byte", self.first_byte), ("first_token", self.first_token), ("whole", self.whole), ("idle", idle)];
        match limits.into_iter().find(|(_, limit)| limit.is_some_and(|limit| limit >= deadline)) {
            Some((setting, _)) => {
                let reason = format!("has no effect under a deadline of {deadline:?}; set it shorter, or leave it out");
                Err(Invalid::new(setting, reason))
            }
            None => Ok(()),
        }
    }

    fn check_failover(&self, routes: &[Facts]) -> Result<(), Invalid> {
        let (rounds, sends) = (self.rounds(), self.most_sends());
        if rounds == 0 {
            return Err(Invalid::new("rounds", "with no round no route would be asked; 1 asks each once"));
        }
        let larger = routes.iter().any(Facts::is_larger);
        if sends == 1 && (self.failover.switches_at_all() || larger) {
            let reason = "a call that may send once has none left for another route; raise it, or leave the switch out";
            return Err(Invalid::new("sends", reason));
        }
        if rounds > sends {
            let reason = format!("{rounds} rounds cannot happen with {sends} sends; raise `sends`");
            return Err(Invalid::new("rounds", reason));
        }
        let (max_wait, wait) = (self.max_wait.unwrap_or(RetryLayer::MAX_WAIT), self.failover.patience(Duration::ZERO));
        if wait > max_wait {
            let reason =
                format!("{wait:?} is never waited, as `max_wait` is {max_wait:?}; lower the one, or raise the other");
            return Err(Invalid::new("wait_at_most", reason));
        }
        if let (Some(within), Some(deadline)) = (self.ready_within, self.deadline)
            && within >= deadline
        {
            let reason = format!("has no effect under a deadline of {deadline:?}; set it shorter");
            return Err(Invalid::new("ready_within", reason));
        }
        self.check_routes(routes)
    }

    fn check_routes(&self, routes: &[Facts]) -> Result<(), Invalid> {
        let switches = self.failover != failover::Policy::default() || self.ready_within.is_some() || self.rounds() > 1;
        if routes.len() == 1 && switches {
            return Err(Invalid::new(
                "routes",
                "one alone has nowhere to switch to; add another, or leave the switch out",
            ));
        }
        for (index, route) in routes.iter().enumerate() {
            let (others, name) = (&routes[..index], route.label());
            if let Some(other) = others.iter().find(|other| other.gate().is(route.gate())) {
                let other = other.label();
                let reason = format!(
                    "routes {other} and {name} have the same, so their circuits would be one; give {name} `gate.same_quota()`"
                );
                return Err(Invalid::new("gate", reason));
            }
            if others.iter().any(|other| other.label() == name) {
                return Err(Invalid::new("name", format!("two routes are called {name}; give each its own")));
            }
        }
        Ok(())
    }

    pub(super) fn failover(&self) -> Result<failover::Policy, Invalid> {
        self.ready_within.map_or(Ok(self.failover), |limit| self.failover.ready_within(limit))
    }

    /// Of one attempt; the call's own is [`total`](Self::total).
    pub(super) fn timeout(&self, sink: &Sink) -> Result<AttemptTimeoutLayer, Invalid> {
        let mut layer = AttemptTimeoutLayer::new().sink(sink.clone());
        if let Some(most) = self.first_byte {
            layer = layer.first_byte(most)?;
        }
        if let Some(most) = self.first_token {
            layer = layer.first_token(most)?;
        }
        if let Some(most) = self.whole {
            layer = layer.whole(most)?;
        }
        if let Some(most) = self.idle {
            layer = layer.idle(most)?;
        }
        Ok(layer)
    }

    pub(super) fn recovery(&self, sink: &Sink) -> RecoveryLayer {
        RecoveryLayer::new(self.recovery).sink(sink.clone())
    }

    pub(super) fn concurrency(&self, sink: &Sink) -> Result<ConcurrencyLimitLayer, Invalid> {
        match self.concurrency {
            Some(0) => Err(Invalid::new("concurrency", "zero lets no call through; set at least 1, or leave it out")),
            Some(most) => Ok(ConcurrencyLimitLayer::new(most)?.sink(sink.clone())),
            None => Ok(ConcurrencyLimitLayer::unlimited()),
        }
    }

    pub(super) fn breaker(&self, gate: &Gate, sink: &Sink) -> Result<CircuitBreakerLayer, Invalid> {
        let mut layer = CircuitBreakerLayer::new().gate(gate).sink(sink.clone());
        if let Some(window) = &self.window {
            layer = layer.policy(window.clone());
        }
        if let Some((base, cap)) = self.open_for {
            layer = layer.open_for(base, cap)?;
        }
        if let Some(probes) = self.probes {
            layer = layer.probes(probes)?;
        }
        if let Some(rng) = &self.rng {
            layer = layer.rng(rng);
        }
        Ok(layer)
    }

    /// Of one route. It waits out what the circuit and the limits inside it refuse, also at the last of several attempts.
    pub(super) fn retry(&self, sink: &Sink) -> Result<RetryLayer, Invalid> {
        let mut layer = self.waits(sink)?;
        if self.max_retries != Some(0) && self.most_sends() > 1 {
            layer = layer.keep_last();
        }
        if let Some(retries) = self.max_retries {
            layer = layer.max_retries(retries);
        }
        if let Some(budget) = &self.budget {
            layer = layer.budget(budget);
        }
        Ok(layer)
    }

    /// Around all routes: waits for the one that opens first. Its budget is its own: what a round sends, routes have paid for.
    pub(super) fn next_rounds(&self, sink: &Sink) -> Result<RetryLayer, Invalid> {
        let layer = self.waits(sink)?.max_retries(self.rounds() - 1);
        Ok(if self.rounds() > 1 { layer.keep_last() } else { layer.patience(Duration::ZERO) })
    }

    fn waits(&self, sink: &Sink) -> Result<RetryLayer, Invalid> {
        let mut layer = RetryLayer::new().sink(sink.clone());
        if let Some(rng) = &self.rng {
            layer = layer.rng(rng);
        }
        if let Some(most) = self.max_wait {
            layer = layer.max_wait(most)?;
        }
        Ok(layer.schedule(self.delays()?))
    }

    /// The default delays give way to a shorter wait; delays that somebody chose were checked against it.
    fn delays(&self) -> Result<Backoff, Invalid> {
        let default = Backoff::default();
        match (self.backoff, self.max_wait) {
            (Some(backoff), _) => Ok(backoff),
            (None, Some(most)) => Backoff::new(default.base().min(most), default.cap().min(most)),
            (None, None) => Ok(default),
        }
    }

    /// The deadline of the call.
    pub(super) fn total(&self, sink: &Sink) -> Result<DeadlineLayer, Invalid> {
        let layer = self.deadline.map_or_else(|| Ok(DeadlineLayer::inherited()), DeadlineLayer::new)?;
        Ok(layer.sink(sink.clone()))
    }
}
