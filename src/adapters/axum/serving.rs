use super::connections::Connections;
use crate::{serve::Drain, time};
use ::axum::Router;
use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    io,
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};
use tokio::net::TcpListener;

/// How long nothing is accepted where it failed for want of something, such as file descriptors: until some are given back.
const BREATH: Duration = Duration::from_millis(100);

/// How long an end may take behind that of the answers: they were told, and only a client that does not read is left.
const LAST: Duration = Duration::from_secs(2);

/// Serves a router over HTTP/1.1 and HTTP/2, and ends it gracefully: see [`Serving::until`].
///
/// A client that hangs up ends its call, whatever it sent before. Each event of a stream leaves at once (`TCP_NODELAY`). A connection
/// that brings no whole head of a request within 60 s is closed, also an idle one: as long as most clients keep one.
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
    /// None at present: where a connection cannot be accepted, say for want of file descriptors, that is tried again.
    ///
    /// # Cancel safety
    /// Dropping it stops taking connections; those that are open go on with the runtime.
    pub async fn until(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let Self { listener, router, drain, grace } = self;
        let connections = Connections::new(router);
        let _ = first(pin!(accept(&listener, &connections)), stop).await;
        drop(listener);
        let mut ended = pin!(connections.end());
        if first(ended.as_mut(), time::sleep(grace)).await.is_none() {
            drain.end();
            first(ended.as_mut(), time::sleep(LAST)).await;
        }
        Ok(())
    }
}

async fn accept(listener: &TcpListener, connections: &Connections) -> Infallible {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => connections.serve(stream),
            Err(error) if is_of_one(&error) => {}
            Err(_) => time::sleep(BREATH).await,
        }
    }
}

/// Whether it is about a connection that was gone before it was taken.
fn is_of_one(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// What the future gives, if it ends before the other.
async fn first<T>(mut future: Pin<&mut impl Future<Output = T>>, other: impl Future<Output = ()>) -> Option<T> {
    let mut other = pin!(other);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(over) => Poll::Ready(Some(over)),
        Poll::Pending => other.as_mut().poll(cx).map(|()| None),
    })
    .await
}
