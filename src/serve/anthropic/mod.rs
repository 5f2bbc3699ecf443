//! Clients that speak Anthropic's messages.
mod decode;
mod encode;
mod event;
mod failure;
mod scribe;
mod tools;
mod turn;

use super::{Failure, Protocol};
use crate::{
    Error,
    chat::{Answer, Request},
};
use bytes::Bytes;
use std::borrow::Cow;

pub use scribe::Events;

/// Anthropic's messages, as its clients speak them.
///
/// Fields that seawall does not know go on to the provider of one name, and so do tools and system text that say more than others
/// understand, such as `cache_control`, beside what others are told. A `cache_control` in a message becomes the request's own, which
/// marks the last block. What nobody here can do is refused: files by id.
#[derive(Clone, Debug)]
pub struct Anthropic {
    provider: Cow<'static, str>,
}

impl Default for Anthropic {
    fn default() -> Self {
        Self::new()
    }
}

impl Anthropic {
    /// What is Anthropic's alone goes on to the provider of the name `anthropic`.
    #[must_use]
    pub fn new() -> Self {
        Self { provider: "anthropic".into() }
    }

    /// Sets the provider to whom goes what is Anthropic's alone, by the name that its dialect has. Default `anthropic`.
    #[must_use]
    pub fn extras_for(self, provider: impl Into<Cow<'static, str>>) -> Self {
        Self { provider: provider.into() }
    }
}

impl Protocol for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn decode(&self, body: &Bytes) -> Result<Request, Error> {
        Ok(decode::request(body, &self.provider)?)
    }

    fn encode(&self, request: &Request, answer: &Answer) -> Bytes {
        encode::whole(request, answer, &self.provider)
    }

    fn failure(&self, failure: &Failure) -> Bytes {
        failure::body(failure)
    }

    type Scribe = Events;

    fn scribe(&self, request: &Request) -> Events {
        Events::new(request.model_name(), self.provider.clone())
    }
}
