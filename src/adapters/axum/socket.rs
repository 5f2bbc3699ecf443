//! A socket that can be watched while it is served.
use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context as Cx, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

/// Both halves, of which others look at the one that is read.
pub(super) struct Socket {
    read: Arc<OwnedReadHalf>,
    write: OwnedWriteHalf,
}

impl Socket {
    pub(super) fn new(read: Arc<OwnedReadHalf>, write: OwnedWriteHalf) -> Self {
        Self { read, write }
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Cx<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let stream: &TcpStream = (*self.read).as_ref();
        loop {
            ready!(stream.poll_read_ready(cx))?;
            match stream.try_read_buf(buf) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read.map(drop)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Cx<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.write).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Cx<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.write).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.write.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.write).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.write).poll_shutdown(cx)
    }
}

/// Resolves when the peer has closed its side, even while there are bytes before that which nobody reads: hyper looks no further than
/// a request that waits behind the one that is answered.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) async fn closed(read: &OwnedReadHalf) {
    // Out-of-band data is not asked for at all, so that only the end is left of what this waits for; unread bytes do not wake it.
    while let Ok(ready) = read.ready(tokio::io::Interest::PRIORITY).await {
        if ready.is_read_closed() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// The same, unless more is unread than hyper takes beforehand: that is looked at again and again, and hides the end.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) async fn closed(read: &OwnedReadHalf) {
    let stream: &TcpStream = read.as_ref();
    while let Ok(1..) = stream.peek(&mut [0]).await {
        crate::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}
