use crate::{
    Error, Failover, Kind,
    time::{self, Instant},
};
use std::time::Duration;

/// What a call still may do.
///
/// It goes down by value, from layer to layer; what was spent comes back in the error. Three layers of retries inside
/// each other therefore share one count of sends, and no sleep ends past the deadline of the outermost.
///
/// ```
/// use seawall::Context;
/// use std::time::Duration;
///
/// let context = Context::default().with_timeout(Duration::from_secs(30)).with_sends_left(3);
/// assert_eq!(context.sends_left, 3);
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// When the call must be over; `None`: whenever.
    pub deadline: Option<Instant>,
    /// How many requests it may still send. Default 6: two routes with three attempts each.
    pub sends_left: u32,
    /// Whether another route that this call has not visited is open. After which failures it is asked, failover adds.
    pub others: bool,
    /// The longest wait that is worth more than a switch to another route. Default zero.
    pub wait_at_most: Duration,
    /// How long the head of a streamed answer may take, where a layer around the client cannot see it; `None`: as the client has it.
    pub first_byte: Option<Duration>,
    /// How long a streamed answer may be silent, where a layer around the client says so; `None`: as the client has it.
    pub idle: Option<Duration>,
    pub(crate) switches: Switches,
    /// A deadline of one attempt until its head, and what it stands in the place of: that of the whole call.
    pub(crate) of_attempt: Option<(Instant, Option<Instant>)>,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            deadline: None,
            sends_left: 6,
            others: false,
            wait_at_most: Duration::ZERO,
            first_byte: None,
            idle: None,
            switches: Switches::ALL,
            of_attempt: None,
        }
    }
}

impl Context {
    /// Ends the call at an instant of tokio's clock.
    #[must_use]
    pub fn with_deadline(self, deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..self }
    }

    /// Limits one attempt until its head, which does not move the end of the call.
    pub(crate) fn with_attempt_deadline(self, deadline: Instant) -> Self {
        Self { of_attempt: Some((deadline, self.call_deadline())), ..self.with_deadline(deadline) }
    }

    /// When the whole call must be over, an answer that comes in parts included.
    pub(crate) fn call_deadline(&self) -> Option<Instant> {
        match self.of_attempt {
            Some((of_attempt, of_call)) if self.deadline == Some(of_attempt) => of_call,
            _ => self.deadline,
        }
    }

    /// Ends the call so long from now.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        self.with_deadline(time::after(time::now(), timeout))
    }

    /// Caps the requests that the call may send.
    #[must_use]
    pub fn with_sends_left(self, sends_left: u32) -> Self {
        Self { sends_left, ..self }
    }

    /// Says whether another route is open.
    #[must_use]
    pub fn with_others(self, others: bool) -> Self {
        Self { others, ..self }
    }

    /// Whether another route is open, and would be asked after this failure.
    #[must_use]
    pub fn has_another_for(&self, error: &Error) -> bool {
        self.others && self.switches.after(error)
    }

    /// Prefers waits up to this long to a switch.
    #[must_use]
    pub fn with_wait_at_most(self, wait: Duration) -> Self {
        Self { wait_at_most: wait, ..self }
    }

    /// Limits the wait for the head of a streamed answer.
    #[must_use]
    pub fn with_first_byte(self, most: Duration) -> Self {
        Self { first_byte: Some(most), ..self }
    }

    /// Limits the silence between two signs of life of a streamed answer.
    #[must_use]
    pub fn with_idle(self, most: Duration) -> Self {
        Self { idle: Some(most), ..self }
    }

    /// How long until the deadline. Reads the clock only where there is one.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(time::now()))
    }
}

/// After which failures another route is asked: refusals of ours always, a rate limit and the rest where it was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Switches(u32);

impl Switches {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ALL: Self = Self(u32::MAX);

    /// With a rate limit, an overload that came as a 429.
    pub(crate) const fn with(self, kind: Kind) -> Self {
        Self(self.0 | 1 << kind as u32)
    }

    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn has(self, kind: Kind) -> bool {
        self.0 & (1 << kind as u32) != 0
    }

    pub(crate) fn after(self, error: &Error) -> bool {
        match error.failover() {
            Failover::Always => true,
            Failover::OnRateLimit => self.has(Kind::RateLimited),
            Failover::ByName => self.has(error.kind()),
            Failover::Never => false,
        }
    }
}

/// A request on its way through a stack, with what it still may do.
#[derive(Clone, Copy, Debug)]
pub struct Call<Req> {
    /// What the call still may do.
    pub context: Context,
    /// The request itself.
    pub request: Req,
}
