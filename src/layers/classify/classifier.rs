use super::{
    body::{self, Body},
    decide::Answer,
    envelope, plain, recorded, transport,
};
use crate::{Error, Kind, time};
use http::{HeaderMap, StatusCode};
use std::{borrow::Cow, error::Error as StdError, sync::Arc, time::SystemTime};

/// How much of an error body is read: providers say what they have to say in less than 4 KiB, pages of proxies in less
/// than 64.
pub const BODY_LIMIT: usize = 64 * 1024;

/// Judges answers, frames of streams and failures of the transport. It keeps no state: clones are cheap and alike.
#[derive(Clone, Debug, Default)]
pub struct Classifier {
    provider: Option<Arc<Cow<'static, str>>>,
    /// Whose answers these are, where the provider's name does not say it.
    source: Option<Arc<Cow<'static, str>>>,
    now: Option<SystemTime>,
}

impl Classifier {
    /// A classifier that fits every provider.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the provider, for errors to tell; a few answers are read by who sends them, such as Groq's requests a day.
    #[must_use]
    pub fn provider(self, name: impl Into<Cow<'static, str>>) -> Self {
        Self { provider: Some(Arc::new(name.into())), ..self }
    }

    /// Reads answers as this provider writes them, for a front of it that has a name of its own. Default: the provider's name.
    #[must_use]
    pub fn answers_as(self, provider: impl Into<Cow<'static, str>>) -> Self {
        Self { source: Some(Arc::new(provider.into())), ..self }
    }

    /// Measures dates and epochs against this clock, as for recorded answers. Default: the wall clock, when it is needed.
    #[must_use]
    pub fn at(self, now: SystemTime) -> Self {
        Self { now: Some(now), ..self }
    }

    /// Judges an answer whose status is no success. Of a longer body only the first [`BODY_LIMIT`] bytes are looked at.
    ///
    /// Under a success it gives what [`success`](Self::success) finds, or [`Kind::Unknown`].
    #[must_use]
    pub fn answer(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
        if status.is_success() {
            let found = self.success(headers, body);
            return found.unwrap_or_else(|| self.named(Error::provider(Kind::Unknown)));
        }
        let body = &body[..body.len().min(BODY_LIMIT)];
        self.verdict(&Answer::refused(status.as_u16(), body::read(body)), headers)
    }

    /// Looks into the body of a success: some providers send their errors there. `None`: nothing speaks against it.
    ///
    /// A body that is empty, cut or damaged is a [`Kind::Transport`] failure, a page for people [`Kind::Unknown`].
    #[must_use]
    pub fn success(&self, headers: &HeaderMap, body: &[u8]) -> Option<Error> {
        if plain::is_answer(body) {
            return None;
        }
        match body::read(body) {
            Body::Empty | Body::Cut(..) => self.damaged(),
            Body::Html(_) | Body::Text(_) => Some(self.named(Error::provider(Kind::Unknown))),
            Body::Json(value) => {
                let found = envelope::error_in(None, &value)?;
                Some(self.verdict(&Answer::told(found, &value), headers))
            }
        }
    }

    /// Judges one frame of a stream: its event name, if it has one, and its data. `None`: it is no error.
    #[must_use]
    pub fn frame(&self, event: Option<&str>, data: &[u8]) -> Option<Error> {
        self.frame_of(event, data, &HeaderMap::new())
    }

    pub(crate) fn frame_of(&self, event: Option<&str>, data: &[u8], headers: &HeaderMap) -> Option<Error> {
        match body::read(data) {
            Body::Json(value) => {
                let found = envelope::error_in(event, &value).or_else(|| envelope::cut_by_filter(&value))?;
                Some(self.verdict(&Answer::told(found, &value), headers))
            }
            other if event == Some("error") => Some(self.verdict(&Answer::broken(other), headers)),
            _ => None,
        }
    }

    /// Judges a recorded stream under a success: the error in it, or [`Kind::Transport`] where it ends without the
    /// protocol's own ending. `None`: it is whole.
    ///
    /// It reads server-sent events, JSON lines (Ollama's, and decoded frames of the AWS event stream), a JSON array, and
    /// the plain JSON that some send instead of a stream.
    #[must_use]
    pub fn stream(&self, headers: &HeaderMap, body: &[u8]) -> Option<Error> {
        recorded::judge(self, headers, body)
    }

    /// Judges a failure without an answer, by the types in its chain of sources.
    ///
    /// A `seawall::Error` comes back as it is.
    #[must_use]
    pub fn transport(&self, error: Box<dyn StdError + Send + Sync>) -> Error {
        transport::judge(error, Some(Kind::Transport), |error| self.named(error))
    }

    /// As [`transport`](Self::transport), but what no rule knows need not be the transport's failure.
    pub(super) fn boxed(&self, error: Box<dyn StdError + Send + Sync>) -> Error {
        transport::judge(error, None, |error| self.named(error))
    }

    pub(super) fn verdict(&self, answer: &Answer<'_>, headers: &HeaderMap) -> Error {
        let now = || self.now.unwrap_or_else(time::wall);
        let source = self.source.as_ref().or(self.provider.as_ref());
        let provider = source.map(|name| name.to_ascii_lowercase());
        self.named(answer.verdict(headers, provider.as_deref(), now))
    }

    /// A failure that the body itself shows: empty, cut or damaged.
    pub(super) fn damaged(&self) -> Option<Error> {
        Some(self.named(Error::provider(Kind::Transport)).with_phase(crate::Phase::Body))
    }

    pub(crate) fn named(&self, error: Error) -> Error {
        match &self.provider {
            Some(name) => error.with_provider(Cow::clone(name)),
            None => error,
        }
    }
}
