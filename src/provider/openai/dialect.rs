use super::{
    assembler::Assembler,
    decode, encode,
    form::{Form, Thoughts},
};
use crate::{
    Error, Invalid, Secret, chat,
    classify::Classifier,
    provider::{Client, Dialect, Fit, ids::IdRule, wire},
};
use bytes::Bytes;
use http::{HeaderMap, Method, Uri, header::AUTHORIZATION, response::Parts};
use std::{borrow::Cow, fmt, sync::Arc};

const BASE_URL: &str = "https://api.openai.com/v1";
const PATH: &str = "/chat/completions";
/// OpenAI answers 400 to a longer id of a call ("Expected a string with maximum length 40").
const LONGEST_ID: usize = 40;
/// What others take, Anthropic's limit among them.
const LONGEST_ID_ELSEWHERE: usize = 64;

/// OpenAI's chat completions, and the many servers that speak like it.
///
/// ```
/// use seawall::provider::OpenAi;
///
/// let openai = OpenAi::new("sk-…");
/// let deepseek = OpenAi::new("sk-…").name("deepseek").base_url("https://api.deepseek.com");
/// let local = OpenAi::without_key().name("ollama").base_url("http://127.0.0.1:11434/v1");
/// # let _ = (openai, deepseek, local);
/// ```
///
/// The cap on tokens goes out as `max_completion_tokens` to OpenAI, whose newer models refuse the old name, and as
/// `max_tokens` to every other host, since many know no other.
///
/// Documents go as base64 only. What a tool gives beside text follows in a user turn behind the results, and that it
/// failed is for its text to say, since there is no place for either. Thoughts stay here: see
/// [`send_reasoning`](Self::send_reasoning). Ids of calls that a server would refuse, such as long or doubled ones of
/// another provider, are translated, the same way each time.
///
/// `Debug` shows the name and the host: the rest of a URL may hold a key.
#[derive(Clone)]
pub struct OpenAi(Arc<Settings>);

#[derive(Clone)]
struct Settings {
    name: Cow<'static, str>,
    classifier: Classifier,
    base_url: Box<str>,
    path: Box<str>,
    key: Option<Secret>,
    organisation: Option<Box<str>>,
    project: Option<Box<str>>,
    form: Arc<Form>,
}

/// How the `content` of a turn goes out that calls tools without a word. Each form is refused by some server.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoText {
    /// As `""`, which most take.
    #[default]
    Empty,
    /// As `null`, which is how OpenAI itself writes it.
    Null,
    /// Left out.
    Absent,
}

impl OpenAi {
    /// Asks OpenAI, with this key.
    pub fn new(key: impl Into<Secret>) -> Self {
        Self::without_key().set(|settings| settings.key = Some(key.into()))
    }

    /// Sends no key: for a server that wants none, or a transport that brings one.
    #[must_use]
    pub fn without_key() -> Self {
        let name = Cow::Borrowed("openai");
        Self(Arc::new(Settings {
            classifier: Classifier::new().provider(name.clone()),
            name,
            base_url: BASE_URL.into(),
            path: PATH.into(),
            key: None,
            organisation: None,
            project: None,
            form: Arc::new(Form {
                provider: Cow::Borrowed("openai"),
                cap: Cow::Borrowed("max_completion_tokens"),
                seed: Cow::Borrowed("seed"),
                has_developer: true,
                tells_usage_if_asked: true,
                ids: IdRule::up_to(LONGEST_ID),
                no_text: NoText::default(),
                thoughts: Thoughts::Never,
            }),
        }))
    }

    /// Takes the key from `OPENAI_API_KEY`, and the base URL from `OPENAI_BASE_URL` where that is set.
    ///
    /// # Errors
    /// Where there is no key.
    pub fn from_env() -> Result<Self, Invalid> {
        let Some(key) = wire::variable("OPENAI_API_KEY") else {
            return Err(Invalid::new("OPENAI_API_KEY", "is not set: export a key, or use `OpenAi::without_key`"));
        };
        let dialect = Self::new(key);
        Ok(match wire::variable("OPENAI_BASE_URL") {
            Some(url) => dialect.base_url(url),
            None => dialect,
        })
    }

