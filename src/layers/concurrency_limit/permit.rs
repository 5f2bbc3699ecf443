use crate::{
    Guard, Invalid, Sink, What,
    time::{self, Instant},
};
use std::{
    sync::Arc,
    task::{Context as Cx, Poll, ready},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::PollSemaphore;

/// The right to be under way. Given back when it is dropped.
#[derive(Debug)]
pub struct Permit(Option<Taken>);

#[derive(Debug)]
struct Taken {
    _permit: OwnedSemaphorePermit,
    sink: Option<Sink>,
}

impl Permit {
    fn taken(permit: OwnedSemaphorePermit, sink: Option<Sink>) -> Self {
        // First the guard, so that a listener that panics leaves no permit uncounted.
        let taken = Taken { _permit: permit, sink };
        tell(taken.sink.as_ref(), What::PermitTaken);
        Self(Some(taken))
    }
}

/// Told before it is free, so that nobody counts more than there are.
impl Drop for Taken {
    fn drop(&mut self) {
        tell(self.sink.as_ref(), What::PermitReturned);
    }
}

fn tell(sink: Option<&Sink>, what: What<'_>) {
    if let Some(sink) = sink {
        sink.emit(what);
    }
}

impl Guard for Permit {
    /// Without a limit there is nothing to give back.
    fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

/// The permits that there are; `None`: as many as anybody wants.
#[derive(Clone, Debug)]
pub(super) struct Permits(Option<Arc<Semaphore>>);

impl Permits {
    pub(super) fn new(most: usize) -> Result<Self, Invalid> {
        if most == 0 {
            let reason = "zero would let no call through; set at least 1, or take `unlimited()`";
            return Err(Invalid::new("concurrency_limit", reason));
        }
        Ok(Self(Some(Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))))))
    }

    pub(super) fn unlimited() -> Self {
        Self(None)
    }

    /// A permit, or the line for one. Nobody overtakes those who wait: a permit that comes free is theirs.
    pub(super) fn take(&self, sink: Option<&Sink>) -> Result<Permit, Line> {
        let Some(semaphore) = &self.0 else { return Ok(Permit(None)) };
        let sink = sink.cloned();
        match Arc::clone(semaphore).try_acquire_owned() {
            Ok(permit) => Ok(Permit::taken(permit, sink)),
            Err(_) => Err(Line { semaphore: PollSemaphore::new(Arc::clone(semaphore)), sink, since: None }),
        }
    }
}

/// A place in the line, from the first poll on. Given back when it is dropped.
#[derive(Debug)]
pub(super) struct Line {
    semaphore: PollSemaphore,
    sink: Option<Sink>,
    since: Option<Instant>,
}

impl Line {
    pub(super) fn poll_permit(&mut self, cx: &mut Cx<'_>) -> Poll<Permit> {
        let polled = self.semaphore.poll_acquire(cx);
        if polled.is_pending() && self.since.is_none() {
            self.since = Some(time::now());
            tell(self.sink.as_ref(), What::QueueEntered);
        }
        let permit = ready!(polled);
        self.leave();
        // Always a permit, as nobody closes the semaphore.
        Poll::Ready(permit.map_or(Permit(None), |permit| Permit::taken(permit, self.sink.take())))
    }

    fn leave(&mut self) {
        let Some(since) = self.since.take() else { return };
        tell(self.sink.as_ref(), What::QueueLeft { waited: time::now().saturating_duration_since(since) });
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_are_taken_than_there_are() {
        let permits = Permits::new(2).unwrap();
        let taken = (permits.take(None).unwrap(), permits.take(None).unwrap());
        assert!(permits.take(None).is_err());
        drop(taken.0);
        assert!(permits.take(None).is_ok());
    }

    #[test]
    fn zero_is_refused_and_the_largest_number_is_not() {
        assert_eq!(Permits::new(0).unwrap_err().setting(), "concurrency_limit");
        assert!(Permits::new(usize::MAX).unwrap().take(None).is_ok_and(|permit| !permit.is_empty()));
        assert!(Permits::unlimited().take(None).is_ok_and(|permit| permit.is_empty()));
    }
}
