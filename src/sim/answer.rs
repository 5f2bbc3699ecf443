use super::{Framing, Spread, Stream};
use crate::Invalid;

/// How the provider answers where nothing goes wrong. At once and with text, by default.
///
/// With tools to ask for, a whole conversation of them plays: see [`tool_call`](Self::tool_call).
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::{chat, provider::OpenAi, sim::{Answer, InProcess, Script}};
/// use tower::ServiceExt;
///
/// let answer = Answer::default().tool_call("add", r#"{"a":4,"b":2}"#).text("Six.");
/// let client = OpenAi::without_key().over(InProcess::new(Script::seeded(7).answer(answer))?);
/// let asked = chat::Request::new("m").tool(chat::Tool::new("add", "Adds.")).user("What is 4 + 2?");
/// let called = client.clone().oneshot(asked.clone()).await?;
/// let id = called.tool_calls().next().unwrap().id();
/// let told = client.oneshot(asked.message(called.message().clone()).tool_result(id, "6")).await?;
/// assert_eq!(told.text(), "Six.");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub(super) delay: Spread,
    pub(super) framing: Framing,
    pub(super) text: Option<String>,
    pub(super) echo: bool,
    pub(super) reasoning: Option<String>,
    pub(super) refusal: Option<String>,
    pub(super) tool_calls: Vec<Call>,
    pub(super) cached: u32,
    pub(super) cache_written: u32,
    pub(super) filtered: bool,
    pub(super) stream: Stream,
}

/// A tool that the answer asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) arguments: String,
}

impl Answer {
    /// Thinks so long before the head.
    #[must_use]
    pub fn delay(self, delay: impl Into<Spread>) -> Self {
        Self { delay: delay.into(), ..self }
    }

    /// Frames whole bodies in this way. Streams are chunked.
    #[must_use]
    pub fn framing(self, framing: Framing) -> Self {
        Self { framing, ..self }
    }

    /// Says this, in place of a sentence of its own. It ends where a stop text of the request begins.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..self }
    }

    /// Says what the last text of the user's says, in place of a sentence of its own, so that an answer can be told to belong to its
    /// question. Where the user wrote none, it is that sentence.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use seawall::{chat, provider::OpenAi, sim::{Answer, InProcess, Script}};
    /// use tower::ServiceExt;
    ///
    /// let client = OpenAi::without_key().over(InProcess::new(Script::seeded(7).answer(Answer::default().echo()))?);
    /// let reply = client.oneshot(chat::Request::new("m").user("call 12")).await?;
    /// assert_eq!(reply.text(), "call 12");
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn echo(self) -> Self {
        Self { echo: true, ..self }
    }

    /// Asks for a tool, in place of the text; called several times, for several tools in one answer.
    ///
    /// Calls are given to a request that offers tools and allows calls, and behind whose last turn of the model's stands no
    /// result: so a question is answered with calls, their results with the text, and the next question with calls again.
    /// Without parallel calls only the first one is made, and of calls that go beyond the cap on tokens none.
    ///
    /// Arguments are JSON as text and go out byte for byte. Where they are no JSON object, Anthropic has no place for them:
    /// there they are `{"INVALID_JSON": "…"}`, and `{}` where they are empty. The ids depend on the seed and on the number of
    /// the request.
    #[must_use]
    pub fn tool_call(mut self, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.tool_calls.push(Call { name: name.into(), arguments: arguments.into() });
        self
    }

    /// Thinks this before it answers or asks for tools: `reasoning_content` in OpenAI's form, as many servers have it, and a
    /// signed `thinking` block in Anthropic's. It counts against the cap on tokens.
    #[must_use]
    pub fn reasoning(self, text: impl Into<String>) -> Self {
        Self { reasoning: Some(text.into()), ..self }
    }

    /// Refuses in these words: as `refusal` in OpenAI's form, and as the explanation of the stop in Anthropic's, whose
    /// content is empty then.
    #[must_use]
    pub fn refusal(self, text: impl Into<String>) -> Self {
        Self { refusal: Some(text.into()), ..self }
    }

    /// Ends where it is as a content filter ends it: with `content_filter` in OpenAI's form, and with `refusal` in Anthropic's.
    #[must_use]
    pub fn filtered(self) -> Self {
        Self { filtered: true, ..self }
    }

    /// Streams in this way, where a request asks for a stream.
    #[must_use]
    pub fn stream(self, stream: Stream) -> Self {
        Self { stream, ..self }
    }

    /// Reports so many tokens of the prompt as read from a cache, or all where it has less. Default 0.
    #[must_use]
    pub fn cached(self, tokens: u32) -> Self {
        Self { cached: tokens, ..self }
    }

    /// Reports so many tokens of the rest of the prompt as written to a cache. Default 0.
    #[must_use]
    pub fn cache_written(self, tokens: u32) -> Self {
        Self { cache_written: tokens, ..self }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        if self.echo && self.text.is_some() {
            return Err(Invalid::new("echo", "takes the place of `text`; leave one out"));
        }
        let goes_on = self.echo || self.text.is_some() || !self.tool_calls.is_empty() || self.filtered;
        if self.refusal.is_some() && goes_on {
            let reason = "stands alone: an answer that refuses has no text, calls no tools and is not filtered";
            return Err(Invalid::new("refusal", reason));
        }
        self.stream.check()?;
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let bad = |call: &&Call| !(1..=64).contains(&call.name.len()) || !call.name.bytes().all(legal);
        match self.tool_calls.iter().find(bad) {
            Some(Call { name, .. }) => Err(Invalid::new(
                "tool-call",
                format!("{name:?} is no name of a tool: it takes 1 to 64 letters, digits, `_` and `-`"),
            )),
            None => Ok(()),
        }
    }
}
