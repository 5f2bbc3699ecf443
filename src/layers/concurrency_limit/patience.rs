use crate::{Context, Error, Kind, Scope, time, time::Instant};

/// Until when a call waits for its turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    deadline: Option<Instant>,
    /// When another route becomes the better way on.
    switch: Option<Instant>,
}

impl Patience {
    pub(super) fn of(context: Option<&Context>, now: Instant) -> Self {
        let beside = context.filter(|context| context.others);
        Self {
            deadline: context.and_then(|context| context.deadline),
            switch: beside.map(|context| time::after(now, context.wait_at_most)),
        }
    }

    /// When the wait ends; `None`: never.
    pub(super) fn until(self) -> Option<Instant> {
        self.deadline.into_iter().chain(self.switch).min()
    }

    pub(super) fn is_over(self, now: Instant) -> bool {
        self.until().is_some_and(|until| until <= now)
    }

    /// Whether nobody waits for the answer any more.
    pub(super) fn is_too_late(self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// What is said when the wait is over. It names no wait: nobody knows when an answer ends.
    pub(super) fn refusal(self, now: Instant) -> Error {
        let kind = if self.is_too_late(now) { Kind::Deadline } else { Kind::LocalLimit };
        Error::refusal(kind).with_scope(Scope::Concurrency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn beside(wait: u64) -> Context {
        Context::default().with_others(true).with_wait_at_most(seconds(wait))
    }

    #[test]
    fn a_call_waits_until_its_deadline_or_until_a_switch_is_better() {
        let now = time::now();
        let due = |context: Context| context.with_deadline(now + seconds(9));
        let told = |context: Context| {
            let patience = Patience::of(Some(&context), now);
            patience.until().map(|until| (until - now, patience.refusal(until).kind()))
        };
        let alone = Context::default().with_wait_at_most(seconds(1));
        assert_eq!((told(alone), Patience::of(None, now).until()), (None, None));
        assert_eq!(told(due(alone)), Some((seconds(9), Kind::Deadline)));
        assert_eq!(told(beside(2)), Some((seconds(2), Kind::LocalLimit)));
        assert_eq!(told(due(beside(2))), Some((seconds(2), Kind::LocalLimit)));
        assert_eq!(told(due(beside(9))), Some((seconds(9), Kind::Deadline)), "then no other route helps");
        assert!(told(beside(u64::MAX)).is_some(), "farther than the clock goes");
    }

    #[test]
    fn a_wait_of_zero_is_over_at_once() {
        let now = time::now();
        let over = |context: Context| Patience::of(Some(&context), now).is_over(now);
        assert!(over(beside(0)) && over(Context::default().with_deadline(now)));
        assert!(!over(Context::default()) && !over(beside(1)));
    }

    #[test]
    fn what_came_late_but_before_the_deadline_is_not_too_late() {
        let now = time::now();
        let patience = Patience::of(Some(&beside(1).with_deadline(now + seconds(9))), now);
        assert!(patience.is_over(now + seconds(8)) && !patience.is_too_late(now + seconds(8)));
        assert!(patience.is_too_late(now + seconds(9)));
    }
}
