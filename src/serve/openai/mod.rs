//! Clients that speak OpenAI's chat completions.
mod decode;
mod encode;
mod failure;
mod scribe;
mod turn;

use super::{Failure, Protocol};
use crate::{
    Error,
    chat::{Answer, Request},
};
use bytes::Bytes;
use std::borrow::Cow;

pub use scribe::Chunks;

/// OpenAI's chat completions, as its clients and many others speak them.
///
/// Fields that seawall does not know go on to the provider of one name; system and developer messages become one system text, in
/// their order. What nobody here can do is refused: several choices (`n`), audio, files by id, custom tools, and the functions that
/// came before tools.
///
/// `null` says the same as nothing, and a field that is given twice is refused. So that a request takes a few times its size in memory, and no
/// more, an object of OpenAI's own may have 100 fields, there may be 100 texts to stop at, and the fields that seawall does not know may
/// hold 100,000 values together. A stream's usage is always asked for, for those who count; a caller is told of it who asked.
#[derive(Clone, Debug)]
pub struct OpenAi {
    provider: Cow<'static, str>,
}

impl Default for OpenAi {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenAi {
    /// Fields that seawall does not know go on to the provider of the name `openai`.
    #[must_use]
    pub fn new() -> Self {
        Self { provider: "openai".into() }
    }

    /// Sets the provider to whom fields go that seawall does not know, by the name that its dialect has. Default `openai`.
    #[must_use]
    pub fn extras_for(self, provider: impl Into<Cow<'static, str>>) -> Self {
        Self { provider: provider.into() }
    }
}

impl Protocol for OpenAi {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn decode(&self, body: &Bytes) -> Result<Request, Error> {
        Ok(decode::request(body, &self.provider)?)
    }

    fn encode(&self, request: &Request, answer: &Answer) -> Bytes {
        encode::whole(request, answer)
    }

    fn failure(&self, failure: &Failure) -> Bytes {
        failure::body(failure)
    }

    type Scribe = Chunks;

    fn scribe(&self, request: &Request) -> Chunks {
        Chunks::new(request.model_name(), decode::wants_usage(request))
    }
}
