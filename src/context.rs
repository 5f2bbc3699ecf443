use crate::time::{self, Instant};
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
    /// Whether another route that this call has not visited is open.
    pub others: bool,
    /// The longest wait that is worth more than a switch to another route. Default zero.
    pub wait_at_most: Duration,
}

impl Default for Context {
    fn default() -> Self {
        Self { deadline: None, sends_left: 6, others: false, wait_at_most: Duration::ZERO }
    }
}

impl Context {
    /// Ends the call at an instant of tokio's clock.
    #[must_use]
    pub fn with_deadline(self, deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..self }
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

    /// Prefers waits up to this long to a switch.
    #[must_use]
    pub fn with_wait_at_most(self, wait: Duration) -> Self {
        Self { wait_at_most: wait, ..self }
    }

    /// How long until the deadline. Reads the clock only where there is one.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(time::now()))
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
