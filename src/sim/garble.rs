use serde::Deserialize;

/// What about an answer is not what it should be.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Garble {
    /// The head is no HTTP.
    Head,
    /// The body is whole, but labelled `text/html`.
    ContentType,
    /// The body is JSON that stops in the middle, correctly framed. So does a stream.
    Json,
    /// A chunk's size is not a number.
    Chunk,
}

impl Garble {
    /// Each way.
    pub const ALL: [Self; 4] = [Self::Head, Self::ContentType, Self::Json, Self::Chunk];
}

/// An event that has no place in a stream, or not this one.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BadEvent {
    /// An error, as the provider words it; nothing comes after it but the end of the body.
    Error,
    /// Data that is no JSON; the stream goes on.
    NotJson,
    /// Data that is no UTF-8; the stream goes on.
    NotUtf8,
    /// So many bytes of data, made as they are sent; the stream goes on. They are well formed, and show nothing.
    Huge(u64),
}
