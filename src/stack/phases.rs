//! What a builder can be told of answers that come in parts.
use super::Builder;
use crate::{Http, KeyBy, chat::Chat, recovery::Recovery};
use std::time::Duration;

/// Shapes whose answers come in parts: [`Http`], [`Chat`], or one of yours that keeps guards until an answer is over.
#[diagnostic::on_unimplemented(
    message = "to shape `{Self}` an answer has no parts, so nothing limits them",
    note = "`Stack::http` and `Stack::chat` have answers in parts; of others `whole` limits the wait"
)]
pub trait InParts {}

impl InParts for Http {}
impl InParts for Chat {}
impl<H: InParts, F> InParts for KeyBy<H, F> {}

/// Shapes whose streams are there with their first content, and are read to their end where that is asked for: [`Chat`], or one of yours.
#[diagnostic::on_unimplemented(
    message = "shape `{Self}` does not know the content of a stream from its comments",
    note = "`Stack::chat` does"
)]
pub trait InTokens {}

impl InTokens for Chat {}
impl<H: InTokens, F> InTokens for KeyBy<H, F> {}

// The bound is one of each method, as rustc shows the words of these traits for no bound of an `impl`.
impl<R, H> Builder<R, H> {
    /// Limits the wait for the head of a stream. Default 60 s: a server that streams says so soon, or hangs.
    ///
    /// The client of a chat, which alone sees that head, is told of it, and a client of yours finds it in the
    /// [`Context`](crate::Context::first_byte).
    pub fn first_byte(mut self, most: Duration) -> Self
    where
        H: InParts,
    {
        self.settings.first_byte = Some(most);
        self
    }

    /// Limits the wait for the first content of a stream; comments and pings do not count. Default: as long as
    /// [`whole`](Self::whole), as models think before they speak. A shorter one finds a provider that hangs sooner.
    pub fn first_token(mut self, most: Duration) -> Self
    where
        H: InTokens,
    {
        self.settings.first_token = Some(most);
        self
    }

    /// Limits the silence between two parts of an answer that has begun, comments and pings included. Default 60 s.
    ///
    /// The client of a chat is told of it in the [`Context`](crate::Context), and keeps it before the first content too; in whole replies
    /// it keeps [its own](crate::provider::Client::idle).
    pub fn idle(mut self, most: Duration) -> Self
    where
        H: InParts,
    {
        self.settings.idle = Some(most);
        self
    }

    /// Sets what becomes of a stream that breaks off after its first content. Default [`Recovery::Fail`]: its reader gets the error.
    ///
    /// With [`Recovery::BufferThenRestart`] nothing is shown before the end, and an answer that is cut is a failure like any other: it is
    /// retried, and switches where failover was told to.
    ///
    /// ```
    /// use seawall::{Stack, chat, recovery::Recovery};
    ///
    /// # fn example(openai: impl Model, deepseek: impl Model) -> Result<(), seawall::Invalid> {
    /// let stack = Stack::chat(openai).recovery(Recovery::BufferThenRestart).then(deepseek).on_failure().build()?;
    /// # Ok(()) }
    /// # trait Model: tower::Service<chat::Request, Response = chat::Reply, Error = seawall::Error> + Clone {}
    /// ```
    pub fn recovery(mut self, recovery: Recovery) -> Self
    where
        H: InTokens,
    {
        self.settings.recovery = recovery;
        self
    }
}
