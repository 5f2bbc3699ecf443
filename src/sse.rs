//! Server-sent events, framed on bytes.
//!
//! The parser takes bytes as the network cut them, anywhere, and gives whole frames: text is decoded only when a frame is
//! whole, so that no character is ever split. It holds at most one frame, up to a limit, and reuses its buffers.
//!
//! ```
//! use seawall::sse::{Frame, Parser};
//!
//! let mut parser = Parser::new(1024);
//! parser.push(b": ping\r\nevent: delta\r\nda");
//! assert_eq!(parser.next(), Some(Ok(Frame::Comment(b"ping"))));
//! assert_eq!(parser.next(), None);
//! parser.push(b"ta: {}\r\n\r\n");
//! assert_eq!(parser.next(), Some(Ok(Frame::Event { name: Some("delta"), data: b"{}" })));
//! ```
//!
//! The rules are those of the HTML standard, section 9.2.6, but for two: an event that the end of the stream cuts short
//! of its blank line is given, since many providers leave that line out, and `id` and `retry` are passed over.
use std::{fmt, ops::Range};

/// A frame of a stream, borrowed from the parser until the next one is asked for.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// An event: the name it was given, and its data lines joined by line feeds.
    Event {
        /// The `event` field; `None` where there was none.
        name: Option<&'a str>,
        /// The `data` fields, not yet decoded.
        data: &'a [u8],
    },
    /// A comment: a sign of life.
    Comment(&'a [u8]),
}

/// A line or an event is longer than the limit. Nothing comes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    limit: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a server-sent event is longer than {} bytes", self.limit)
    }
}

impl std::error::Error for TooLong {}

/// Cuts bytes into [`Frame`]s. `Debug` shows none of them: they are somebody's answer.
pub struct Parser {
    limit: usize,
    buffer: Vec<u8>,
    /// Where the unread bytes begin, and up to where they hold no line end.
    start: usize,
    scanned: usize,
    data: Vec<u8>,
    name: String,
    state: State,
    /// The last line ended with a carriage return, so that a line feed still belongs to it.
    after_return: bool,
    finished: bool,
    /// Each line is an event.
    lines: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// Before the first byte, where a byte order mark may stand.
    Fresh,
    /// Between events, or in one that has no data yet.
    Open,
    /// In an event that has data.
    Data,
    /// The event in the buffers was given out.
    Given,
    /// Something was too long.
    Broken,
}

/// What a line completes.
enum Whole {
    Event,
    Comment(Range<usize>),
}

impl Parser {
    /// A parser that gives up on lines and events longer than `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            data: Vec::new(),
            name: String::new(),
            state: State::Fresh,
            after_return: false,
            finished: false,
            lines: false,
        }
    }

    /// A parser of JSON lines (NDJSON): each line that is not blank is an event without a name.
    #[must_use]
    pub fn lines(limit: usize) -> Self {
        Self { lines: true, ..Self::new(limit) }
    }

    /// Takes the next bytes. Ask for frames until there are none before pushing more, so that little is held.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.state == State::Broken {
            return;
        }
        // Moved only when at least as much was read as is moved, which keeps the whole linear.
        if self.start >= self.buffer.len() - self.start {
            self.buffer.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Says that no more bytes come: the frames left then include an event without its blank line.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// The next whole frame; `None` until more bytes are pushed.
    ///
    /// # Errors
    /// [`TooLong`], once: the limit was passed, and the rest of the stream is lost.
    #[allow(clippy::should_implement_trait)] // its frames borrow from it, which an iterator's cannot
    pub fn next(&mut self) -> Option<Result<Frame<'_>, TooLong>> {
        match self.advance()? {
            Ok(Whole::Comment(text)) => Some(Ok(Frame::Comment(&self.buffer[text]))),
            Ok(Whole::Event) => {
                let name = (!self.name.is_empty()).then_some(self.name.as_str());
                Some(Ok(Frame::Event { name, data: &self.data }))
            }
            Err(error) => Some(Err(error)),
        }
    }

    fn advance(&mut self) -> Option<Result<Whole, TooLong>> {
        if self.state == State::Broken || !self.began() {
            return None;
        }
        if self.state == State::Given {
            self.clear();
        }
        loop {
            let line = match self.line() {
                Some(line) => line,
                None if self.buffer.len() - self.start > self.limit => return Some(Err(self.broken())),
                None if self.finished && self.state == State::Data => return Some(Ok(self.given())),
                None => return None,
            };
            if line.len() + self.data.len() > self.limit {
                return Some(Err(self.broken()));
            }
            match self.take(line) {
                Some(whole) => return Some(Ok(whole)),
                None => continue,
            }
        }
    }

    /// Skips a byte order mark; false while more bytes must tell.
    fn began(&mut self) -> bool {
        const MARK: &[u8] = "\u{feff}".as_bytes();
        if self.state == State::Fresh {
            if self.buffer.len() < MARK.len() && MARK.starts_with(&self.buffer) && !self.finished {
                return false;
            }
            if self.buffer.starts_with(MARK) {
                self.start = MARK.len();
                self.scanned = self.start;
            }
            self.state = State::Open;
        }
        true
    }

    /// The next line without its end; with the end of the stream, also one that has none.
    fn line(&mut self) -> Option<Range<usize>> {
        if self.after_return && self.start < self.buffer.len() {
            self.after_return = false;
            if self.buffer[self.start] == b'\n' {
                self.start += 1;
                self.scanned = self.scanned.max(self.start);
            }
        }
        let rest = &self.buffer[self.scanned..];
        match rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            Some(at) => {
                let line = self.start..self.scanned + at;
                self.after_return = rest[at] == b'\r';
                self.start = line.end + 1;
                self.scanned = self.start;
                Some(line)
            }
            None => {
                let line = self.start..self.buffer.len();
                self.scanned = line.end;
                let last = self.finished && !line.is_empty();
                last.then(|| {
                    self.start = line.end;
                    line
                })
            }
        }
    }

    /// Reads a line into the event that is being collected.
    fn take(&mut self, line: Range<usize>) -> Option<Whole> {
        let text = &self.buffer[line.clone()];
        if self.lines {
            self.data.extend_from_slice(text);
            return (!text.trim_ascii().is_empty()).then(|| self.given());
        }
        if text.is_empty() {
            return match self.state {
                State::Data => Some(self.given()),
                _ => {
                    self.clear();
                    None
                }
            };
        }
        let colon = text.iter().position(|byte| *byte == b':');
        let (field, value) = text.split_at(colon.unwrap_or(text.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"" => return Some(Whole::Comment(line.end - value.len()..line.end)),
            b"data" => {
                if self.state == State::Data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.state = State::Data;
            }
            b"event" => {
                self.name.clear();
                self.name.push_str(&String::from_utf8_lossy(value));
            }
            _ => {}
        }
        None
    }

    fn given(&mut self) -> Whole {
        self.state = State::Given;
        Whole::Event
    }

    fn clear(&mut self) {
        self.state = State::Open;
        self.data.clear();
        self.name.clear();
    }

    fn broken(&mut self) -> TooLong {
        *self = Self { state: State::Broken, lines: self.lines, ..Self::new(self.limit) };
        TooLong { limit: self.limit }
    }
}

impl fmt::Debug for Parser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = self.buffer.len() - self.start + self.data.len();
        f.debug_struct("Parser").field("limit", &self.limit).field("held", &held).finish_non_exhaustive()
    }
}