    /// Sets the provider's name, for errors and for the table that judges them. Default `openai`.
    #[must_use]
    pub fn name(self, name: impl Into<Cow<'static, str>>) -> Self {
        self.set(|settings| {
            settings.name = name.into();
            settings.classifier = Classifier::new().provider(settings.name.clone());
            Arc::make_mut(&mut settings.form).provider = settings.name.clone();
        })
    }

    /// Sets where the server is, with its version. Default `https://api.openai.com/v1`.
    #[must_use]
    pub fn base_url(self, url: impl Into<Box<str>>) -> Self {
        self.set(|settings| {
            settings.base_url = url.into();
            let is_openai = settings.uri().is_ok_and(|uri| uri.host() == Some("api.openai.com"));
            let form = Arc::make_mut(&mut settings.form);
            form.cap = Cow::Borrowed(if is_openai { "max_completion_tokens" } else { "max_tokens" });
            form.ids = IdRule::up_to(if is_openai { LONGEST_ID } else { LONGEST_ID_ELSEWHERE });
            form.has_developer = is_openai;
        })
    }

    /// Sets what follows the base URL. Default `/chat/completions`.
    #[must_use]
    pub fn path(self, path: impl Into<Box<str>>) -> Self {
        self.set(|settings| settings.path = path.into())
    }

    /// Sets the organisation that pays.
    #[must_use]
    pub fn organisation(self, id: impl Into<Box<str>>) -> Self {
        self.set(|settings| settings.organisation = Some(id.into()))
    }

    /// Sets the project that pays.
    #[must_use]
    pub fn project(self, id: impl Into<Box<str>>) -> Self {
        self.set(|settings| settings.project = Some(id.into()))
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
    /// Where the base URL is none, the key is empty or no header's value, or TLS cannot be set up on this system.
    #[cfg(feature = "reqwest")]
    #[cfg_attr(docsrs, doc(cfg(feature = "reqwest")))]
    pub fn client(self) -> Result<Client<Self, crate::provider::Reqwest>, Invalid> {
        self.0.uri()?;
        self.0.headers()?;
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
        self.0.name.clone()
    }

    fn classifier(&self) -> &Classifier {
        &self.0.classifier
    }

    fn encode(&self, request: &chat::Request, fit: &mut Fit) -> Result<http::Request<Bytes>, Error> {
        let uri = self.0.uri()?;
        let body = encode::body(request, &self.0.form, fit)?;
        let mut encoded = http::Request::new(body);
        *encoded.method_mut() = Method::POST;
        *encoded.uri_mut() = uri;
        *encoded.headers_mut() = self.0.headers()?;
        Ok(encoded)
    }

    fn decode(&self, _: &Parts, body: &[u8]) -> Result<chat::Reply, Error> {
        decode::reply(body, &self.0.name)
    }

    fn assembler(&self) -> Assembler {
        Assembler::new(&self.0.name)
    }
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uri = self.0.uri().ok();
        f.debug_struct("OpenAi")
            .field("name", &self.0.name)
            .field("host", &uri.as_ref().and_then(Uri::host))
            .finish_non_exhaustive()
    }
}

impl Settings {
    fn uri(&self) -> Result<Uri, Invalid> {
        wire::uri(&self.base_url, &self.path)
    }

    fn headers(&self) -> Result<HeaderMap, Invalid> {
        let mut headers = wire::headers();
        if let Some(key) = &self.key {
            if key.expose().trim().is_empty() {
                return Err(Invalid::new("key", "is empty: give one, or use `OpenAi::without_key`"));
            }
            let mut bearer = wire::value("key", &format!("Bearer {}", key.expose()))?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        if let Some(id) = &self.organisation {
            headers.insert("openai-organization", wire::value("organisation", id)?);
        }
        if let Some(id) = &self.project {
            headers.insert("openai-project", wire::value("project", id)?);
        }
        Ok(headers)
    }
}
