use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Ends what is still being answered when a server stops: each call with a failure in its caller's words, in place of a connection that
/// just closes. Clones are one.
///
/// ```
/// use seawall::serve::Drain;
///
/// let drain = Drain::new();
/// // `Endpoint::new(…).drain(&drain)`; then, once the time for a graceful end is over:
/// drain.end();
/// assert!(drain.has_ended());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Drain(CancellationToken);

impl Drain {
    /// Nothing has ended.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends what is being answered, and what is asked from now on, with a 503 or the protocol's own error event.
    pub fn end(&self) {
        self.0.cancel();
    }

    /// Whether it was told to end.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.0.is_cancelled()
    }

    pub(crate) fn ended(&self) -> WaitForCancellationFutureOwned {
        self.0.clone().cancelled_owned()
    }

    /// What the future gives, unless this ends first.
    pub(crate) async fn or_ended<T>(drain: Option<&Self>, future: impl Future<Output = T>) -> Option<T> {
        let Some(drain) = drain else { return Some(future.await) };
        if drain.has_ended() {
            return None;
        }
        let (mut future, mut ended) = (pin!(future), pin!(drain.ended()));
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Pending => ended.as_mut().poll(cx).map(|()| None),
            Poll::Ready(output) => Poll::Ready(Some(output)),
        })
        .await
    }
}
