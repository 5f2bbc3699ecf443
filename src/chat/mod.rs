//! The words of a conversation with a model: what is asked, and what comes back.
//!
//! They are plain data, the same for every provider; a [`Dialect`](crate::provider::Dialect) knows how each says them.
//! A [`Request`] and a [`Message`] are shared inside, so that a retry or a switch to another route copies no text.
//!
//! `Debug` of a [`Request`] and of a [`Reply`] shows no text, as it may end in a log. That of their parts does: of a
//! [`Message`], an [`Answer`], an [`Item`].
//!
//! # Example
//! ```
//! use seawall::chat;
//!
//! let request = chat::Request::new("gpt-4o-mini").system("Answer in one word.").user("What colour is the sea?");
//! assert_eq!(request.messages().len(), 1); // the system text stands apart
//!
//! let twin = request.clone(); // no text is copied
//! assert_eq!(twin.estimate(), request.estimate());
//! ```
//!
//! # A client that you have already
//! Whatever answers a [`Request`] with a [`Reply`] can stand in a stack. Its failures are classified once, here: by status
//! and body where the client shows them, else by the [`Kind`](crate::Kind) that you know it to be. Turn its own retries off.
//! ```
//! use seawall::{Error, Kind, Stack, chat, classify::Classifier};
//! use std::{future::Future, pin::Pin, task::{Context, Poll}};
//!
//! # mod theirs {
//! #     #[derive(Clone)]
//! #     pub struct Client;
//! #     pub enum Failure { Answered { status: u16, body: String }, Broken }
//! #     impl Client {
//! #         pub async fn complete(&self, model: &str, prompt: &str) -> Result<String, Failure> {
//! #             match model {
//! #                 "busy" => Err(Failure::Answered { status: 503, body: prompt.to_owned() }),
//! #                 "gone" => Err(Failure::Broken),
//! #                 _ => Ok("Blue.".to_owned()),
//! #             }
//! #         }
//! #     }
//! # }
//! #[derive(Clone)]
//! struct Adapter(theirs::Client);
//!
//! impl tower::Service<chat::Request> for Adapter {
//!     type Response = chat::Reply;
//!     type Error = Error;
//!     type Future = Pin<Box<dyn Future<Output = Result<chat::Reply, Error>> + Send>>;
//!
//!     fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
//!         Poll::Ready(Ok(()))
//!     }
//!
//!     fn call(&mut self, request: chat::Request) -> Self::Future {
//!         let client = self.0.clone();
//!         Box::pin(async move {
//!             let prompt = request.messages().last().map(|turn| turn.text().into_owned()).unwrap_or_default();
//!             match client.complete(request.model_name(), &prompt).await {
//!                 Ok(text) => Ok(chat::Reply::whole(chat::Answer::new(chat::Message::assistant(text)))),
//!                 Err(theirs::Failure::Answered { status, body }) => {
//!                     let status = status.try_into().unwrap_or(http::StatusCode::BAD_GATEWAY);
//!                     Err(Classifier::new().answer(status, &http::HeaderMap::new(), body.as_bytes()))
//!                 }
//!                 Err(theirs::Failure::Broken) => Err(Error::provider(Kind::Transport)),
//!             }
//!         })
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let stack = Stack::chat(Adapter(theirs::Client)).build()?;
//! let reply = stack.ask(chat::Request::new("m").user("What colour is the sea?")).await?;
//! assert_eq!(reply.text(), "Blue.");
//! # for (model, kind) in [("busy", Kind::Overloaded), ("gone", Kind::Transport)] {
//! #     let error = stack.ask(chat::Request::new(model).user("?")).await.unwrap_err();
//! #     assert_eq!((error.kind(), error.sends()), (kind, 3));
//! # }
//! # Ok(()) }
//! ```
//!
//! # Where it goes
//! [`Chat`] is the shape of layers between these types: `RetryLayer::new().shape(Chat)` and its like.
mod answer;
mod block;
mod estimate;
mod format;
mod gathering;
mod input;
mod kept;
mod media;
mod message;
mod reply;
mod request;
mod result;
mod shape;
mod stream;
mod tool;

pub use answer::{Answer, FinishReason};
pub use block::{Native, Reasoning, Text};
pub use format::ResponseFormat;
pub use gathering::Gathering;
pub(crate) use input::Input;
pub(crate) use kept::Kept;
pub use media::{Media, Source};
pub use message::{Message, Part, Role};
pub use reply::Reply;
pub use request::Request;
pub(crate) use request::SETTINGS;
pub use result::ToolResult;
pub use shape::Chat;
pub use stream::Item;
pub use tool::{Tool, ToolCall, ToolChoice};
