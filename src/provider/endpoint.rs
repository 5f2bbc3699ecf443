//! Where a server is, what it is called, and how it knows its callers: the same in every dialect.
use super::wire;
use crate::{Invalid, Secret, classify::Classifier};
use http::{
    HeaderMap, HeaderName, Uri,
    header::{AUTHORIZATION, HeaderValue},
};
use std::{borrow::Cow, fmt};

/// What seawall or the transport sets, and a body would not survive being told twice.
const TAKEN: [&str; 6] = ["accept", "connection", "content-length", "content-type", "host", "transfer-encoding"];

#[derive(Clone)]
pub(super) struct Endpoint {
    name: Cow<'static, str>,
    answers_as: Option<Cow<'static, str>>,
    classifier: Classifier,
    base_url: Cow<'static, str>,
    key_header: KeyHeader,
    key: Option<Secret>,
    headers: Vec<Header>,
}

/// How a key travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyHeader {
    /// As `Authorization: Bearer`.
    Bearer,
    /// As it is, in a header of this name.
    Named(&'static str),
}

/// The value may be a secret too, such as the token of a gateway.
#[derive(Clone)]
struct Header {
    /// The setting that brought it, for errors.
    setting: &'static str,
    name: Box<str>,
    value: Secret,
}

impl Endpoint {
    pub(super) fn new(name: &'static str, base_url: &'static str, key_header: KeyHeader) -> Self {
        Self {
            name: name.into(),
            answers_as: None,
            classifier: Classifier::new().provider(name),
            base_url: base_url.into(),
            key_header,
            key: None,
            headers: Vec::new(),
        }
    }

    pub(super) fn name(&self) -> &Cow<'static, str> {
        &self.name
    }

    pub(super) fn classifier(&self) -> &Classifier {
        &self.classifier
    }

    pub(super) fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Errors are read by this name too, unless `set_answers_as` gave another.
    pub(super) fn set_name(&mut self, name: Cow<'static, str>) {
        self.name = name;
        let classifier = Classifier::new().provider(self.name.clone());
        self.classifier = match &self.answers_as {
            Some(provider) => classifier.answers_as(provider.clone()),
            None => classifier,
        };
    }

    pub(super) fn set_answers_as(&mut self, provider: Cow<'static, str>) {
        self.classifier = Classifier::new().provider(self.name.clone()).answers_as(provider.clone());
        self.answers_as = Some(provider);
    }

    pub(super) fn set_base_url(&mut self, url: Box<str>) {
        self.base_url = url.into_string().into();
    }

    pub(super) fn set_key(&mut self, key: Secret) {
        self.key = Some(key);
    }

    /// In place of one of the same name.
    pub(super) fn set_header(&mut self, setting: &'static str, name: &str, value: Secret) {
        let name = name.to_ascii_lowercase().into_boxed_str();
        self.headers.retain(|header| header.name != name);
        self.headers.push(Header { setting, name, value });
    }

    /// Behind what a header of this name holds already.
    pub(super) fn add_to_header(&mut self, setting: &'static str, name: &'static str, value: &str) {
        let held = self.headers.iter().find(|header| *header.name == *name);
        let list = held.map_or_else(|| value.to_owned(), |header| format!("{},{value}", header.value.expose()));
        self.set_header(setting, name, list.into());
    }

    /// # Errors
    /// Where the base URL is none, or has no room for a path.
    pub(super) fn uri(&self, path: &str) -> Result<Uri, Invalid> {
        let refused = |reason: &'static str| Err(Invalid::new("base_url", reason));
        if self.base_url.is_empty() {
            return refused("is not set: say where the server is, such as `https://my-resource.openai.azure.com`");
        }
        if self.base_url.contains(['{', '}']) {
            return refused("holds a `{` or `}`, which no URL does: a place for the model belongs into the path");
        }
        wire::uri(&self.base_url, path)
    }

    /// # Errors
    /// Where a name or a value cannot be sent, or is not for anybody to set.
    pub(super) fn headers(&self) -> Result<HeaderMap, Invalid> {
        let mut headers = wire::headers();
        let key = self.key()?;
        for Header { setting, name, value } in &self.headers {
            let refused = |reason: String| Invalid::new(setting, reason);
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| refused("has a name that no header has: take letters, digits and dashes".to_owned()))?;
            if TAKEN.contains(&name.as_str()) {
                return Err(refused(format!("may not set `{name}`, which is set for each request")));
            }
            if key.as_ref().is_some_and(|(taken, _)| *taken == name) {
                return Err(refused(format!(
                    "may not set `{name}`, which holds the key: use `without_key`, or leave it out"
                )));
            }
            headers.insert(name, sensitive(setting, value.expose())?);
        }
        headers.extend(key);
        Ok(headers)
    }

    fn key(&self) -> Result<Option<(HeaderName, HeaderValue)>, Invalid> {
        let Some(key) = &self.key else { return Ok(None) };
        if key.expose().trim().is_empty() {
            return Err(Invalid::new("key", "is empty: give one, or use `without_key`"));
        }
        Ok(Some(match self.key_header {
            KeyHeader::Bearer => (AUTHORIZATION, sensitive("key", &format!("Bearer {}", key.expose()))?),
            KeyHeader::Named(name) => {
                let name = HeaderName::from_bytes(name.as_bytes());
                let name = name.map_err(|_| {
                    Invalid::new("key_header", "is no name of a header: take letters, digits and dashes")
                })?;
                (name, sensitive("key", key.expose())?)
            }
        }))
    }

    /// The name and the host: the rest of a URL may hold a key.
    pub(super) fn debug(&self, dialect: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uri = self.uri("").ok();
        f.debug_struct(dialect)
            .field("name", &self.name)
            .field("host", &uri.as_ref().and_then(Uri::host))
            .finish_non_exhaustive()
    }
}

fn sensitive(setting: &'static str, text: &str) -> Result<HeaderValue, Invalid> {
    let mut value = wire::value(setting, text)?;
    value.set_sensitive(true);
    Ok(value)
}

/// The key that the environment holds.
///
/// # Errors
/// Where it holds none.
pub(super) fn key_of(variable: &'static str) -> Result<Secret, Invalid> {
    let key = wire::variable(variable).map(Secret::from);
    key.ok_or_else(|| Invalid::new(variable, "is not set: export a key, or use `without_key`"))
}
