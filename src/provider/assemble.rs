use crate::chat::Item;

/// What an event of a stream was.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// More will follow.
    More,
    /// The answer is all there. Its usage may follow, and the protocol's own ending.
    Finished,
    /// The protocol's own ending.
    Over,
    /// Nobody can read it: it is passed over and counted.
    Malformed,
    /// It tells of a failure, which the [`Classifier`](crate::classify::Classifier) reads.
    Failed,
}

/// Puts the events of one streamed answer together: made for each by [`Dialect::assembler`](super::Dialect::assembler).
///
/// It gives text as it comes; tool calls and thoughts once they are whole, and those that never are not at all. Calls and
/// thoughts are given before [`Item::Finish`], but for those that a server sends behind it, and [`Item::End`] never: whoever reads
/// the stream knows when it is over.
pub trait Assemble: Send + 'static {
    /// Reads one event: its name, and its data lines joined by line feeds. What it means goes to the end of `items`.
    fn event(&mut self, name: Option<&str>, data: &[u8], items: &mut Vec<Item>) -> Stage;
}
