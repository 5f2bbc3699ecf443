//! HTTP/1.1 by hand, so that a caller may leave in the middle of anything, and sees what stands behind an answer.
use std::{io, net::SocketAddr};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    framing: Framing,
}

enum Framing {
    Length(usize),
    /// What is left of the chunk; `None` where its size is next.
    Chunked(Option<usize>),
    Over,
}

pub struct Head {
    pub status: u16,
    pub headers: Vec<(String, String)>,
}

impl Head {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

fn bad(what: impl Into<String>) -> io::Error {
    io::Error::other(what.into())
}

impl Connection {
    /// With a window of a few packets where a slow reader is to be felt.
    pub async fn open(address: SocketAddr, is_narrow: bool) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        if is_narrow {
            socket.set_recv_buffer_size(4096)?;
        }
        let stream = socket.connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::new(), framing: Framing::Over })
    }

    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    async fn read(&mut self) -> io::Result<()> {
        let mut piece = [0; 4096];
        match self.stream.read(&mut piece).await? {
            0 => Err(bad("it was closed in the middle")),
            read => {
                self.buffer.extend_from_slice(&piece[..read]);
                Ok(())
            }
        }
    }

    /// What stands before this, with it.
    async fn until(&mut self, end: &[u8]) -> io::Result<String> {
        loop {
            if let Some(at) = self.buffer.windows(end.len()).position(|window| window == end) {
                let text = self.buffer.drain(..at + end.len()).collect();
                return String::from_utf8(text).map_err(|_| bad("a head that is no text"));
            }
            self.read().await?;
        }
    }

    pub async fn head(&mut self) -> io::Result<Head> {
        let text = self.until(b"\r\n\r\n").await?;
        let mut lines = text.trim_end().split("\r\n");
        let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok());
        let status = status.ok_or_else(|| bad(format!("no status: {text}")))?;
        let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        let head = Head { status, headers: lines.filter_map(header).collect() };
        self.framing = match (head.get("transfer-encoding"), head.get("content-length")) {
            (Some("chunked"), None) => Framing::Chunked(None),
            (None, Some(length)) => Framing::Length(length.parse().map_err(|_| bad("a length"))?),
            _ => return Err(bad(format!("framed by neither or both: {text}"))),
        };
        Ok(head)
    }

    /// More of the body; nothing at its own end.
    pub async fn more(&mut self) -> io::Result<Option<Vec<u8>>> {
        let left = match self.framing {
            Framing::Over => return Ok(None),
            Framing::Length(left) | Framing::Chunked(Some(left)) => left,
            Framing::Chunked(None) => {
                let line = self.until(b"\r\n").await?;
                usize::from_str_radix(line.trim_end(), 16).map_err(|_| bad(format!("a chunk's size: {line}")))?
            }
        };
        if left == 0 {
            if matches!(self.framing, Framing::Chunked(_)) && self.until(b"\r\n").await? != "\r\n" {
                return Err(bad("no end behind the last chunk"));
            }
            self.framing = Framing::Over;
            return Ok(None);
        }
        if self.buffer.is_empty() {
            self.read().await?;
        }
        let piece: Vec<_> = self.buffer.drain(..left.min(self.buffer.len())).collect();
        let left = left - piece.len();
        self.framing = match self.framing {
            Framing::Length(_) => Framing::Length(left),
            _ if left > 0 => Framing::Chunked(Some(left)),
            _ => {
                if self.until(b"\r\n").await? != "\r\n" {
                    return Err(bad("a chunk is longer than it says"));
                }
                Framing::Chunked(None)
            }
        };
        Ok(Some(piece))
    }

    /// Whether nothing has come behind the answer.
    pub fn is_at_rest(&self) -> bool {
        let is_open = match self.stream.try_read(&mut [0; 1]) {
            Ok(0) => true, // closed, which is its right
            Ok(_) => false,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        };
        self.buffer.is_empty() && is_open
    }

    /// What comes until it is closed.
    pub async fn rest(mut self) -> io::Result<Vec<u8>> {
        self.stream.read_to_end(&mut self.buffer).await?;
        Ok(self.buffer)
    }
}
