use super::{Assemble, Fit};
use crate::{Error, chat, classify::Classifier};
use bytes::Bytes;
use http::response::Parts;
use std::borrow::Cow;

/// How a provider is spoken to: what a request and an answer look like on its wire.
///
/// It decides nothing about failures but how to read them; a [`Client`](super::Client) does the sending. Clones should
/// be cheap, since each call takes one along, and a streamed reply keeps it: hence `Send` and `'static`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no dialect that a client can speak",
    note = "`provider::Anthropic` is one, and `provider::OpenAi`, with `base_url` for the many servers that speak like OpenAI"
)]
pub trait Dialect: Clone + Send + 'static {
    /// The provider's name, for people and for the fields of [`extra`](chat::Request::extra).
    fn name(&self) -> Cow<'static, str>;

    /// Puts streamed answers together.
    type Assembler: Assemble;

    /// Judges failures, under the provider's name.
    fn classifier(&self) -> &Classifier;

    /// The request as it goes over the wire. `fit` knows what the model takes, and is told what had to be changed.
    ///
    /// # Errors
    /// [`InvalidRequest`](crate::Kind::InvalidRequest) with a word on what to change; nothing is sent.
    fn encode(&self, request: &chat::Request, fit: &mut Fit) -> Result<http::Request<Bytes>, Error>;

    /// The reply in a whole answer with a status of success, in which the classifier has found no error.
    ///
    /// # Errors
    /// What the answer means where it holds no reply. No text of the answer may go into `Display`.
    fn decode(&self, head: &Parts, body: &[u8]) -> Result<chat::Reply, Error>;

    /// For one streamed answer.
    fn assembler(&self) -> Self::Assembler;
}
