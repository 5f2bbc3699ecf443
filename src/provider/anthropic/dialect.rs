use super::{
    assembler::Assembler,
    decode,
    encode::{self, Form},
};
use crate::{
    Error, Invalid, Secret, chat,
    classify::Classifier,
    provider::{
        Client, Dialect, Fit,
        endpoint::{Endpoint, KeyHeader, key_of},
        wire,
    },
};
use bytes::Bytes;
use http::{Method, Uri, response::Parts};
use std::{borrow::Cow, fmt, sync::Arc};

const BASE_URL: &str = "https://api.anthropic.com";
/// The only one that there has been since 2023; what is newer comes by `anthropic-beta`.
const VERSION: &str = "2023-06-01";
const VERSION_HEADER: &str = "anthropic-version";

/// Anthropic's Messages API.
///
/// ```
/// use seawall::provider::Anthropic;
///
/// let anthropic = Anthropic::new("sk-ant-…").beta("context-1m-2025-08-07");
/// # let _ = anthropic;
/// ```
///
/// What its rules ask for is done to every history on its way, and nothing to the history itself:
///
/// - The results of tools come first in the user turn behind the calls, all of them in one; turns of one side in a row
///   become one; empty text is left out. A turn of which nothing is left says `(no content)`, and so do a failed result without
///   a word and a user turn put in front where the history begins with the model's.
/// - Ids of calls that it would refuse (it takes letters, digits, `_` and `-`, at most 64, each once) are translated, the
///   same way each time.
/// - Its own thinking goes back exactly as it came, signatures and order included; other providers' is left out.
/// - `thinking` of type `enabled`, set with `extra`, is left out of a request that answers calls where what the model said since
///   the user's last word does not begin with its own thinking, as that of another provider: it would be refused.
/// - Arguments that are no JSON object go back as `{"INVALID_JSON": "…"}`, as its documentation proposes.
/// - `max_tokens` must be there. Without [`chat::Request::max_tokens`] it is the longest answer of the model, as the
///   [table of models](crate::Models) has it, or what an estimate of the prompt leaves of its window; of one that is not there 32,000 for a Claude, 8,192 for any other. A cut answer
///   says so in its finish reason.
/// - It has no seed, which is left out, and so are blank stop texts; a temperature above 1 becomes 1. It has no JSON without a
///   schema, which is refused. Its schemas always bind.
/// - Blanks at the end of a last turn of the model's are cut, since it goes on from there. Models that go on with no turn of
///   their own are in the table, and such a history is refused, but for a turn with a block of its own, such as a search: so one
///   that was paused (`pause_turn`) goes back.
///
/// What is mended or left out is told as [`What::Changed`](crate::What::Changed). A call without a result, and a result without
/// a call, are refused with the index of the message.
///
/// Prompts are cached with a field of its own: `request.extra("anthropic", "cache_control", json!({"type": "ephemeral"}))`.
/// So are other things that seawall does not model, such as `thinking`.
///
/// `Debug` shows the name and the host: the rest of a URL may hold a key.
#[derive(Clone)]
pub struct Anthropic(Arc<Settings>);

#[derive(Clone)]
struct Settings {
    endpoint: Endpoint,
    form: Arc<Form>,
}

impl Anthropic {
    /// Asks Anthropic, with this key.
    pub fn new(key: impl Into<Secret>) -> Self {
        Self::without_key().set(|settings| settings.endpoint.set_key(key.into()))
    }

    /// Sends no key: for a server that wants none, or a transport or a [header](Self::header) that brings one.
    #[must_use]
    pub fn without_key() -> Self {
        let mut endpoint = Endpoint::new("anthropic", BASE_URL, KeyHeader::Named("x-api-key"));
        endpoint.set_header("version", VERSION_HEADER, VERSION.into());
        Self(Arc::new(Settings { endpoint, form: Arc::new(Form { provider: Cow::Borrowed("anthropic") }) }))
    }

