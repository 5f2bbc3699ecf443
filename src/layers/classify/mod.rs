//! Stand-in until the classifier is merged: the agreed calls, and the least behind them.
use crate::{Error, Kind};
use http::{HeaderMap, StatusCode};
use std::{borrow::Cow, error::Error as StdError};

/// How much of an error's body is read.
pub const BODY_LIMIT: usize = 64 * 1024;

/// Turns answers into errors.
#[derive(Clone, Debug, Default)]
pub struct Classifier {
    provider: Option<Cow<'static, str>>,
}

impl Classifier {
    /// A classifier without a name.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the provider.
    #[must_use]
    pub fn provider(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.provider = Some(name.into());
        self
    }

    /// Judges an answer that is no success.
    #[must_use]
    pub fn answer(&self, status: StatusCode, _: &HeaderMap, body: &[u8]) -> Error {
        let kind = match status.as_u16() {
            401 => Kind::Auth,
            429 => Kind::RateLimited,
            400 => Kind::InvalidRequest,
            500..=599 => Kind::Server,
            _ => Kind::Unknown,
        };
        self.name(Error::provider(kind).with_status(status.as_u16()).with_message(String::from_utf8_lossy(body)))
    }

    /// Judges a 2xx.
    #[must_use]
    pub fn success(&self, _: &HeaderMap, body: &[u8]) -> Option<Error> {
        match serde_json::from_slice::<serde_json::Value>(body) {
            Err(error) if error.is_eof() => Some(self.name(Error::provider(Kind::Transport))),
            Err(_) => Some(self.name(Error::provider(Kind::Unknown))),
            Ok(value) if !value["error"].is_null() => Some(self.name(Error::provider(Kind::Server))),
            Ok(_) => None,
        }
    }

    /// Judges a failure of the transport.
    #[must_use]
    pub fn transport(&self, error: Box<dyn StdError + Send + Sync>) -> Error {
        match error.downcast::<Error>() {
            Ok(error) => *error,
            Err(error) => self.name(Error::provider(Kind::Transport).with_source(error)),
        }
    }

    fn name(&self, error: Error) -> Error {
        match &self.provider {
            Some(name) => error.with_provider(name.clone()),
            None => error,
        }
    }
}
