use super::{
    request::{self, Read, Request},
    wire,
};
use crate::{
    sim::{
        End,
        api::Api,
        body::FILLER,
        core::{Arrival, Core, Ticket},
        step::{Head, Piece, Step, Steps, Stop},
    },
    time,
};
use bytes::{Bytes, BytesMut};
use std::{future::pending, io, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Serves one request after the other; what was sent ahead waits its turn.
pub(super) async fn serve(stream: TcpStream, core: Arc<Core>) {
    let _ = stream.set_nodelay(true);
    let mut connection = Connection { stream, buffer: BytesMut::new() };
    loop {
        let request = match request::read(&mut connection.stream, &mut connection.buffer).await {
            Ok(Read::Whole(request)) => request,
            Ok(Read::Bad(status)) => return connection.refuse(&core, status).await,
            Ok(Read::Gone) | Err(_) => return,
        };
        let mut answer = Answer { connection: &mut connection, half: 0, chunked: false, request };
        match answer.give(&core).await {
            Next::Request => {}
            Next::Close => return connection.close().await,
            Next::Reset => return connection.reset(),
            Next::Gone => return,
        }
    }
}

struct Connection {
    stream: TcpStream,
    /// Read, but not yet used.
    buffer: BytesMut,
}

/// What a connection does after an answer.
enum Next {
    Request,
    Close,
    Reset,
    Gone,
}

/// A client that keeps sending while it waits is read no further than this.
const MOST_AHEAD: usize = 64 << 10;

/// How long a closed connection is read on, and how much.
const LINGER: (Duration, usize) = (Duration::from_millis(500), 32 << 20);

impl Connection {
    /// Waits, `None` for ever, unless the client leaves.
    async fn wait(&mut self, wait: Option<Duration>) -> io::Result<()> {
        let over = async {
            match wait {
                Some(wait) => time::sleep(wait).await,
                None => pending().await,
            }
        };
        tokio::pin!(over);
        loop {
            tokio::select! {
                biased;
                () = &mut over => return Ok(()),
                read = self.stream.read_buf(&mut self.buffer), if self.buffer.len() < MOST_AHEAD => {
                    if read? == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
            }
        }
    }

    async fn refuse(mut self, core: &Arc<Core>, status: u16) {
        let mut ticket = core.unreadable(status);
        let reply = Api::OpenAi.says(status, "invalid_request_error", None, "The request could not be read.");
        let head = Head { status, headers: reply.headers, filler: 0, length: Some(reply.body.len() as u64) };
        let bytes = [wire::head(&head, true).0, b"\r\n\r\n".to_vec(), reply.body.to_vec()].concat();
        if self.stream.write_all(&bytes).await.is_ok() {
            ticket.sent(&Piece::from(reply.body));
        }
        ticket.end(End::Unreadable);
        self.close().await;
    }

    /// Closes in good order. With unread bytes the kernel would send a reset, which may overtake the answer.
    async fn close(mut self) {
        let drain = async {
            self.stream.shutdown().await?;
            let mut left = LINGER.1;
            while left > 0 {
                self.buffer.clear();
                match self.stream.read_buf(&mut self.buffer).await? {
                    0 => break,
                    read => left = left.saturating_sub(read),
                }
            }
            io::Result::Ok(())
        };
        tokio::select! {
            _ = drain => {}
            () = time::sleep(LINGER.0) => {}
        }
    }

    fn reset(self) {
        // Deprecated for waits that block when dropped, which zero does not; `set_zero_linger` wants tokio 1.50.
        #[allow(deprecated)]
        let _ = self.stream.set_linger(Some(Duration::ZERO));
    }
}

/// One answer on its way out.
struct Answer<'a> {
    connection: &'a mut Connection,
    /// How much of the head is out, where it goes out in two parts.
    half: usize,
    chunked: bool,
    request: Request,
}

impl Answer<'_> {
    async fn give(&mut self, core: &Arc<Core>) -> Next {
        let body = std::mem::take(&mut self.request.body);
        let (mut ticket, steps) = {
            let headers = self.request.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
            let (method, path) = (self.request.method.as_str(), self.request.path.as_str());
            core.arrive(Arrival { method, path, headers, body: &body }, End::Shutdown)
        };
        drop(body);
        self.play(&mut ticket, steps).await.unwrap_or_else(|_| {
            ticket.end(End::HungUp);
            Next::Gone
        })
    }

    async fn play(&mut self, ticket: &mut Ticket, steps: Steps) -> io::Result<Next> {
        for step in steps {
            match step {
                Step::Wait(wait) => self.connection.wait(Some(wait)).await?,
                Step::HalfHead(head) => self.half_head(&head).await?,
                Step::Head(head) => {
                    ticket.head(head.status);
                    self.head(&head).await?;
                }
                Step::Piece(piece) => self.piece(ticket, &piece).await?,
                Step::Filler(bytes) => self.filler(ticket, bytes).await?,
                // It comes as waits and pieces.
                Step::Idle { .. } => {}
                Step::End => break,
                Step::Stop(Stop::Silence) => self.connection.wait(None).await?,
                Step::Stop(stop) => {
                    ticket.end(End::Broken);
                    return Ok(if stop == Stop::Reset { Next::Reset } else { Next::Close });
                }
                Step::Nonsense => {
                    self.write(wire::NONSENSE).await?;
                    ticket.end(End::Broken);
                    return Ok(Next::Close);
                }
            }
        }
        if self.chunked {
            self.write(wire::LAST_CHUNK).await?;
        }
        ticket.end(End::Answered);
        Ok(if self.request.close { Next::Close } else { Next::Request })
    }

    async fn half_head(&mut self, head: &Head) -> io::Result<()> {
        let (bytes, _) = wire::head(head, self.request.close);
        self.half = bytes.len() / 2;
        self.write(&bytes[..self.half]).await
    }

    async fn head(&mut self, head: &Head) -> io::Result<()> {
        self.chunked = head.length.is_none();
        let (bytes, filler) = wire::head(head, self.request.close);
        self.write(bytes.get(self.half..).unwrap_or_default()).await?;
        let mut left = filler as usize;
        while left > 0 {
            let now = left.min(FILLER.len());
            self.write(&FILLER[..now]).await?;
            left -= now;
        }
        self.write(b"\r\n\r\n").await
    }

    async fn filler(&mut self, ticket: &mut Ticket, bytes: u64) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            let now = left.min(FILLER.len() as u64);
            self.piece(ticket, &Bytes::from_static(&FILLER[..now as usize]).into()).await?;
            left -= now;
        }
        Ok(())
    }

    async fn piece(&mut self, ticket: &mut Ticket, piece: &Piece) -> io::Result<()> {
        match self.chunked {
            true => self.write(&wire::chunk(&piece.bytes)).await?,
            false => self.write(&piece.bytes).await?,
        }
        ticket.sent(piece);
        Ok(())
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.connection.stream.write_all(bytes).await
    }
}
