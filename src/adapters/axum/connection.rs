//! One connection, from its first byte to its last.
use super::socket::{Socket, closed};
use crate::time;
use ::axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use std::{future::Future, pin::pin, sync::Arc, time::Duration};
use tokio::{
    io::AsyncReadExt,
    net::{TcpStream, tcp::OwnedReadHalf},
    sync::watch::Receiver,
};

/// What every connection of HTTP/2 begins with.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How often a peer of HTTP/2 is asked whether it is there.
const PING: Duration = Duration::from_secs(30);

/// How long a client may write what nobody reads any more, and be silent meanwhile: nginx has the same.
const LINGER: Duration = Duration::from_secs(30);
const LINGER_SILENT: Duration = Duration::from_secs(5);

/// How far the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Serving,
    /// No new requests.
    Stopping,
    Over,
}

/// What serves each connection.
#[derive(Clone)]
pub(super) struct Server {
    router: Router,
    http: Arc<Builder<TokioExecutor>>,
    header_read_timeout: Duration,
}

impl Server {
    pub(super) fn new(router: Router, header_read_timeout: Duration) -> Self {
        let mut http = Builder::new(TokioExecutor::new());
        http.http1().timer(TokioTimer::new()).header_read_timeout(header_read_timeout);
        // `enable_connect_protocol`: WebSockets, as `axum::serve` has them.
        http.http2().timer(TokioTimer::new()).keep_alive_interval(PING).enable_connect_protocol();
        // With its state the router makes its routes ready once, rather than at each request.
        Self { router: router.with_state(()), http: Arc::new(http), header_read_timeout }
    }

    pub(super) async fn connection(self, stream: TcpStream, phase: Receiver<Phase>) {
        tokio::select! {
            () = self.serve(stream, reached(phase.clone(), Phase::Stopping)) => {}
            () = reached(phase, Phase::Over) => {}
        }
    }

    async fn serve(self, stream: TcpStream, stopping: impl Future<Output = ()>) {
        let mut stopping = pin!(stopping);
        // Events must not wait for others to fill a packet. Without it they do, and come all the same.
        let _ = stream.set_nodelay(true);
        tokio::select! {
            biased;
            () = begun(&stream) => {}
            () = time::sleep(self.header_read_timeout) => return,
            () = stopping.as_mut() => return,
        }
        let (read, write) = stream.into_split();
        let read = Arc::new(read);
        let mut is_stopping = false;
        {
            let socket = TokioIo::new(Socket::new(Arc::clone(&read), write));
            let router = TowerToHyperService::new(self.router);
            let mut http = pin!(self.http.serve_connection_with_upgrades(socket, router));
            let mut closed = pin!(closed(&read));
            loop {
                tokio::select! {
                    biased;
                    _ = http.as_mut() => break,
                    () = closed.as_mut() => return,
                    () = stopping.as_mut(), if !is_stopping => {
                        is_stopping = true;
                        http.as_mut().graceful_shutdown();
                    }
                }
            }
        }
        // Another has it where it became one of another protocol.
        if let (Some(read), false) = (Arc::into_inner(read), is_stopping) {
            tokio::select! {
                () = linger(read) => {}
                () = time::sleep(LINGER) => {}
                () = stopping => {}
            }
        }
    }
}

/// Resolves when the server is so far. One that was dropped has stopped, and is never over.
async fn reached(mut phase: Receiver<Phase>, wanted: Phase) {
    if phase.wait_for(|phase| *phase >= wanted).await.is_err() && wanted == Phase::Over {
        std::future::pending().await
    }
}

/// Resolves when it can be told which version of HTTP it is: hyper waits for that without a limit.
async fn begun(stream: &TcpStream) {
    let mut first = [0; PREFACE.len()];
    while let Ok(count @ 1..) = stream.peek(&mut first).await {
        if count == PREFACE.len() || first[..count] != PREFACE[..count] {
            break;
        }
        // Nothing tells that there is more than was looked at, and hardly any client gives less.
        time::sleep(Duration::from_millis(10)).await;
    }
}

/// Reads on behind an answer that came before the end of its request, and throws it away. To close at once would be a reset, on which
/// the client may lose the answer.
async fn linger(mut read: OwnedReadHalf) {
    let mut scrap = vec![0; 16 * 1024];
    loop {
        tokio::select! {
            count = read.read(&mut scrap) => if !matches!(count, Ok(1..)) { return },
            () = time::sleep(LINGER_SILENT) => return,
        }
    }
}
