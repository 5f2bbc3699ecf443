//! Clients of providers: a dialect over any HTTP client. [`OpenAi`] speaks chat completions, [`Anthropic`] messages. A
//! [`Preset`] is what makes the former one of the many that speak nearly like OpenAI.
//!
//! # Example
//! ```no_run
//! use seawall::{chat, provider::OpenAi};
//! use tower::ServiceExt as _;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # #[cfg(feature = "reqwest")] {
//! let client = OpenAi::from_env()?.client()?;
//! let question = chat::Request::new("gpt-4o-mini").system("Be brief.").user("What is a seawall?");
//! let reply = client.oneshot(question).await?;
//! println!("{}", reply.text());
//! # }
//! # Ok(())
//! # }
//! ```
//!
//! # Streams
//! A request that says [`stream`](crate::chat::Request::stream) is answered with the first content, and read by
//! [`Reply::next`](crate::chat::Reply::next). An error in its place is an ordinary one. The end is judged by the protocol: OpenAI's
//! is a finish reason, with or without `[DONE]`, Anthropic's `message_stop`; behind a finish reason a usage may follow within a
//! second. Any other end is a failure of kind [`Transport`](crate::Kind::Transport), delivered. Where no usage was told, an estimate
//! comes before either end. Behind its ending a stream is read on for at most 20 ms, so that its connection serves the next request.
//! A whole reply in the place of a stream is one, whatever its content type; JSON of an error, or a page, is that failure. An event of up to 8 MiB is
//! read; a longer one is such a failure too, and one that is no JSON of the dialect is passed over and
//! [counted](crate::chat::Reply::skipped). A dialect of your own brings an [`Assemble`] for its events.
//!
//! # Where it goes
//! Innermost, with every layer around it. A [`Client`] encodes the request, sends it once through a service of
//! `http::Request`, judges the answer and decodes it; it never repeats anything by itself. That service is
//! `Reqwest`, or anybody's own: [`OpenAi::over`] takes it, and its errors are classified.
//!
//! # What it reserves
//! What the service below reserves. A request that cannot be encoded gives that back unused.
//!
//! # On drop
//! The request below is dropped, which ends it upstream. What was read of the answer is lost.
mod anthropic;
mod assemble;
mod check;
mod client;
mod dialect;
mod endpoint;
mod events;
mod fit;
mod front;
mod future;
mod ids;
mod joined;
mod learned;
mod openai;
mod reader;
mod reading;
#[cfg(feature = "reqwest")]
mod reqwest;
mod text;
mod told;
mod turns;
mod wire;

pub use anthropic::Anthropic;
pub use assemble::{Assemble, Stage};
pub use client::Client;
pub use dialect::Dialect;
pub use fit::Fit;
pub use future::ResponseFuture;
pub use openai::{CallIds, NoText, OpenAi, Preset};
#[cfg(feature = "reqwest")]
#[cfg_attr(docsrs, doc(cfg(feature = "reqwest")))]
pub use reqwest::{Reqwest, Sending};
