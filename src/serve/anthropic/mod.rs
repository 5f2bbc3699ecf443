//! Clients that speak Anthropic's messages.
use super::{Failure, Protocol, Scribe, event};
use crate::{
    Error, Invalid,
    chat::{Answer, Item, Message, Request},
};
use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};
use std::borrow::Cow;

/// Anthropic's messages, as its clients and many others speak them.
#[derive(Clone, Debug)]
#[allow(dead_code)]
pub struct Anthropic {
    provider: Cow<'static, str>,
}

impl Default for Anthropic {
    fn default() -> Self {
        Self::new()
    }
}

impl Anthropic {
    /// Fields that seawall does not know go on to the provider of the name `anthropic`.
    #[must_use]
    pub fn new() -> Self {
        Self { provider: "anthropic".into() }
    }

    /// Sets the provider to whom fields go that seawall does not know, by the name that its dialect has. Default `anthropic`.
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
        let body: Value = serde_json::from_slice(body).map_err(|_| Invalid::new("body", "is no JSON"))?;
        let mut request = Request::new(body["model"].as_str().unwrap_or_default());
        for message in body["messages"].as_array().into_iter().flatten() {
            request = request.message(Message::user(message["content"].as_str().unwrap_or_default()));
        }
        Ok(if body["stream"] == true { request.stream() } else { request })
    }

    fn encode(&self, _: &Request, answer: &Answer) -> Bytes {
        json!({ "choices": [{ "message": { "role": "assistant", "content": answer.message().text() } }] })
            .to_string()
            .into()
    }

    fn failure(&self, failure: &Failure) -> Bytes {
        json!({ "error": { "message": failure.message() } }).to_string().into()
    }

    type Scribe = Events;

    fn scribe(&self, _: &Request) -> Events {
        Events
    }
}

/// Writes chunks.
#[derive(Debug)]
pub struct Events;

impl Scribe for Events {
    fn item(&mut self, item: &Item, out: &mut BytesMut) {
        if let Item::Text(text) = item {
            event(None, json!({ "choices": [{ "delta": { "content": text } }] }).to_string().as_bytes(), out);
        }
    }

    fn received(&mut self, name: Option<&str>, data: &Bytes, out: &mut BytesMut) {
        event(name, data, out);
    }

    fn alive(&mut self, out: &mut BytesMut) {
        out.extend_from_slice(b":\n\n");
    }

    fn end(&mut self, out: &mut BytesMut) {
        event(None, b"[DONE]", out);
    }

    fn failure(&mut self, failure: &Failure, out: &mut BytesMut) {
        event(None, json!({ "error": { "message": failure.message() } }).to_string().as_bytes(), out);
    }
}
