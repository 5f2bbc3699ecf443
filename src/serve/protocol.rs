use super::Failure;
use crate::{
    Error,
    chat::{Answer, Item, Request},
};
use bytes::{Bytes, BytesMut};

/// How clients of yours speak: what their requests and our answers look like on the wire. The other side of a
/// [`Dialect`](crate::provider::Dialect).
pub trait Protocol: Clone + Send + Sync + 'static {
    /// The form of the wire. What a provider of the same [`protocol`](crate::provider::Dialect::protocol) sent is handed on as it came.
    fn name(&self) -> &'static str;

    /// The request in a body, which is JSON if it is anything.
    ///
    /// # Errors
    /// [`InvalidRequest`](crate::Kind::InvalidRequest), or [`UnsupportedParameter`](crate::Kind::UnsupportedParameter) for what nobody
    /// here can do, with a [message](Error::message) that says which field, what is wrong and what to change.
    fn decode(&self, body: &Bytes) -> Result<Request, Error>;

    /// A whole answer as JSON.
    fn encode(&self, request: &Request, answer: &Answer) -> Bytes;

    /// A failure as JSON.
    fn failure(&self, failure: &Failure) -> Bytes;

    /// Writes one streamed answer.
    type Scribe: Scribe;

    /// For the streamed answer to this request.
    fn scribe(&self, request: &Request) -> Self::Scribe;
}

/// Writes one streamed answer, event after event. Each call adds whole events to `out`, or nothing.
pub trait Scribe: Send + 'static {
    /// What an item says.
    fn item(&mut self, item: &Item, out: &mut BytesMut);

    /// An event of a provider that speaks the same, as it came. What it means is not told with [`item`](Self::item) then: a stream is
    /// handed on as it came from its first item to its last, or not at all.
    fn received(&mut self, name: Option<&str>, data: &Bytes, out: &mut BytesMut);

    /// What an event means that is handed on as it came, and is not to be written again: the usage, say.
    fn aside(&mut self, item: &Item) {
        let _ = item;
    }

    /// A sign of life from a provider that lets its caller wait.
    fn alive(&mut self, out: &mut BytesMut);

    /// The protocol's own ending, where it was not [received](Self::received): what is open is closed first.
    fn end(&mut self, out: &mut BytesMut);

    /// The failure that ends the stream in place of its ending.
    fn failure(&mut self, failure: &Failure, out: &mut BytesMut);
}

/// Adds an event of these fields. A line feed in the data begins another line, as it must.
pub fn event(name: Option<&str>, data: &[u8], out: &mut BytesMut) {
    if let Some(name) = name {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\n");
    }
    for line in data.split(|byte| *byte == b'\n') {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line);
        out.extend_from_slice(b"\n");
    }
    out.extend_from_slice(b"\n");
}
