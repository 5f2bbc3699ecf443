use super::{
    CallIds, NoText, OpenAi,
    form::{Form, Thoughts},
    path::Path,
};
use crate::{
    Invalid, Secret,
    provider::{
        endpoint::{Endpoint, KeyHeader, key_of},
        wire,
    },
};
use std::borrow::Cow;

/// One of the many that speak like OpenAI: where it is, how it knows its callers, and what it wants differently.
///
/// ```
/// use seawall::provider::{CallIds, OpenAi, Preset};
///
/// let deepseek: OpenAi = Preset::DEEPSEEK.with_key("sk-…");
/// let ollama = Preset::OLLAMA.without_key();
/// let azure = Preset::AZURE.with_key("…").base_url("https://my-resource.openai.azure.com");
/// let openrouter = Preset::OPENROUTER.with_key("sk-or-…").header("X-Title", "My app");
///
/// // A provider of your own is a row too.
/// const MINE: Preset = Preset::new("mine", "https://llm.example.com/v1")
///     .key_header("x-api-key")
///     .key_variable("MINE_API_KEY")
///     .call_ids(CallIds::Nine)
///     .refuses(&["logprobs"]);
/// let mine = MINE.with_key("…");
/// # let _ = (deepseek, ollama, azure, openrouter, mine);
/// ```
///
/// [`with_env`](Self::with_env) takes the key from the environment. A configuration names a row as
/// [`named`](Self::named) knows it. What a row says can still be set on the [`OpenAi`] that it makes, or on the row before:
/// `Preset::VLLM.call_ids(CallIds::Nine)`.
#[derive(Clone, Copy)]
pub struct Preset {
    name: &'static str,
    answers_as: &'static str,
    base_url: &'static str,
    url_variable: Option<&'static str>,
    path: &'static str,
    api_version: Option<&'static str>,
    version_variable: Option<&'static str>,
    key_header: KeyHeader,
    key_variable: Option<&'static str>,
    is_key_optional: bool,
    headers: &'static [(&'static str, &'static str)],
    cap: &'static str,
    seed: &'static str,
    has_developer: bool,
    has_refusal: bool,
    ids: CallIds,
    no_text: NoText,
    thoughts: Thoughts,
    tells_usage_if_asked: bool,
    refuses: &'static [&'static str],
    has_schemas: bool,
    has_user_after_tool: bool,
}

impl Preset {
    /// A server of this name, which may be found under this URL. It is spoken to in the form that most take; the key goes
    /// as `Authorization: Bearer`.
    #[must_use]
    pub const fn new(name: &'static str, base_url: &'static str) -> Self {
        Self {
            name,
            answers_as: name,
            base_url,
            url_variable: None,
            path: "/chat/completions",
            api_version: None,
            version_variable: None,
            key_header: KeyHeader::Bearer,
            key_variable: None,
            is_key_optional: false,
            headers: &[],
            cap: "max_tokens",
            seed: "seed",
            has_developer: false,
            has_refusal: false,
            ids: CallIds::UpTo64,
            no_text: NoText::Empty,
            thoughts: Thoughts::Never,
            tells_usage_if_asked: true,
            refuses: &[],
            has_schemas: true,
            has_user_after_tool: true,
        }
    }

    /// What it is called.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Reads its errors as this provider writes them, which it is a front of. Default: by its own name.
    #[must_use]
    pub const fn answers_as(self, provider: &'static str) -> Self {
        Self { answers_as: provider, ..self }
    }

    /// Sets what follows the base URL; `{model}` stands for the model of each request, percent-encoded, and `{api_version}` for
    /// the version of the API. Default `/chat/completions`.
    #[must_use]
    pub const fn path(self, path: &'static str) -> Self {
        Self { path, ..self }
    }

    /// Sets the version of the API, where the path has a place for it.
    #[must_use]
    pub const fn api_version(self, version: &'static str) -> Self {
        Self { api_version: Some(version), ..self }
    }

    /// Sends the key as it is, in a header of this name. Default: `Authorization: Bearer`.
    #[must_use]
    pub const fn key_header(self, name: &'static str) -> Self {
        Self { key_header: KeyHeader::Named(name), ..self }
    }

    /// Sends no `stream_options`: its streams tell their usage unasked. Default: they are asked for it.
    #[must_use]
    pub const fn usage_unasked(self) -> Self {
        Self { tells_usage_if_asked: false, ..self }
    }

    /// Names the variable of the environment that holds the key.
    #[must_use]
    pub const fn key_variable(self, name: &'static str) -> Self {
        Self { key_variable: Some(name), ..self }
    }

    /// Lets [`with_env`](Self::with_env) do without a key.
    #[must_use]
    pub const fn optional_key(self) -> Self {
        Self { is_key_optional: true, ..self }
    }

    /// Names the variable of the environment that holds the base URL.
    #[must_use]
    pub const fn url_variable(self, name: &'static str) -> Self {
        Self { url_variable: Some(name), ..self }
    }

    /// Names the variable of the environment that holds the version of the API.
    #[must_use]
    pub const fn version_variable(self, name: &'static str) -> Self {
        Self { version_variable: Some(name), ..self }
    }

