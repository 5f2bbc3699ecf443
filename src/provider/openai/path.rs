//! What follows the base URL.
use crate::Invalid;
use std::{borrow::Cow, fmt::Write};

/// `{model}` stands for the model of each request, `{api_version}` for the version of the API.
#[derive(Clone)]
pub(super) struct Path {
    template: Cow<'static, str>,
    usual_version: Option<&'static str>,
    api_version: Option<Box<str>>,
}

impl Path {
    pub(super) fn new(template: &'static str, usual_version: Option<&'static str>) -> Self {
        Self { template: template.into(), usual_version, api_version: None }
    }

    pub(super) fn set_template(&mut self, template: Box<str>) {
        self.template = template.into_string().into();
    }

    pub(super) fn set_api_version(&mut self, version: Box<str>) {
        self.api_version = Some(version);
    }

    pub(super) fn names_the_model(&self) -> bool {
        self.template.contains("{model}")
    }

    /// # Errors
    /// Where something has no place in it, or a place nothing.
    pub(super) fn of(&self, model: &str) -> Result<String, Invalid> {
        let mut path = String::with_capacity(self.template.len() + model.len());
        let mut rest = &*self.template;
        let mut holds_version = false;
        while let Some((before, from)) = rest.split_once('{') {
            path.push_str(before);
            match from.split_once('}') {
                Some(("model", after)) => {
                    encode(&mut path, segment(model)?);
                    rest = after;
                }
                Some(("api_version", after)) => {
                    encode(&mut path, self.version()?);
                    (rest, holds_version) = (after, true);
                }
                _ => return Err(Invalid::new("path", "has a `{` with neither `model}` nor `api_version}` behind it")),
            }
        }
        if self.api_version.is_some() && !holds_version {
            return Err(Invalid::new("api_version", "has no place in the path: leave it out, or add `{api_version}`"));
        }
        path.push_str(rest);
        Ok(path)
    }

    fn version(&self) -> Result<&str, Invalid> {
        let version = self.api_version.as_deref().or(self.usual_version).filter(|version| !version.is_empty());
        version.ok_or_else(|| Invalid::new("api_version", "is not set, and the path asks for one"))
    }
}

/// Clients resolve dots alone, also encoded ones: the request would go elsewhere.
fn segment(model: &str) -> Result<&str, Invalid> {
    match model {
        "" => Err(Invalid::new("model", "is empty: name one in `Request::new`")),
        "." | ".." => Err(Invalid::new("model", "is no name in a path: name a deployment")),
        model => Ok(model),
    }
}

/// All but what RFC 3986, section 2.3, leaves as it is.
fn encode(path: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => path.push(byte.into()),
            byte => write!(path, "%{byte:02X}").expect("a string takes all"),
        }
    }
}
