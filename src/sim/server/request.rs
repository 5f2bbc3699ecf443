//! Reads requests, of bounded size, whatever the bytes.
use bytes::{Buf, Bytes, BytesMut};
use std::io;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

pub(super) struct Request {
    pub(super) method: String,
    /// Without the query.
    pub(super) path: String,
    pub(super) headers: Vec<(String, Vec<u8>)>,
    pub(super) body: Bytes,
    /// Whether the client wants the connection closed after the answer.
    pub(super) close: bool,
}

pub(super) enum Read {
    Whole(Request),
    /// No request that could be read; the status says why.
    Bad(u16),
    /// The client left, between two requests or in the middle of one.
    Gone,
}

const MOST_HEAD: usize = 64 << 10;
const MOST_BODY: usize = 8 << 20;
const MOST_HEADERS: usize = 100;

/// Why no request came of the bytes.
enum Stopped {
    Bad(u16),
    Gone,
    Io(io::Error),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads one request; what follows it stays in the buffer.
pub(super) async fn read(stream: &mut TcpStream, buffer: &mut BytesMut) -> io::Result<Read> {
    let mut reader = Reader { stream, buffer };
    match reader.request().await {
        Ok(request) => Ok(Read::Whole(request)),
        Err(Stopped::Bad(status)) => Ok(Read::Bad(status)),
        Err(Stopped::Gone) => Ok(Read::Gone),
        Err(Stopped::Io(error)) => Err(error),
    }
}

struct Reader<'a> {
    stream: &'a mut TcpStream,
    buffer: &'a mut BytesMut,
}

enum Framing {
    Length(usize),
    Chunked,
}

impl Reader<'_> {
    async fn request(&mut self) -> Result<Request, Stopped> {
        let mut request = loop {
            if let Some((request, used)) = parse(self.buffer)? {
                self.buffer.advance(used);
                break request;
            }
            if self.buffer.len() > MOST_HEAD {
                return Err(Stopped::Bad(431));
            }
            self.more().await?;
        };
        let framing = request.framing()?;
        let awaited = !matches!(framing, Framing::Length(length) if length <= self.buffer.len());
        if awaited && request.header("expect").is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue")) {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        request.body = match framing {
            Framing::Length(length) => self.take(length).await?,
            Framing::Chunked => self.chunks().await?,
        };
        Ok(request)
    }

    async fn more(&mut self) -> Result<(), Stopped> {
        match self.stream.read_buf(&mut *self.buffer).await? {
            0 => Err(Stopped::Gone),
            _ => Ok(()),
        }
    }

    async fn take(&mut self, length: usize) -> Result<Bytes, Stopped> {
        while self.buffer.len() < length {
            self.more().await?;
        }
        Ok(self.buffer.split_to(length).freeze())
    }

    async fn chunks(&mut self) -> Result<Bytes, Stopped> {
        let mut body = Vec::new();
        loop {
            match self.chunk_size().await? {
                0 => break,
                size if body.len().saturating_add(size) > MOST_BODY => return Err(Stopped::Bad(413)),
                size => {
                    let chunk = self.take(size + 2).await?;
                    let Some(chunk) = chunk.strip_suffix(b"\r\n") else { return Err(Stopped::Bad(400)) };
                    body.extend_from_slice(chunk);
                }
            }
        }
        for _ in 0..MOST_HEADERS {
            if self.line().await?.is_empty() {
                return Ok(Bytes::from(body));
            }
        }
        Err(Stopped::Bad(431))
    }

    async fn chunk_size(&mut self) -> Result<usize, Stopped> {
        let line = self.line().await?;
        match httparse::parse_chunk_size(&[&line[..], b"\r\n"].concat()) {
            Ok(httparse::Status::Complete((_, size))) => usize::try_from(size).map_err(|_| Stopped::Bad(413)),
            _ => Err(Stopped::Bad(400)),
        }
    }

    /// A line without its end.
    async fn line(&mut self) -> Result<Bytes, Stopped> {
        const MOST_LINE: usize = 4 << 10;
        loop {
            if let Some(end) = self.buffer.iter().take(MOST_LINE).position(|byte| *byte == b'\n') {
                let mut line = self.buffer.split_to(end + 1).freeze();
                line.truncate(line.strip_suffix(b"\r\n").map_or(end, <[u8]>::len));
                return Ok(line);
            }
            if self.buffer.len() >= MOST_LINE {
                return Err(Stopped::Bad(400));
            }
            self.more().await?;
        }
    }
}

/// The head of a request and its length, once it is whole.
fn parse(buffer: &[u8]) -> Result<Option<(Request, usize)>, Stopped> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let used = match parsed.parse(buffer) {
        // One read may bring more than we would have waited for.
        Ok(httparse::Status::Complete(used)) if used > MOST_HEAD => return Err(Stopped::Bad(431)),
        Ok(httparse::Status::Complete(used)) => used,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Stopped::Bad(431)),
        Err(_) => return Err(Stopped::Bad(400)),
    };
    let path = parsed.path.and_then(|path| path.parse::<http::Uri>().ok()).ok_or(Stopped::Bad(400))?;
    let owned = |header: &httparse::Header<'_>| (header.name.to_ascii_lowercase(), header.value.to_vec());
    let mut request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: path.path().to_owned(),
        headers: parsed.headers.iter().map(owned).collect(),
        body: Bytes::new(),
        close: false,
    };
    request.close = parsed.version != Some(1)
        || request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case(b"close"));
    Ok(Some((request, used)))
}

impl Request {
    fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_slice())
    }

    fn framing(&self) -> Result<Framing, Stopped> {
        let lengths = self.headers.iter().filter(|(name, _)| name == "content-length").count();
        match (self.header("transfer-encoding"), self.header("content-length")) {
            (None, None) => Ok(Framing::Length(0)),
            (Some(coding), None) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Framing::Chunked),
            (None, Some(length)) if lengths == 1 => {
                let digits = Some(length).filter(|length| !length.is_empty() && length.iter().all(u8::is_ascii_digit));
                let length = digits.and_then(|digits| std::str::from_utf8(digits).ok()).ok_or(Stopped::Bad(400))?;
                // Digits that are too many for a number are too many for us.
                let length = length.parse().unwrap_or(usize::MAX);
                if length > MOST_BODY { Err(Stopped::Bad(413)) } else { Ok(Framing::Length(length)) }
            }
            // Both, two lengths, or a coding that nobody knows: where this request ends is anybody's guess.
            _ => Err(Stopped::Bad(400)),
        }
    }
}
