//! Tower layers that keep calls to LLM providers standing.
//!
//! ```no_run
//! use seawall::{Stack, chat, provider::OpenAi};
//! use std::time::Duration;
//!
//! # #[cfg(feature = "reqwest")]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = OpenAi::from_env()?.client()?;
//! let stack = Stack::chat(client).deadline(Duration::from_secs(120)).build()?;
//! let reply = stack.ask(chat::Request::new("gpt-4o-mini").user("What is a seawall?")).await?;
//! println!("{}", reply.text());
//! # Ok(())
//! # }
//! ```
//!
//! - [`Error`] is what every failure becomes, once, at the bottom. Layers only ask its questions.
//! - [`classify`] makes it of HTTP answers, transport errors and anybody's own errors.
//! - [`retry`] asks again after a jittered, growing delay, within a budget; [`timeout`] ends calls and attempts;
//!   [`concurrency_limit`] lets so many calls through at once, to the end of their answers.
//! - [`circuit_breaker`] stops asking a provider that fails or limits; [`failover`] asks the next one.
//! - [`recovery`] reads a stream to its end before it is shown, where that is asked for, so that one that was cut starts over.
//! - [`observe`] makes spans and metrics of calls, and tells whoever listens.
//! - [`Stack`] puts the layers in their places; each also stands alone in a `tower::ServiceBuilder`.
//! - [`chat`] and [`provider`] are the words of a conversation, and clients that speak them.
//! - [`sse`] cuts a stream of server-sent events into frames.
//! - `sim` (feature `mock-provider`) is a provider that misbehaves, for tests.
//!
//! Every layer has one parameter for the [`Shape`] of what passes through it: [`Bare`] for any request, [`Http`] for
//! `http` types, [`chat::Chat`] for chats. A layer's guard stays in an answer until that is over: see [`Ending`]. What a
//! call still may do travels with it: see [`Context`].
//!
//! Timers are tokio's: a call that has to wait does so in a runtime of tokio's with time enabled, and panics outside one.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod change;
mod context;
mod ending;
mod error;
mod event;
mod gate;
mod invalid;
mod keyed;
mod layers;
mod models;
mod rng;
mod secret;
mod shape;
mod time;
mod usage;

#[cfg(any(feature = "axum", feature = "otlp", feature = "prometheus", feature = "tonic"))]
pub mod adapters;
pub mod chat;
pub mod provider;
pub mod serve;
#[cfg(feature = "mock-provider")]
#[cfg_attr(docsrs, doc(cfg(feature = "mock-provider")))]
pub mod sim;
pub mod sse;
pub mod stack;

pub use change::{Change, Mend};
pub use context::{Call, Context};
pub use ending::{Ending, Guard, Held, Outcome, Seen, Show};
pub use error::{Attempt, Error, Failover, GaveUp, Kind, Origin, Phase, Scope, Trail};
pub use event::{Event, Sink, What};
pub use gate::{CircuitState, Gate};
pub use invalid::Invalid;
pub use layers::{circuit_breaker, classify, concurrency_limit, failover, observe, recovery, retry, timeout};
pub use models::{Capabilities, Models};
pub use rng::Rng;
pub use secret::Secret;
pub use shape::{AsIs, Bare, Both, Gather, Http, InCall, KeyBy, Map, Model, Note, Replay, SendOnce, Shape};
pub use stack::Stack;
pub use usage::Usage;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
