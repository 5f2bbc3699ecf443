//! Which route is asked next.
use super::Routes;
use std::time::Duration;

/// The routes that a call may still ask.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Left {
    visited: u64,
    only_larger: bool,
    none: bool,
}

impl Left {
    pub(super) fn visit(&mut self, index: usize) {
        self.visited |= 1 << index;
    }

    /// The route asked now is the last.
    pub(super) fn end(&mut self) {
        self.none = true;
    }

    /// The prompt is too long for all but those marked for it.
    pub(super) fn only_larger(self) -> Self {
        Self { only_larger: true, ..self }
    }

    /// In their order.
    pub(super) fn of<R: Routes>(self, routes: &R) -> impl Iterator<Item = usize> {
        let count = if self.none { 0 } else { routes.count() };
        (0..count).filter(move |&index| {
            self.visited & (1 << index) == 0 && (!self.only_larger || routes.facts(index).is_larger())
        })
    }
}

/// The route to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) index: usize,
    /// How long its gate is closed, and with it every other.
    pub(super) closed: Option<Duration>,
    /// When the first of the others opens, if all are closed.
    pub(super) others: Option<Duration>,
}

impl Choice {
    /// The first open route, or else the one that opens first: its own refusal names the reason, and its retry may wait.
    pub(super) fn among(routes: impl Iterator<Item = (usize, Option<Duration>)>) -> Option<Self> {
        let mut best: Option<(usize, Duration)> = None;
        let mut others: Option<Duration> = None;
        for (index, closed) in routes {
            let Some(wait) = closed else { return Some(Self { index, closed: None, others: None }) };
            let later = match best {
                Some((_, least)) if wait >= least => Some(wait),
                _ => best.replace((index, wait)).map(|(_, least)| least),
            };
            others = later.into_iter().chain(others).min();
        }
        best.map(|(index, wait)| Self { index, closed: Some(wait), others })
    }

    /// Whether a hand keeps it closed, and every other route that is left.
    pub(super) fn is_forced(&self) -> bool {
        self.closed == Some(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(closed: &[Option<u64>]) -> Option<Choice> {
        let waits = closed.iter().map(|wait| wait.map(Duration::from_secs));
        Choice::among(waits.enumerate())
    }

    fn is(index: usize, closed: Option<u64>, others: Option<u64>) -> Option<Choice> {
        let [closed, others] = [closed, others].map(|wait| wait.map(Duration::from_secs));
        Some(Choice { index, closed, others })
    }

    #[test]
    fn the_first_open_route_is_asked_or_else_the_one_that_opens_first() {
        assert_eq!(choice(&[]), None);
        assert_eq!(choice(&[None, None]), is(0, None, None));
        assert_eq!(choice(&[Some(1), None, Some(0)]), is(1, None, None));
        assert_eq!(choice(&[Some(7)]), is(0, Some(7), None));
        assert_eq!(choice(&[Some(7), Some(3), Some(3), Some(5)]), is(1, Some(3), Some(3)));
        assert_eq!(choice(&[Some(3), Some(7), Some(5)]), is(0, Some(3), Some(5)));
        assert_eq!(choice(&[Some(7), Some(5), Some(3)]), is(2, Some(3), Some(5)));
    }

    #[test]
    fn nobody_looks_at_routes_behind_an_open_one() {
        let waits = [Some(Duration::ZERO), None].into_iter().chain(std::iter::from_fn(|| panic!("looked")));
        assert_eq!(Choice::among(waits.enumerate()), is(1, None, None));
    }
}