    /// Takes the key from `ANTHROPIC_API_KEY`, and the base URL from `ANTHROPIC_BASE_URL` where that is set.
    ///
    /// # Errors
    /// Where there is no key.
    pub fn from_env() -> Result<Self, Invalid> {
        let dialect = Self::new(key_of("ANTHROPIC_API_KEY")?);
        Ok(match wire::variable("ANTHROPIC_BASE_URL") {
            Some(url) => dialect.base_url(url),
            None => dialect,
        })
    }

    /// Sets the provider's name, for errors, for the table that judges them, and for whose thinking is its own. Default
    /// `anthropic`.
    #[must_use]
    pub fn name(self, name: impl Into<Cow<'static, str>>) -> Self {
        let name = name.into();
        self.set(|settings| {
            settings.form = Arc::new(Form { provider: name.clone() });
            settings.endpoint.set_name(name);
        })
    }

    /// Sets where the server is, with or without `/v1` at the end. Default `https://api.anthropic.com`.
    #[must_use]
    pub fn base_url(self, url: impl Into<Box<str>>) -> Self {
        self.set(|settings| settings.endpoint.set_base_url(url.into()))
    }

    /// Sets the version of the API. Default `2023-06-01`.
    #[must_use]
    pub fn version(self, version: impl Into<Box<str>>) -> Self {
        let version = Secret::new(version.into());
        self.set(|settings| settings.endpoint.set_header("version", VERSION_HEADER, version))
    }

    /// Asks for something that is in beta, by its name. May be called several times.
    #[must_use]
    pub fn beta(self, name: impl AsRef<str>) -> Self {
        self.set(|settings| settings.endpoint.add_to_header("beta", "anthropic-beta", name.as_ref()))
    }

    /// Sends a header with every request, in place of one of this name. What it holds is shown nowhere.
    ///
    /// Not to be set are those of the body and of the connection, and the one that holds the key.
    #[must_use]
    pub fn header(self, name: impl AsRef<str>, value: impl Into<Secret>) -> Self {
        self.set(|settings| settings.endpoint.set_header("header", name.as_ref(), value.into()))
    }

    /// A client over any service of `http::Request`.
    pub fn over<T>(self, inner: T) -> Client<Self, T> {
        Client::new(self, inner)
    }

    /// A client over reqwest.
    ///
    /// # Errors
    /// Where a setting cannot be sent, such as a base URL that is none or an empty key, or TLS cannot be set up on this system.
    #[cfg(feature = "reqwest")]
    #[cfg_attr(docsrs, doc(cfg(feature = "reqwest")))]
    pub fn client(self) -> Result<Client<Self, crate::provider::Reqwest>, Invalid> {
        self.0.uri()?;
        self.0.endpoint.headers()?;
        Ok(self.over(crate::provider::Reqwest::new()?))
    }

    fn set(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }
}

impl Dialect for Anthropic {
    type Assembler = Assembler;

    fn name(&self) -> Cow<'static, str> {
        self.0.endpoint.name().clone()
    }

    fn protocol(&self) -> &'static str {
        "anthropic"
    }

    fn classifier(&self) -> &Classifier {
        self.0.endpoint.classifier()
    }

    fn encode(&self, request: &chat::Request, fit: &mut Fit) -> Result<http::Request<Bytes>, Error> {
        let mut encoded = http::Request::new(encode::body(request, &self.0.form, fit)?);
        *encoded.method_mut() = Method::POST;
        *encoded.uri_mut() = self.0.uri()?;
        *encoded.headers_mut() = self.0.endpoint.headers()?;
        Ok(encoded)
    }

    fn decode(&self, _: &Parts, body: &[u8]) -> Result<chat::Reply, Error> {
        decode::reply(body, self.0.endpoint.name())
    }

    fn assembler(&self) -> Assembler {
        Assembler::new(self.0.endpoint.name())
    }
}

impl fmt::Debug for Anthropic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.endpoint.debug("Anthropic", f)
    }
}

impl Settings {
    fn uri(&self) -> Result<Uri, Invalid> {
        let front = self.endpoint.base_url().split('?').next().unwrap_or_default();
        self.endpoint.uri(if front.trim_end_matches('/').ends_with("/v1") { "messages" } else { "v1/messages" })
    }
}
