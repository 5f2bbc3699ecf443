use crate::{Error, Guard, Kind, Phase, Seen, Sink, layers::timeout::timer::Timer};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    task::{Context as Cx, Poll, ready},
    time::Duration,
};

pin_project! {
    /// Ends an answer that stays silent for too long; rides in its body or stream.
    #[derive(Debug)]
    pub struct Idle {
        #[pin]
        timer: Timer,
    }
}

impl Idle {
    pub(super) fn new(limit: Duration, sink: Option<Sink>) -> Self {
        Self { timer: Timer::after(Phase::Idle, limit, sink) }
    }
}

impl Guard for Idle {
    fn poll_expired(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Error> {
        let mut this = self.project();
        ready!(this.timer.as_mut().poll(cx));
        this.timer.tell();
        Poll::Ready(Error::provider(Kind::Timeout).with_phase(Phase::Idle))
    }

    fn progress(self: Pin<&mut Self>, _: Seen) {
        self.project().timer.restart();
    }
}
