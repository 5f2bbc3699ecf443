use super::{
    NoText, Preset,
    assembler::Assembler,
    decode, encode,
    form::{Form, Thoughts},
    path::Path,
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

/// OpenAI's chat completions, and the many servers that speak like it.
///
/// ```
/// use seawall::provider::{OpenAi, Preset};
///
/// let openai = OpenAi::new("sk-…");
/// let deepseek = Preset::DEEPSEEK.with_key("sk-…");
/// let another = OpenAi::new("sk-…").name("another").base_url("https://llm.example.com/v1");
/// # let _ = (openai, deepseek, another);
/// ```
///
/// What a server wants differently is the matter of its [`Preset`]. Without one, the host decides: api.openai.com gets the cap
/// on tokens as `max_completion_tokens`, since its newer models refuse the old name, and every other host as `max_tokens`,
/// since many know no other.
///
/// Documents go as base64 only. What a tool gives beside text follows in a user turn behind the results, and that it
/// failed is for its text to say, since there is no place for either. Thoughts stay here: see
/// [`send_reasoning`](Self::send_reasoning). Ids of calls that a server would refuse, such as long or doubled ones of
/// another provider, are translated, the same way each time, and so are names of tools that the model made up of letters that
/// none may have. What is text alone goes as one text, since many servers read no list. A turn of the model's that says nothing
/// says `(no content)`; one that goes on behind its calls is joined, since results follow their calls. Such mending, and what is left out, is told as [`What::Changed`](crate::What::Changed). A call without a
/// result, and a result without a call, are refused with the index of the message.
///
/// `Debug` shows the name and the host: the rest of a URL may hold a key.
#[derive(Clone)]
pub struct OpenAi(Arc<Settings>);

#[derive(Clone)]
struct Settings {
    endpoint: Endpoint,
    path: Path,
    form: Arc<Form>,
    /// Whether nobody said who this is, so that the host and the name tell.
    is_told_by_host: bool,
}

impl OpenAi {
    /// Asks OpenAI, with this key.
    pub fn new(key: impl Into<Secret>) -> Self {
        Self::without_key().set(|settings| settings.endpoint.set_key(key.into()))
    }

    /// Sends no key: for a server that wants none, or a transport or a [header](Self::header) that brings one.
    #[must_use]
    pub fn without_key() -> Self {
        let endpoint = Endpoint::new(Preset::OPENAI.name(), Preset::OPENAI.base_url(), KeyHeader::Bearer);
        Self::at(Preset::OPENAI, None).set(|settings| (settings.endpoint, settings.is_told_by_host) = (endpoint, true))
    }

    /// Takes the key from `OPENAI_API_KEY`, and the base URL from `OPENAI_BASE_URL` where that is set.
    /// [`Preset::with_env`] does so for others.
    ///
    /// # Errors
    /// Where there is no key.
    pub fn from_env() -> Result<Self, Invalid> {
        let dialect = Self::new(key_of("OPENAI_API_KEY")?);
        Ok(match wire::variable("OPENAI_BASE_URL") {
            Some(url) => dialect.base_url(url),
            None => dialect,
        })
    }

    pub(super) fn at(preset: Preset, key: Option<Secret>) -> Self {
        Self(Arc::new(Settings {
            endpoint: preset.endpoint(key),
            path: preset.path_template(),
            form: Arc::new(preset.form()),
            is_told_by_host: false,
        }))
    }

    /// Sets the provider's name, for errors and for the fields of [`extra`](chat::Request::extra). Default `openai`, or that of
    /// the preset. Without a preset it also names the table that judges errors.
    #[must_use]
    pub fn name(self, name: impl Into<Cow<'static, str>>) -> Self {
        let name = name.into();
        self.set(|settings| {
            Arc::make_mut(&mut settings.form).provider = name.clone();
            settings.endpoint.set_name(name);
        })
    }

    /// Sets where the server is, with its version. Default `https://api.openai.com/v1`, or that of the preset.
    #[must_use]
    pub fn base_url(self, url: impl Into<Box<str>>) -> Self {
        self.set(|settings| {
            settings.endpoint.set_base_url(url.into());
            if settings.is_told_by_host {
                let is_openai = settings.endpoint.uri("").is_ok_and(|uri| uri.host() == Some("api.openai.com"));
                let told = if is_openai { Preset::OPENAI } else { Preset::new("", "") }.form();
                let form = Arc::make_mut(&mut settings.form);
                (form.cap, form.ids) = (told.cap, told.ids);
                (form.has_developer, form.has_refusal) = (told.has_developer, told.has_refusal);
            }
        })
    }

    /// Sets what follows the base URL. Default `/chat/completions`, or that of the preset.
    ///
    /// `{model}` in it stands for the model of each request, percent-encoded, and `{api_version}` for
    /// [`api_version`](Self::api_version).
    #[must_use]
    pub fn path(self, path: impl Into<Box<str>>) -> Self {
        self.set(|settings| settings.path.set_template(path.into()))
    }

    /// Sets the version of the API, where the path has a place for it, as Azure's does. Default: that of the preset.
    #[must_use]
    pub fn api_version(self, version: impl Into<Box<str>>) -> Self {
        self.set(|settings| settings.path.set_api_version(version.into()))
    }

    /// Sends a header with every request, in place of one of this name. What it holds is shown nowhere.
    ///
    /// Not to be set are those of the body and of the connection, and the one that holds the key.
    #[must_use]
    pub fn header(self, name: impl AsRef<str>, value: impl Into<Secret>) -> Self {
        self.set(|settings| settings.endpoint.set_header("header", name.as_ref(), value.into()))
    }

    /// Sets the organisation that pays.
    #[must_use]
    pub fn organisation(self, id: impl Into<Box<str>>) -> Self {
        let id = Secret::new(id.into());
        self.set(|settings| settings.endpoint.set_header("organisation", "openai-organization", id))
    }

    /// Sets the project that pays.
    #[must_use]
    pub fn project(self, id: impl Into<Box<str>>) -> Self {
        let id = Secret::new(id.into());
        self.set(|settings| settings.endpoint.set_header("project", "openai-project", id))
    }

    /// Sets how a turn goes out that calls tools without a word. Default `""`.
    #[must_use]
    pub fn no_text(self, form: NoText) -> Self {
        self.set(|settings| Arc::make_mut(&mut settings.form).no_text = form)
    }

    /// Sends the thoughts of turns that call tools back, as `reasoning_content`: DeepSeek refuses such turns without it
    /// where its models think, and others refuse the field. Default: thoughts are left out.
    ///
    /// A turn that has none of this provider's gets an empty one, since it is the field that is asked for.
    #[must_use]
    pub fn send_reasoning(self) -> Self {
        self.set(|settings| Arc::make_mut(&mut settings.form).thoughts = Thoughts::WithCalls)
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
        self.0.uri("model")?;
        self.0.endpoint.headers()?;
        Ok(self.over(crate::provider::Reqwest::new()?))
    }

    fn set(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }
}

impl Dialect for OpenAi {
    type Assembler = Assembler;

    fn name(&self) -> Cow<'static, str> {
        self.0.endpoint.name().clone()
    }

    fn protocol(&self) -> &'static str {
        "openai"
    }

    fn classifier(&self) -> &Classifier {
        self.0.endpoint.classifier()
    }

    fn encode(&self, request: &chat::Request, fit: &mut Fit) -> Result<http::Request<Bytes>, Error> {
        let mut encoded = http::Request::new(encode::body(request, &self.0.form, fit)?);
        *encoded.method_mut() = Method::POST;
        *encoded.uri_mut() = self.0.uri(request.model_name())?;
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

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.endpoint.debug("OpenAi", f)
    }
}

impl Settings {
    fn uri(&self, model: &str) -> Result<Uri, Invalid> {
        if self.path.names_the_model() && self.endpoint.base_url().contains("/deployments/") {
            return Err(Invalid::new(
                "base_url",
                "holds a deployment, which the model of each request names: end it before that",
            ));
        }
        self.endpoint.uri(&self.path.of(model)?)
    }
}
