use crate::{
    Invalid, Phase, Sink, What,
    time::{self, Instant, Sleep},
};
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    task::{Context as Cx, Poll},
    time::Duration,
};

/// A limit that ends attempts or calls, and so is never zero.
pub(super) fn limit(setting: &'static str, limit: Duration) -> Result<Duration, Invalid> {
    match limit.is_zero() {
        true => Err(Invalid::new(setting, "zero would end everything before it began; set a longer time")),
        false => Ok(limit),
    }
}

pin_project! {
    /// A timer that is not made before somebody has to wait.
    #[derive(Debug)]
    pub(super) struct Timer {
        #[pin]
        sleep: Option<Sleep>,
        phase: Phase,
        limit: Duration,
        deadline: Option<Instant>,
        restart: bool,
        sink: Option<Sink>,
    }
}

impl Timer {
    /// Ends so long after somebody first waits.
    pub(super) fn after(phase: Phase, limit: Duration, sink: Option<Sink>) -> Self {
        Self { sleep: None, phase, limit, deadline: None, restart: false, sink }
    }

    /// Ends with the call, which has `left` until then.
    pub(super) fn at(deadline: Instant, left: Duration, sink: Option<Sink>) -> Self {
        Self { sleep: None, phase: Phase::Total, limit: left, deadline: Some(deadline), restart: false, sink }
    }

    /// Ends never, and costs nothing.
    pub(super) fn never() -> Self {
        Self::after(Phase::Total, Duration::MAX, None)
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// Gives the next wait the full limit. Costs nothing: the clock is read when somebody waits.
    pub(super) fn restart(self: Pin<&mut Self>) {
        *self.project().restart = true;
    }

    /// Whether the deadline has passed, by the clock.
    pub(super) fn is_past(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= time::now())
    }

    /// Ready when the time is over.
    ///
    /// Two timers of the same deadline, one inside the other, fire one after the other, and the task may run in between.
    /// So a deadline is over when the clock says so, whether or not its timer has fired: the inner one comes first.
    pub(super) fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<()> {
        if self.deadline.is_none() && self.limit == Duration::MAX {
            return Poll::Pending;
        }
        let past = self.is_past();
        let mut this = self.as_mut().project();
        let end = || this.deadline.unwrap_or_else(|| time::after(time::now(), *this.limit));
        match this.sleep.as_mut().as_pin_mut() {
            None => this.sleep.set(Some(time::sleep_until(end()))),
            Some(sleep) if *this.restart => sleep.reset(end()),
            Some(_) => {}
        }
        *this.restart = false;
        let fired = this.sleep.as_pin_mut().is_some_and(|sleep| sleep.poll(cx).is_ready());
        if fired || past { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Tells whoever listens that the time is over.
    pub(super) fn tell(&self) {
        if let Some(sink) = &self.sink {
            sink.emit(What::TimedOut { phase: self.phase, limit: self.limit });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{future::poll_fn, pin::pin};

    #[tokio::test(start_paused = true)]
    async fn a_deadline_is_over_by_the_clock_before_its_timer_has_fired() {
        let minute = Duration::from_secs(60);
        let mut timer = pin!(Timer::at(time::after(time::now(), minute), minute, None));
        assert!(poll_fn(|cx| Poll::Ready(timer.as_mut().poll(cx))).await.is_pending());
        tokio::time::advance(minute).await;
        poll_fn(|cx| {
            // A task that has run for long gets no more answers from tokio's timers: like one that has not fired.
            while tokio::task::coop::poll_proceed(cx).map(|progress| progress.made_progress()).is_ready() {}
            assert!(timer.as_mut().poll(cx).is_ready());
            Poll::Ready(())
        })
        .await;
    }

    #[test]
    fn zero_is_no_limit() {
        assert_eq!(limit("idle", Duration::ZERO).unwrap_err().setting(), "idle");
        assert_eq!(limit("idle", Duration::MAX), Ok(Duration::MAX));
    }
}
