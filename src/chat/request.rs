mod asked;
mod without;

use super::{Message, ResponseFormat, Tool, ToolChoice, kept::Kept};
use crate::{Context, Map, Model, Sink};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt, sync::Arc};

pub(crate) use without::SETTINGS;

/// What a model is asked. Its clones share everything, its encoding too, so that sending it again copies no text.
///
/// What is not set is not sent: the provider's own defaults hold. The whole history goes along each time, since the
/// model has no memory; the system text stands apart from it and is put in front by the dialect.
///
/// ```
/// use seawall::chat;
///
/// let request = chat::Request::new("gpt-4o-mini").system("Be brief.").user("What is a seawall?").temperature(0.2);
/// assert_eq!(format!("{request:?}"), r#"Request { model: "gpt-4o-mini", messages: 1, tools: 0, .. }"#);
/// ```
///
/// `Debug` shows no text: it may end in a log. Stored with `serde` it is all there but its context and its listener, which are
/// about one call.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Request {
    asked: Arc<Asked>,
    #[serde(skip)]
    context: Option<Context>,
    #[serde(skip)]
    sink: Option<Sink>,
}

#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Asked {
    model: Box<str>,
    system: Option<Arc<str>>,
    messages: Vec<Message>,
    tools: Vec<Tool>,
    tool_choice: ToolChoice,
    parallel_tool_calls: Option<bool>,
    response_format: ResponseFormat,
    max_tokens: Option<u32>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    stop: Vec<Box<str>>,
    seed: Option<i64>,
    extra: Vec<(Box<str>, Box<str>, Value)>,
    tenant: Option<Arc<str>>,
    stream: bool,
    received: bool,
    #[serde(skip)]
    kept: Kept,
}

impl Request {
    /// Asks this model; nothing is said yet.
    pub fn new(model: impl Into<Box<str>>) -> Self {
        Self { asked: Arc::new(Asked { model: model.into(), ..Asked::default() }), context: None, sink: None }
    }

    /// Asks another model the same.
    #[must_use]
    pub fn model(self, model: impl Into<Box<str>>) -> Self {
        self.set(|asked| asked.model = model.into())
    }

    /// Sets what the model is told before the conversation.
    #[must_use]
    pub fn system(self, text: impl Into<Arc<str>>) -> Self {
        self.set(|asked| asked.system = Some(text.into()))
    }

    /// Adds a question.
    #[must_use]
    pub fn user(self, text: impl Into<String>) -> Self {
        self.message(Message::user(text))
    }

    /// Adds what a tool gave, for the call of this id.
    #[must_use]
    pub fn tool_result(self, call_id: impl Into<Arc<str>>, content: impl Into<Arc<str>>) -> Self {
        self.message(Message::tool(call_id, content))
    }

    /// Adds a turn, such as [`Reply::message`](super::Reply::message) of the last answer.
    #[must_use]
    pub fn message(self, message: Message) -> Self {
        self.set(|asked| asked.messages.push(message))
    }

    /// Sets the whole history.
    #[must_use]
    pub fn history(self, messages: impl IntoIterator<Item = Message>) -> Self {
        self.set(|asked| asked.messages = messages.into_iter().collect())
    }

    /// Adds a tool that the model may ask for.
    #[must_use]
    pub fn tool(self, tool: Tool) -> Self {
        self.set(|asked| asked.tools.push(tool))
    }

    /// Sets whether the model may, must or must not call tools. Default: as it likes.
    #[must_use]
    pub fn tool_choice(self, choice: ToolChoice) -> Self {
        self.set(|asked| asked.tool_choice = choice)
    }

    /// Sets whether one answer may call several tools. Default: as the provider has it.
    #[must_use]
    pub fn parallel_tool_calls(self, allowed: bool) -> Self {
        self.set(|asked| asked.parallel_tool_calls = Some(allowed))
    }

    /// Sets what the answer must look like. Default: free text.
    #[must_use]
    pub fn response_format(self, format: ResponseFormat) -> Self {
        self.set(|asked| asked.response_format = format)
    }

    /// Caps the tokens of the answer.
    #[must_use]
    pub fn max_tokens(self, tokens: u32) -> Self {
        self.set(|asked| asked.max_tokens = Some(tokens))
    }

    /// Sets how freely the model chooses its words.
    #[must_use]
    pub fn temperature(self, temperature: f64) -> Self {
        self.set(|asked| asked.temperature = Some(temperature))
    }

    /// Sets the share of the likeliest words that the model chooses from.
    #[must_use]
    pub fn top_p(self, share: f64) -> Self {
        self.set(|asked| asked.top_p = Some(share))
    }

    /// Adds a text that ends the answer where the model writes it.
    #[must_use]
    pub fn stop(self, text: impl Into<Box<str>>) -> Self {
        self.set(|asked| asked.stop.push(text.into()))
    }

    /// Asks for the same answer to the same request, as far as the provider can.
    #[must_use]
    pub fn seed(self, seed: i64) -> Self {
        self.set(|asked| asked.seed = Some(seed))
    }

    /// Sets a field that seawall does not know. Only the provider of this name gets it, so that a switch to another
    /// one does not end in a refusal.
    #[must_use]
    pub fn extra(self, provider: impl Into<Box<str>>, field: impl Into<Box<str>>, value: Value) -> Self {
        let (provider, field) = (provider.into(), field.into());
        self.set(|asked| {
            asked.extra.retain(|(to, name, _)| (to, name) != (&provider, &field));
            asked.extra.push((provider, field, value));
        })
    }

    /// Has the answer come piece by piece: see [`Reply::next`](super::Reply::next).
    #[must_use]
    pub fn stream(self) -> Self {
        self.set(|asked| asked.stream = true)
    }

    /// Has what is received come along as it came: each event of a stream in front of what it means, as
    /// [`Item::Event`](super::Item::Event), and the body of a whole answer as [`Answer::received`](super::Answer::received). For a
    /// proxy that hands them on. An event that is no JSON in UTF-8 is left out, as it is passed over.
    #[must_use]
    pub fn received(self) -> Self {
        self.set(|asked| asked.received = true)
    }

    /// Says for whom the call is made, for limits and credit by tenant, which are to come. It is never sent.
    #[must_use]
    pub fn tenant(self, tenant: impl Into<Arc<str>>) -> Self {
        self.set(|asked| asked.tenant = Some(tenant.into()))
    }

    fn set(mut self, change: impl FnOnce(&mut Asked)) -> Self {
        change(self.asked_mut());
        self
    }

    /// To change it: then it is no longer what was encoded.
    fn asked_mut(&mut self) -> &mut Asked {
        let asked = Arc::make_mut(&mut self.asked);
        asked.kept = Kept::default();
        asked
    }
}

impl Map<Request> for Model {
    fn map(&self, request: Request) -> Request {
        if request.model_name() == self.name() { request } else { request.model(self.name()) }
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("model", &self.asked.model)
            .field("messages", &self.asked.messages.len())
            .field("tools", &self.asked.tools.len())
            .finish_non_exhaustive()
    }
}
