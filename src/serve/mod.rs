//! The other side of the wire: clients of yours, in any language, ask a stack in the words of a provider.
//!
//! An [`Endpoint`] is a `tower::Service` of `http::Request`, for a framework's route; [`Asked`] is the same in two steps, for a
//! handler of your own. What goes wrong is told in the client's words by [`Failure`], before an answer and in the middle of a stream.
//!
//! # Example
//! See [`Endpoint`], and `examples/axum_service` for both protocols over one stack.
mod asked;
mod body;
mod drain;
mod endpoint;
mod failure;
mod items;
mod json;
mod limits;
mod protocol;
mod reading;

mod anthropic;
mod openai;

pub use anthropic::{Anthropic, Events};
pub use asked::{Asked, refuse};
pub use body::Body;
pub use drain::Drain;
pub use endpoint::Endpoint;
pub use failure::Failure;
#[cfg(feature = "tonic")]
pub(crate) use items::Items;
pub use limits::Limits;
pub use openai::{Chunks, OpenAi};
pub use protocol::{Protocol, Scribe, event};
