use crate::{serve::Drain, time};
use ::axum::Router;
use std::{
    future::{Future, IntoFuture, poll_fn},
    io,
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};
use tokio::{net::TcpListener, sync::oneshot};

/// How long an end may take behind that of the answers: they were told, and only a client that does not read is left.
const LAST: Duration = Duration::from_secs(2);

/// Serves a router, and ends it gracefully: see [`Serving::until`].
pub fn serve(listener: TcpListener, router: Router) -> Serving {
    Serving { listener, router, drain: Drain::new(), grace: Duration::from_secs(30) }
}

/// A router about to be served.
#[derive(Debug)]
#[must_use = "it serves where `until` is awaited"]
pub struct Serving {
    listener: TcpListener,
    router: Router,
    drain: Drain,
    grace: Duration,
}

impl Serving {
    /// Sets what ends answers that are still under way when the time is over: give it to the endpoints too.
    pub fn drain(self, drain: &Drain) -> Self {
        Self { drain: drain.clone(), ..self }
    }

    /// Sets how long answers may go on when the server is to stop. Default 30 s, as long as most orchestrators wait before they kill.
    pub fn grace(self, time: Duration) -> Self {
        Self { grace: time, ..self }
    }

    /// Serves until `stop` resolves. Then no connection is taken any more, idle ones are closed, and answers go on for the
    /// [time of grace](Self::grace); those that are not over by then are told so, a stream by its protocol's error event and a call by a
    /// 503. Two seconds later it is over in any case.
    ///
    /// # Errors
    /// Those of the listener.
    ///
    /// # Cancel safety
    /// Dropping it stops taking connections; those that are open go on with the runtime.
    pub async fn until(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let Self { listener, router, drain, grace } = self;
        let (tell, told) = oneshot::channel::<()>();
        let server = ::axum::serve(listener, router).with_graceful_shutdown(async { drop(told.await) });
        let mut server = pin!(server.into_future());
        if let Some(over) = first(server.as_mut(), stop).await {
            return over;
        }
        drop(tell);
        if let Some(over) = first(server.as_mut(), time::sleep(grace)).await {
            return over;
        }
        drain.end();
        first(server.as_mut(), time::sleep(LAST)).await.unwrap_or(Ok(()))
    }
}

/// What the server gives, if it ends before the other.
async fn first<T>(mut server: Pin<&mut impl Future<Output = T>>, other: impl Future<Output = ()>) -> Option<T> {
    let mut other = pin!(other);
    poll_fn(|cx| match server.as_mut().poll(cx) {
        Poll::Ready(over) => Poll::Ready(Some(over)),
        Poll::Pending => other.as_mut().poll(cx).map(|()| None),
    })
    .await
}
