use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use seawall::{Error, classify::Classifier};

/// One answer as it came off the wire.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) stream: bool,
}

impl Answer {
    /// Reads what `curl -i` printed: of several heads (100, a proxy's, redirects) the last one counts.
    pub(crate) fn from_curl(mut rest: &[u8]) -> Result<Self, String> {
        loop {
            let (status, headers, body) = head(rest)?;
            let more = status.is_informational() || body.starts_with(b"HTTP/") && head(body).is_ok();
            if more && !body.is_empty() {
                rest = body;
                continue;
            }
            let stream = is_stream(&headers);
            return Ok(Self { status, headers, body: body.to_vec(), stream });
        }
    }

    /// `None`: nothing is wrong with it.
    pub(crate) fn classify(&self, classifier: &Classifier) -> Option<Error> {
        match self.status.is_success() {
            true if self.stream => classifier.stream(&self.headers, &self.body),
            true => classifier.success(&self.headers, &self.body),
            false => Some(classifier.answer(self.status, &self.headers, &self.body)),
        }
    }
}

type Head<'a> = (StatusCode, HeaderMap, &'a [u8]);

fn head(bytes: &[u8]) -> Result<Head<'_>, String> {
    let (first, mut rest) = line(bytes);
    let status = status(first).ok_or("expected a line such as `HTTP/2 429` first: print the answer with `curl -i`")?;
    let mut headers = HeaderMap::new();
    loop {
        let (text, next) = line(rest);
        rest = next;
        if text.is_empty() {
            return Ok((status, headers, rest));
        }
        let colon = text.iter().position(|&byte| byte == b':').unwrap_or(text.len());
        let (name, value) = (&text[..colon], text.get(colon + 1..).unwrap_or_default());
        insert(&mut headers, name, value);
    }
}

/// Leaves out what no header can be, as a damaged answer may hold anything.
pub(crate) fn insert(headers: &mut HeaderMap, name: &[u8], value: &[u8]) {
    if let (Ok(name), Ok(value)) =
        (HeaderName::from_bytes(name.trim_ascii()), HeaderValue::from_bytes(value.trim_ascii()))
    {
        let _ = headers.try_append(name, value);
    }
}

fn status(line: &[u8]) -> Option<StatusCode> {
    let mut words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    words.next().filter(|word| word.starts_with(b"HTTP/"))?;
    StatusCode::from_bytes(words.next()?).ok()
}

fn line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
    let text = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
    (text, bytes.get(end + 1..).unwrap_or_default())
}

pub(crate) fn is_stream(headers: &HeaderMap) -> bool {
    const STREAMS: [&str; 3] = ["text/event-stream", "ndjson", "vnd.amazon.eventstream"];
    let kind = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    STREAMS.iter().any(|stream| kind.to_ascii_lowercase().contains(stream))
}
