use crate::{Context, Error, Invalid, Kind, context::Switches};
use std::{fmt, time::Duration};

/// Long enough for a queue to move, and short beside an answer.
const READY_WITHIN: Duration = Duration::from_secs(1);

/// A kind of failure that another route may be asked after, by name.
///
/// What would fail there too, or hide a mistake (a bad key, a malformed request, your own credit), has no name here:
/// ```compile_fail,E0599
/// let on = seawall::failover::On::Auth;
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum On {
    /// [`Kind::Overloaded`]; one that came as a 429 switches with [`Policy::on_429`].
    Overloaded,
    /// [`Kind::Server`].
    Server,
    /// [`Kind::Timeout`]: the provider may have done the work already, and bill it.
    Timeout,
    /// [`Kind::Transport`]: likewise, but where the connection itself failed.
    Transport,
    /// [`Kind::QuotaExhausted`]: another account pays, and nobody notices that this one is empty but by events.
    QuotaExhausted,
}

impl On {
    /// Every kind that can be named.
    pub const ALL: &[Self] = &[Self::Overloaded, Self::Server, Self::Timeout, Self::Transport, Self::QuotaExhausted];

    /// The kind that it names.
    #[must_use]
    pub const fn kind(self) -> Kind {
        match self {
            Self::Overloaded => Kind::Overloaded,
            Self::Server => Kind::Server,
            Self::Timeout => Kind::Timeout,
            Self::Transport => Kind::Transport,
            Self::QuotaExhausted => Kind::QuotaExhausted,
        }
    }
}

/// For configuration.
impl TryFrom<Kind> for On {
    type Error = Invalid;

    fn try_from(kind: Kind) -> Result<Self, Invalid> {
        if let Some(&on) = Self::ALL.iter().find(|on| on.kind() == kind) {
            return Ok(on);
        }
        let why = match kind {
            Kind::RateLimited => "it is asked for with `on_429`",
            Kind::ContextLength => "it goes to the routes marked `larger`, and to no other",
            Kind::CircuitOpen | Kind::CoolingDown | Kind::LocalLimit => "refusals of ours always switch; leave it out",
            _ => "it would fail on every route, or a switch would hide a mistake; leave it out",
        };
        Err(Invalid::new("on", format!("{}: {why}", kind.as_str())))
    }
}

/// Which failures another route may be asked after, and how long a route may take to be ready.
///
/// By default only refusals of ours switch: nothing was sent for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Policy {
    switches: Switches,
    ready_within: Duration,
    wait_at_most: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self { switches: Switches::NONE, ready_within: READY_WITHIN, wait_at_most: Duration::ZERO }
    }
}

impl Policy {
    /// After a rate limit, and an overload that came as a 429.
    pub fn on_429(self) -> Self {
        Self { switches: self.switches.with(Kind::RateLimited), ..self }
    }

    /// After these kinds too.
    pub fn on(self, kinds: impl IntoIterator<Item = On>) -> Self {
        let switches = kinds.into_iter().fold(self.switches, |switches, on| switches.with(on.kind()));
        Self { switches, ..self }
    }

    /// After what speaks against the provider's health: [`On::Overloaded`], [`On::Server`], [`On::Timeout`] and
    /// [`On::Transport`].
    pub fn on_failure(self) -> Self {
        self.on([On::Overloaded, On::Server, On::Timeout, On::Transport])
    }

    /// Sets how long a route may take to be ready before it is passed by. Default 1 s.
    ///
    /// # Errors
    /// Refuses zero: many a service is ready a moment after it was asked.
    pub fn ready_within(self, limit: Duration) -> Result<Self, Invalid> {
        if limit.is_zero() {
            return Err(Invalid::new(
                "ready_within",
                "zero passes by every route that takes a moment; set a longer time",
            ));
        }
        Ok(Self { ready_within: limit, ..self })
    }

    /// Sets the longest wait of a route that is better than a switch. Default zero, or what the call's own context says.
    pub fn wait_at_most(self, wait: Duration) -> Self {
        Self { wait_at_most: wait, ..self }
    }

    /// Whether another route may be asked after this failure. For a context overflow, see [`larger`](super::Route::larger).
    #[must_use]
    pub fn switches(&self, error: &Error) -> bool {
        self.switches.after(error)
    }

    /// Whether some failure of what was sent switches.
    pub(crate) fn switches_at_all(&self) -> bool {
        self.switches != Switches::NONE
    }

    /// What a call inside a route is told of the others.
    pub(super) fn tell(&self, context: Context, another: bool) -> Context {
        let (others, switches) = match (context.others, another) {
            (false, _) => (another, self.switches),
            (true, false) => (true, context.switches),
            (true, true) => (true, context.switches.or(self.switches)),
        };
        Context { others, switches, wait_at_most: self.patience(context.wait_at_most), ..context }
    }

    pub(super) fn limit(&self) -> Duration {
        self.ready_within
    }

    /// The patience of a call that comes with its own: whoever grants more.
    pub(crate) fn patience(&self, own: Duration) -> Duration {
        own.max(self.wait_at_most)
    }
}

/// What it switches after: `on 429, server`.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on_429 = self.switches.has(Kind::RateLimited).then_some("429");
        let named = On::ALL.iter().filter(|on| self.switches.has(on.kind())).map(|on| on.kind().as_str());
        let kinds: Vec<_> = on_429.into_iter().chain(named).collect();
        match &*kinds {
            [] => f.write_str("on refusals of ours"),
            kinds => write!(f, "on {}", kinds.join(", ")),
        }
    }
}
