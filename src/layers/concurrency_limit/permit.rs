use crate::{Guard, Invalid};
use std::{
    sync::Arc,
    task::{Context as Cx, Poll},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::PollSemaphore;

/// The right to be under way. Given back when it is dropped.
#[derive(Debug)]
pub struct Permit(Option<OwnedSemaphorePermit>);

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
    pub(super) fn take(&self) -> Result<Permit, Line> {
        let Some(semaphore) = &self.0 else { return Ok(Permit(None)) };
        match Arc::clone(semaphore).try_acquire_owned() {
            Ok(permit) => Ok(Permit(Some(permit))),
            Err(_) => Err(Line(PollSemaphore::new(Arc::clone(semaphore)))),
        }
    }
}

/// A place in the line, from the first poll on. Given back when it is dropped.
#[derive(Debug)]
pub(super) struct Line(PollSemaphore);

impl Line {
    pub(super) fn poll_permit(&mut self, cx: &mut Cx<'_>) -> Poll<Permit> {
        // Always a permit, as nobody closes the semaphore.
        self.0.poll_acquire(cx).map(Permit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_are_taken_than_there_are() {
        let permits = Permits::new(2).unwrap();
        let taken = (permits.take().unwrap(), permits.take().unwrap());
        assert!(permits.take().is_err());
        drop(taken.0);
        assert!(permits.take().is_ok());
    }

    #[test]
    fn zero_is_refused_and_the_largest_number_is_not() {
        assert_eq!(Permits::new(0).unwrap_err().setting(), "concurrency_limit");
        assert!(Permits::new(usize::MAX).unwrap().take().is_ok_and(|permit| !permit.is_empty()));
        assert!(Permits::unlimited().take().is_ok_and(|permit| permit.is_empty()));
    }
}
