use super::{Error, Kind};
use std::{borrow::Cow, sync::Arc, time::Duration};

/// How many attempts a trail keeps one by one; its count of sends goes on beyond.
const KEPT: usize = 64;

/// The failed attempts of a call, oldest first. An empty one costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    attempts: Vec<Attempt>,
    sends: u32,
    waited: Duration,
}

/// One failed attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    kind: Kind,
    sends: u32,
    status: Option<u16>,
    provider: Option<Cow<'static, str>>,
    route: Option<Arc<str>>,
    waited: Duration,
}

impl Attempt {
    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How often it was sent: 1, or 0 for a refusal of ours.
    #[must_use]
    pub fn sends(&self) -> u32 {
        self.sends
    }

    /// The status that decided, where there was one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// The name of who was asked, where the client gave one.
    #[must_use]
    pub fn provider_name(&self) -> Option<&str> {
        self.provider.as_deref()
    }

    /// The name of the route that was asked, in a stack or a failover; its number, where it was given none.
    #[must_use]
    pub fn route(&self) -> Option<&str> {
        self.route.as_deref()
    }

    /// How long the call waited after it.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.waited
    }
}

impl Trail {
    /// Of an answer that can keep one, and has none.
    pub(crate) const NONE: &'static Self = &Self { attempts: Vec::new(), sends: 0, waited: Duration::ZERO };

    /// The attempts, oldest first; of a very long trail the first 64.
    #[must_use]
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// Every request sent for them, exact however long the trail.
    #[must_use]
    pub fn sends(&self) -> u32 {
        self.sends
    }

    /// Whether nothing failed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.attempts.is_empty()
    }

    /// How long the call waited after them, together, exact however long the trail.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// Adds a failed attempt, with the trail that it brings, and the wait that follows it.
    pub fn push(&mut self, mut error: Error, waited: Duration) {
        self.append(std::mem::take(&mut error.0.trail));
        let (kind, sends, status) = (error.kind(), error.0.sends, error.status());
        let (provider, route) = (error.0.provider.take(), error.0.route.take());
        self.append(Self { attempts: vec![Attempt { kind, sends, status, provider, route, waited }], sends, waited });
    }

    /// Puts `earlier` in front: an outer layer tells its trail after an inner one did, but lived through it before.
    pub fn prepend(&mut self, mut earlier: Self) {
        earlier.append(std::mem::take(self));
        *self = earlier;
    }

    /// Names the route of the attempts that do not know theirs.
    pub(crate) fn name(&mut self, route: &Arc<str>) {
        for attempt in &mut self.attempts {
            attempt.route.get_or_insert_with(|| Arc::clone(route));
        }
    }

    fn append(&mut self, mut later: Self) {
        self.sends = self.sends.saturating_add(later.sends);
        self.waited = self.waited.saturating_add(later.waited);
        match self.attempts.is_empty() {
            true => self.attempts = later.attempts,
            false => self.attempts.append(&mut later.attempts),
        }
        self.attempts.truncate(KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trail_stays_bounded_and_keeps_count() {
        let mut trail = Trail::default();
        for _ in 0..1000 {
            trail.push(Error::provider(Kind::Server), Duration::from_secs(1));
        }
        assert_eq!((trail.attempts().len(), trail.sends(), trail.waited()), (KEPT, 1000, Duration::from_secs(1000)));
    }

    #[test]
    fn an_outer_trail_goes_in_front() {
        let trail = |kind| {
            let mut trail = Trail::default();
            trail.push(Error::provider(kind), Duration::ZERO);
            trail
        };
        let error = Error::provider(Kind::Timeout).after(trail(Kind::Server)).after(trail(Kind::Overloaded));
        let kinds: Vec<_> = error.trail().attempts().iter().map(Attempt::kind).collect();
        assert_eq!((kinds, error.sends()), (vec![Kind::Overloaded, Kind::Server], 3));
    }
}
