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
//! # Where it goes
//! [`Chat`] is the shape of layers between these types: `RetryLayer::new().shape(Chat)` and its like.
mod answer;
mod block;
mod estimate;
mod format;
mod kept;
mod media;
mod message;
mod reply;
mod request;
mod shape;
mod stream;
mod tool;

pub use answer::{Answer, FinishReason};
pub use block::{Native, Reasoning, Text};
pub use format::ResponseFormat;
pub use media::{Media, Source};
pub use message::{Message, Part, Role};
pub use reply::Reply;
pub use request::Request;
pub(crate) use request::SETTINGS;
pub use shape::Chat;
pub use stream::Item;
pub use tool::{Tool, ToolCall, ToolChoice, ToolResult};
