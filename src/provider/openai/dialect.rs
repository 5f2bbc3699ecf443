use super::{decode, encode};
use crate::{
    Error, Invalid, Secret, chat,
    classify::Classifier,
    provider::{Client, Dialect},
};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Uri,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
    response::Parts,
};
use std::{borrow::Cow, env, fmt, sync::Arc};

const BASE_URL: &str = "https://api.openai.com/v1";
const PATH: &str = "/chat/completions";

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
        }))
    }

    /// Takes the key from `OPENAI_API_KEY`, and the base URL from `OPENAI_BASE_URL` where that is set.
    ///
    /// # Errors
    /// Where there is no key.
    pub fn from_env() -> Result<Self, Invalid> {
        let variable = |name| env::var(name).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let Some(key) = variable("OPENAI_API_KEY") else {
            return Err(Invalid::new("OPENAI_API_KEY", "is not set: export a key, or use `OpenAi::without_key`"));
        };
        let dialect = Self::new(key);
        Ok(match variable("OPENAI_BASE_URL") {
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
        })
    }

    /// Sets where the server is, with its version. Default `https://api.openai.com/v1`.
    #[must_use]
    pub fn base_url(self, url: impl Into<Box<str>>) -> Self {
        self.set(|settings| settings.base_url = url.into())
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
    fn name(&self) -> Cow<'static, str> {
        self.0.name.clone()
    }

    fn classifier(&self) -> &Classifier {
        &self.0.classifier
    }

    fn encode(&self, request: &chat::Request) -> Result<http::Request<Bytes>, Error> {
        let uri = self.0.uri()?;
        let cap = if uri.host() == Some("api.openai.com") { "max_completion_tokens" } else { "max_tokens" };
        let body = encode::body(request, &self.0.name, cap)?;
        let mut encoded = http::Request::new(body);
        *encoded.method_mut() = Method::POST;
        *encoded.uri_mut() = uri;
        *encoded.headers_mut() = self.0.headers()?;
        Ok(encoded)
    }

    fn decode(&self, _: &Parts, body: &[u8]) -> Result<chat::Reply, Error> {
        decode::reply(body)
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
        let (base, own) = parted(&self.base_url);
        let (path, more) = parted(&self.path);
        let mut url = format!("{}/{}", base.trim_end_matches('/'), path.trim_start_matches('/'));
        for (separator, query) in ['?', '&'].into_iter().zip(own.into_iter().chain(more)) {
            url.push(separator);
            url.push_str(query);
        }
        // What follows a `#` would be dropped without a word, and the path with it.
        let whole = (!url.contains('#')).then_some(url);
        let uri = whole.and_then(|url| Uri::try_from(url).ok());
        let uri = uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")));
        let uri = uri.ok_or_else(|| Invalid::new("base_url", "is no URL: write it as `https://host/v1`"))?;
        match uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            true => Err(Invalid::new("base_url", "holds a user or a password, which would not be sent: leave it out")),
            false => Ok(uri),
        }
    }

    fn headers(&self) -> Result<HeaderMap, Invalid> {
        let json = HeaderValue::from_static("application/json");
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, json.clone()), (ACCEPT, json)]);
        if let Some(key) = &self.key {
            if key.expose().trim().is_empty() {
                return Err(Invalid::new("key", "is empty: give one, or use `OpenAi::without_key`"));
            }
            let mut bearer = value("key", &format!("Bearer {}", key.expose()))?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        if let Some(id) = &self.organisation {
            headers.insert("openai-organization", value("organisation", id)?);
        }
        if let Some(id) = &self.project {
            headers.insert("openai-project", value("project", id)?);
        }
        Ok(headers)
    }
}

/// What stands before a query, and the query.
fn parted(url: &str) -> (&str, Option<&str>) {
    url.split_once('?').map_or((url, None), |(front, query)| (front, Some(query)))
}

fn value(setting: &'static str, text: &str) -> Result<HeaderValue, Invalid> {
    let refused =
        |_| Invalid::new(setting, "holds a character that no header may hold, such as a line break: remove it");
    HeaderValue::from_str(text).map_err(refused)
}
