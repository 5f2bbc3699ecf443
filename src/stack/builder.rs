use super::{Leaf, Paved, Stack};
use crate::{
    Bare, Context, Http, InCall, Invalid, Rng, Sink,
    retry::{Backoff, Budget, RetryLayer},
    timeout::{AttemptTimeoutLayer, DeadlineLayer},
};
use std::time::Duration;
use tower::Layer;

/// Builds a [`Stack`]. What is not set has the default of its layer.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct Builder<S, H = Bare> {
    service: S,
    shape: H,
    settings: Settings,
}

#[derive(Clone, Debug, Default)]
struct Settings {
    deadline: Option<Duration>,
    sends: Option<u32>,
    max_retries: Option<u32>,
    backoff: Option<Backoff>,
    max_wait: Option<Duration>,
    budget: Option<Budget>,
    rng: Option<Rng>,
    first_byte: Option<Duration>,
    whole: Option<Duration>,
    idle: Option<Duration>,
    sink: Option<Sink>,
}

impl<S, H> Builder<S, H> {
    pub(super) fn new(service: S, shape: H) -> Self {
        Self { service, shape, settings: Settings::default() }
    }

    /// Gives a call so long in all, with its retries and waits. Default: no limit but that of a request's own context.
    pub fn deadline(mut self, total: Duration) -> Self {
        self.settings.deadline = Some(total);
        self
    }

    /// Caps the requests that one call may send, nested stacks and retries included, whatever context it comes with.
    /// Default: what its context says, which is 6 where nobody said otherwise.
    pub fn sends(mut self, most: u32) -> Self {
        self.settings.sends = Some(most);
        self
    }

    /// Sets how often a failed attempt is followed by another. Default 2.
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.settings.max_retries = Some(retries);
        self
    }

    /// Sets the longest wait that is sat out, told or scheduled; a longer one ends the call at once. Default 60 s.
    pub fn max_wait(mut self, most: Duration) -> Self {
        self.settings.max_wait = Some(most);
        self
    }

    /// Sets the delays between attempts that nobody told to wait. Default: a random part of 1 s, then of 2 s, up to 60 s.
    ///
    /// Another [`Schedule`](crate::retry::Schedule) goes into a [`RetryLayer`] of your own, in a plain `ServiceBuilder`.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.settings.backoff = Some(backoff);
        self
    }

    /// Shares a retry budget with other stacks that ask the same provider. Default: one of its own.
    pub fn budget(mut self, budget: &Budget) -> Self {
        self.settings.budget = Some(budget.clone());
        self
    }

    /// Seeds all chance, so that a run can be replayed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.rng = Some(Rng::seeded(seed));
        self
    }

    /// Limits the wait for a whole reply. Default 600 s: nothing comes before the last word is written.
    pub fn whole(mut self, most: Duration) -> Self {
        self.settings.whole = Some(most);
        self
    }

    /// Tells every layer's events to `sink`, in place of an earlier one.
    pub fn sink(mut self, sink: Sink) -> Self {
        self.settings.sink = Some(sink);
        self
    }
}

impl<S> Builder<S, Http> {
    /// Limits the wait for the head of a stream. Default 60 s.
    pub fn first_byte(mut self, most: Duration) -> Self {
        self.settings.first_byte = Some(most);
        self
    }

    /// Limits the silence between two parts of a body. Default 60 s.
    pub fn idle(mut self, most: Duration) -> Self {
        self.settings.idle = Some(most);
        self
    }
}

impl<S, H: Clone> Builder<S, H> {
    /// Builds the stack.
    ///
    /// # Errors
    /// A setting that makes no sense, such as a limit of zero, or that cannot take effect beside another one, such as
    /// more retries than sends.
    pub fn build(self) -> Result<Stack<Paved<S, H>, H>, Invalid> {
        let Self { service, shape, settings } = self;
        settings.check()?;
        let in_call = InCall(shape.clone());
        let service = settings.timeout()?.shape(in_call.clone()).layer(Leaf::new(service, shape.clone()));
        let route = Paved(settings.retry()?.shape(in_call.clone()).layer(service));
        let inner = settings.total()?.shape(in_call).layer(route);
        let context = settings.sends.map_or_else(Context::default, |sends| Context::default().with_sends_left(sends));
        Ok(Stack::new(inner, shape, context, settings.sends.unwrap_or(u32::MAX)))
    }
}

impl Settings {
    fn check(&self) -> Result<(), Invalid> {
        let sends = self.sends.unwrap_or_else(|| Context::default().sends_left);
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
            let idle = [
                ("backoff", self.backoff.is_some()),
                ("budget", self.budget.is_some()),
                ("max_wait", self.max_wait.is_some()),
            ];
            if let Some((setting, _)) = idle.into_iter().find(|(_, set)| *set) {
                let other = if sends == 1 { "sends(1)" } else { "max_retries(0)" };
                return Err(Invalid::new(setting, format!("has no effect with `{other}`; drop one of the two")));
            }
        }
        let max_wait = self.max_wait.unwrap_or(RetryLayer::MAX_WAIT);
        if self.backoff.is_some_and(|backoff| backoff.cap() > max_wait) {
            let reason = format!("delays over {max_wait:?} would end the call; lower the cap, or raise `max_wait`");
            return Err(Invalid::new("backoff", reason));
        }
        self.check_limits()
    }

    /// A limit of one attempt that the whole call cannot reach was meant otherwise.
    fn check_limits(&self) -> Result<(), Invalid> {
        let Some(deadline) = self.deadline else { return Ok(()) };
        let heads = [("first_byte", self.first_byte), ("whole", self.whole)];
        match heads.into_iter().find(|(_, limit)| limit.is_some_and(|limit| limit >= deadline)) {
            Some((setting, _)) => {
                let reason = format!("has no effect under a deadline of {deadline:?}; set it shorter, or leave it out");
                Err(Invalid::new(setting, reason))
            }
            None => Ok(()),
        }
    }

    fn timeout(&self) -> Result<AttemptTimeoutLayer, Invalid> {
        let mut layer = AttemptTimeoutLayer::new();
        if let Some(most) = self.first_byte {
            layer = layer.first_byte(most)?;
        }
        if let Some(most) = self.whole {
            layer = layer.whole(most)?;
        }
        if let Some(most) = self.idle {
            layer = layer.idle(most)?;
        }
        Ok(match &self.sink {
            Some(sink) => layer.sink(sink.clone()),
            None => layer,
        })
    }

    fn retry(&self) -> Result<RetryLayer, Invalid> {
        let mut layer = RetryLayer::new();
        if let Some(retries) = self.max_retries {
            layer = layer.max_retries(retries);
        }
        if let Some(budget) = &self.budget {
            layer = layer.budget(budget);
        }
        if let Some(rng) = &self.rng {
            layer = layer.rng(rng);
        }
        if let Some(most) = self.max_wait {
            layer = layer.max_wait(most)?;
        }
        layer = layer.schedule(self.delays()?);
        Ok(match &self.sink {
            Some(sink) => layer.sink(sink.clone()),
            None => layer,
        })
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

    fn total(&self) -> Result<DeadlineLayer, Invalid> {
        let layer = self.deadline.map_or_else(|| Ok(DeadlineLayer::inherited()), DeadlineLayer::new)?;
        Ok(match &self.sink {
            Some(sink) => layer.sink(sink.clone()),
            None => layer,
        })
    }
}
