use super::connection::{Phase, Server};
use crate::{Invalid, serve::Drain, time};
use ::axum::Router;
use std::{future::Future, io, pin::pin, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// How long an end may take behind that of the answers: they were told, and only a client that does not read is left.
const LAST: Duration = Duration::from_secs(2);

/// Between two looks for a connection where there was none to be had: out of descriptors, most likely, until some are given back.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves a router over HTTP/1.1 and HTTP/2, and ends it gracefully: see [`Serving::until`].
///
/// A client that hangs up ends its call, whatever it sent before. Each event of a stream leaves at once (`TCP_NODELAY`).
pub fn serve(listener: TcpListener, router: Router) -> Serving {
    let header_read_timeout = Duration::from_secs(60);
    Serving { listener, router, drain: Drain::new(), grace: Duration::from_secs(30), header_read_timeout }
}

/// A router about to be served.
#[derive(Debug)]
#[must_use = "it serves where `until` is awaited"]
pub struct Serving {
    listener: TcpListener,
    router: Router,
    drain: Drain,
    grace: Duration,
    header_read_timeout: Duration,
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

    /// Sets in what time the head of a request must be there, counted from the start of the connection or from the end of the answer
    /// before it: so long may a connection of HTTP/1 be idle too. Then it is closed. Default 60 s, as long as most clients keep one.
    /// A connection of HTTP/2 may be idle for as long as its client answers the pings, one in 30 s.
    ///
    /// # Errors
    /// Refuses zero.
    pub fn header_read_timeout(self, time: Duration) -> Result<Self, Invalid> {
        if time.is_zero() {
            return Err(Invalid::new("header_read_timeout", "zero would close every connection; set a longer time"));
        }
        Ok(Self { header_read_timeout: time, ..self })
    }

    /// Serves until `stop` resolves. Then no connection is taken any more, idle ones are closed, and answers go on for the
    /// [time of grace](Self::grace); those that are not over by then are told so, a stream by its protocol's error event and a call by a
    /// 503. Two seconds later it is over in any case: connections that are left are closed.
    ///
    /// # Errors
    /// Of a listener that listens no more. A lack of descriptors is waited out.
    ///
    /// # Cancel safety
    /// Dropping it stops taking connections, and closes idle ones; answers under way go on with the runtime.
    pub async fn until(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let Self { listener, router, drain, grace, header_read_timeout } = self;
        let server = Server::new(router, header_read_timeout);
        let (phase, _) = watch::channel(Phase::Serving);
        let mut stop = pin!(stop);
        loop {
            let stream = tokio::select! {
                stream = accept(&listener) => stream?,
                () = stop.as_mut() => break,
            };
            tokio::spawn(server.clone().connection(stream, phase.subscribe()));
        }
        drop(listener);
        phase.send_replace(Phase::Stopping);
        let mut done = pin!(phase.closed());
        tokio::select! {
            () = done.as_mut() => return Ok(()),
            () = time::sleep(grace) => drain.end(),
        }
        tokio::select! {
            () = done.as_mut() => {}
            () = time::sleep(LAST) => drop(phase.send_replace(Phase::Over)),
        }
        Ok(())
    }
}

async fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, InvalidInput};
    loop {
        let error = match listener.accept().await {
            Ok((stream, _)) => return Ok(stream),
            Err(error) => error,
        };
        match error.kind() {
            // It was gone before it was taken.
            ConnectionAborted | ConnectionRefused | ConnectionReset => {}
            InvalidInput => return Err(error),
            _ => time::sleep(PAUSE).await,
        }
    }
}