    /// Sets headers that go with every request. Default: none.
    #[must_use]
    pub const fn headers(self, headers: &'static [(&'static str, &'static str)]) -> Self {
        Self { headers, ..self }
    }

    /// Sets what the cap on tokens is called. Default `max_tokens`, which most take.
    #[must_use]
    pub const fn cap(self, field: &'static str) -> Self {
        Self { cap: field, ..self }
    }

    /// Sets what the seed is called. Default `seed`.
    #[must_use]
    pub const fn seed(self, field: &'static str) -> Self {
        Self { seed: field, ..self }
    }

    /// It knows the role `developer`, for models that want that in place of `system`. Default: it does not.
    #[must_use]
    pub const fn developer(self) -> Self {
        Self { has_developer: true, ..self }
    }

    /// It has a field for words of the model's that refuse. Default: they go as its text.
    #[must_use]
    pub const fn refusals(self) -> Self {
        Self { has_refusal: true, ..self }
    }

    /// Sets which ids of calls it takes. Default: 64 characters.
    #[must_use]
    pub const fn call_ids(self, ids: CallIds) -> Self {
        Self { ids, ..self }
    }

    /// Sets how a turn goes out that calls tools without a word. Default `""`.
    #[must_use]
    pub const fn no_text(self, form: NoText) -> Self {
        Self { no_text: form, ..self }
    }

    /// Sends the thoughts of turns that call tools back, as [`OpenAi::send_reasoning`] does.
    #[must_use]
    pub const fn send_reasoning(self) -> Self {
        Self { thoughts: Thoughts::WithCalls, ..self }
    }

    /// Sends back what came as `reasoning_details`, as it came.
    #[must_use]
    pub const fn send_reasoning_details(self) -> Self {
        Self { thoughts: Thoughts::Details, ..self }
    }

    /// Names the fields of a request that it refuses for every model: they are left out, and the listener is told. The cap on
    /// tokens goes by the other one of `max_tokens` and `max_completion_tokens`, unless both are named.
    #[must_use]
    pub const fn refuses(self, fields: &'static [&'static str]) -> Self {
        Self { refuses: fields, ..self }
    }

    /// It holds no answer to a schema.
    #[must_use]
    pub const fn without_schemas(self) -> Self {
        Self { has_schemas: false, ..self }
    }

    /// It lets no user speak right behind a tool: the model has to say something in between.
    #[must_use]
    pub const fn without_user_after_tool(self) -> Self {
        Self { has_user_after_tool: false, ..self }
    }
}

impl Preset {
    /// Asks it with this key.
    pub fn with_key(self, key: impl Into<Secret>) -> OpenAi {
        OpenAi::at(self, Some(key.into()))
    }

    /// Sends no key: for a server that wants none, or a transport or a [header](OpenAi::header) that brings one.
    #[must_use]
    pub fn without_key(self) -> OpenAi {
        OpenAi::at(self, None)
    }

    /// Takes the key from the environment, and base URL and version of the API where the row names variables for them and
    /// these are set.
    ///
    /// # Errors
    /// Where there is no key, unless the row says that none is needed.
    pub fn with_env(self) -> Result<OpenAi, Invalid> {
        let key = match self.key_variable {
            Some(variable) if self.is_key_optional => wire::variable(variable).map(Secret::from),
            Some(variable) => Some(key_of(variable)?),
            None if self.is_key_optional => None,
            None => return Err(Invalid::new("key_variable", "is not set: name the variable that holds the key")),
        };
        let mut dialect = OpenAi::at(self, key);
        if let Some(url) = self.url_variable.and_then(wire::variable) {
            dialect = dialect.base_url(url);
        }
        let version = self.version_variable.filter(|_| self.path.contains("{api_version}"));
        match version.and_then(wire::variable) {
            Some(version) => Ok(dialect.api_version(version)),
            None => Ok(dialect),
        }
    }

    pub(super) fn base_url(self) -> &'static str {
        self.base_url
    }

    pub(super) fn endpoint(self, key: Option<Secret>) -> Endpoint {
        let mut endpoint = Endpoint::new(self.name, self.base_url, self.key_header);
        endpoint.set_answers_as(self.answers_as.into());
        for (name, value) in self.headers {
            endpoint.set_header("header", name, (*value).into());
        }
        key.into_iter().for_each(|key| endpoint.set_key(key));
        endpoint
    }

    pub(super) fn path_template(self) -> Path {
        Path::new(self.path, self.api_version)
    }

    pub(super) fn form(self) -> Form {
        Form {
            provider: Cow::Borrowed(self.name),
            cap: Cow::Borrowed(self.cap),
            seed: Cow::Borrowed(self.seed),
            has_developer: self.has_developer,
            has_refusal: self.has_refusal,
            ids: self.ids.rule(),
            no_text: self.no_text,
            thoughts: self.thoughts,
            tells_usage_if_asked: self.tells_usage_if_asked,
            refuses: self.refuses,
            has_schemas: self.has_schemas,
            has_user_after_tool: self.has_user_after_tool,
        }
    }
}
