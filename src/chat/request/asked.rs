use super::Request;
use crate::{
    Context, Sink,
    chat::{Message, ResponseFormat, Tool, ToolChoice, kept::Kept},
};
use serde_json::Value;

/// What was asked, for dialects and layers.
impl Request {
    /// The model's name.
    #[must_use]
    pub fn model_name(&self) -> &str {
        &self.asked.model
    }

    /// What the model is told before the conversation.
    #[must_use]
    pub fn system_text(&self) -> Option<&str> {
        self.asked.system.as_deref()
    }

    /// The turns, oldest first.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.asked.messages
    }

    /// The tools that the model may ask for.
    #[must_use]
    pub fn tools(&self) -> &[Tool] {
        &self.asked.tools
    }

    /// What was set with [`tool_choice`](Self::tool_choice).
    #[must_use]
    pub fn chosen_tools(&self) -> &ToolChoice {
        &self.asked.tool_choice
    }

    /// What was set with [`parallel_tool_calls`](Self::parallel_tool_calls).
    #[must_use]
    pub fn parallel_calls(&self) -> Option<bool> {
        self.asked.parallel_tool_calls
    }

    /// What the answer must look like.
    #[must_use]
    pub fn format(&self) -> &ResponseFormat {
        &self.asked.response_format
    }

    /// The cap on the tokens of the answer.
    #[must_use]
    pub fn token_cap(&self) -> Option<u32> {
        self.asked.max_tokens
    }

    /// What was set with [`temperature`](Self::temperature) and [`top_p`](Self::top_p).
    #[must_use]
    pub fn sampling(&self) -> (Option<f64>, Option<f64>) {
        (self.asked.temperature, self.asked.top_p)
    }

    /// The texts that end the answer.
    #[must_use]
    pub fn stops(&self) -> &[Box<str>] {
        &self.asked.stop
    }

    /// What was set with [`seed`](Self::seed).
    #[must_use]
    pub fn chosen_seed(&self) -> Option<i64> {
        self.asked.seed
    }

    /// The unknown fields for the provider of this name.
    pub fn extras(&self, provider: &str) -> impl Iterator<Item = (&str, &Value)> {
        let own = self.asked.extra.iter().filter(move |(to, ..)| **to == *provider);
        own.map(|(_, field, value)| (&**field, value))
    }

    /// Whether the answer is to come piece by piece.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.asked.stream
    }

    /// Whether what is received is wanted as it came.
    #[must_use]
    pub fn wants_received(&self) -> bool {
        self.asked.received
    }

    /// For whom the call is made.
    #[must_use]
    pub fn tenant_name(&self) -> Option<&str> {
        self.asked.tenant.as_deref()
    }

    /// What the call still may do, where a layer or [`with_context`](Self::with_context) said so.
    #[must_use]
    pub fn context(&self) -> Option<Context> {
        self.context
    }

    /// Sets what the call may do: its deadline, its sends.
    #[must_use]
    pub fn with_context(self, context: Context) -> Self {
        Self { context: Some(context), ..self }
    }

    /// Who is told of what happens to it below the layers, where a stack said so.
    #[must_use]
    pub fn sink(&self) -> Option<&Sink> {
        self.sink.as_ref()
    }

    pub(crate) fn kept(&self) -> &Kept {
        &self.asked.kept
    }

    pub(in crate::chat) fn set_context(&mut self, context: Context) {
        self.context = Some(context);
    }

    pub(in crate::chat) fn set_sink(&mut self, sink: Sink) {
        self.sink = Some(sink);
    }
}
