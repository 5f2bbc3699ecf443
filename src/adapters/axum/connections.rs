//! Connections of clients, each in a task of its own.
use crate::time;
use ::axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto::Builder, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use std::{
    future::{Future, poll_fn},
    io::{self, IoSlice},
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context as Cx, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// How long a head may take to come, and a connection may be idle.
const HEAD: Duration = Duration::from_secs(60);
/// With so many bytes it is known which HTTP a client speaks. Until then no timer of hyper's runs.
const PREFACE: usize = 24;

/// What serves them, and what ends them.
pub(super) struct Connections {
    router: Router,
    builder: Builder<TokioExecutor>,
    graceful: GracefulShutdown,
}

impl Connections {
    pub(super) fn new(router: Router) -> Self {
        let mut builder = Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD);
        builder.http2().timer(TokioTimer::new());
        Self { router, builder, graceful: GracefulShutdown::new() }
    }

    /// Serves one until it is over, or its client hangs up.
    pub(super) fn serve(&self, stream: TcpStream) {
        // Without it events wait for each other; a connection that refuses is as good as gone.
        let _ = stream.set_nodelay(true);
        let (watched, builder) = (Watched::new(stream), self.builder.clone());
        let (io, service) = (TokioIo::new(watched.clone()), TowerToHyperService::new(self.router.clone()));
        let watcher = self.graceful.watcher();
        tokio::spawn(async move {
            let connection = builder.serve_connection_with_upgrades(io, service).into_owned();
            let (mut served, mut late) = (pin!(watcher.watch(connection)), pin!(time::sleep(HEAD)));
            let mut is_begun = false;
            poll_fn(|cx| {
                // What went wrong with it, its client knows.
                if served.as_mut().poll(cx).is_ready() || watched.poll_gone(cx).is_ready() {
                    return Poll::Ready(());
                }
                is_begun = is_begun || watched.seen() >= PREFACE;
                if is_begun { Poll::Pending } else { late.as_mut().poll(cx) }
            })
            .await;
        });
    }

    /// Resolves when all have come to their end, idle ones at once.
    pub(super) async fn end(self) {
        self.graceful.shutdown().await;
    }
}

/// A stream that can be looked at while hyper does not read from it: as long as it keeps bytes behind a request, such as a stray line
/// end, it waits for nothing but its answer, and would not know that its client is gone.
#[derive(Clone)]
struct Watched(Arc<Mutex<Stream>>);

struct Stream {
    stream: TcpStream,
    seen: usize,
}

impl Watched {
    fn new(stream: TcpStream) -> Self {
        Self(Arc::new(Mutex::new(Stream { stream, seen: 0 })))
    }

    fn lock(&self) -> MutexGuard<'_, Stream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many bytes have come.
    fn seen(&self) -> usize {
        self.lock().seen
    }

    /// Whether nothing more can come. To be asked when hyper has read what it wanted, in its place.
    fn poll_gone(&self, cx: &mut Cx<'_>) -> Poll<()> {
        let mut byte = [0];
        match ready!(self.lock().stream.poll_peek(cx, &mut ReadBuf::new(&mut byte))) {
            Ok(0) | Err(_) => Poll::Ready(()),
            Ok(_) => Poll::Pending,
        }
    }
}

impl AsyncRead for Watched {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Cx<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let (mut lock, before) = (self.lock(), buf.filled().len());
        let read = Pin::new(&mut lock.stream).poll_read(cx, buf);
        lock.seen = lock.seen.saturating_add(buf.filled().len() - before);
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.lock().stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(self: Pin<&mut Self>, cx: &mut Cx<'_>, bufs: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.lock().stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.lock().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.lock().stream).poll_shutdown(cx)
    }
}
