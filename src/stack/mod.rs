//! The paved path: every layer in its place, with defaults that suit calls to models.
//!
//! # Example
//! ```
//! use seawall::{Error, Stack};
//! use std::time::Duration;
//!
//! async fn model(prompt: &'static str) -> Result<usize, Error> {
//!     Ok(prompt.len())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let stack = Stack::bare(tower::service_fn(model)).deadline(Duration::from_secs(120)).build()?;
//! assert_eq!(stack.ask("hello").await?, 5);
//! # Ok(())
//! # }
//! ```
//!
//! Several routes, of one type or of many, are asked in their order:
//!
//! ```
//! # use seawall::{Error, Stack, failover::On};
//! # async fn model(prompt: &'static str) -> Result<usize, Error> { Ok(prompt.len()) }
//! # async fn other(prompt: &'static str) -> Result<usize, Error> { Ok(prompt.len()) }
//! let stack = Stack::bare(tower::service_fn(model))
//!     .name("eu")
//!     .then(tower::service_fn(other))
//!     .name("us")
//!     .on_429()
//!     .on([On::Overloaded])
//!     .build()?;
//! println!("{stack:?}"); // the layers in their order
//! # Ok::<(), seawall::Invalid>(())
//! ```
//!
//! # Around a client that you have
//! Its answers are judged where it stands, by a [`ClassifyLayer`](crate::classify::ClassifyLayer), and its own retries are off, as the
//! stack counts each send.
//!
//! | client | stack | example |
//! |---|---|---|
//! | `reqwest::Client` | `Stack::http(ClassifyLayer::reqwest().layer(client))` | `reqwest_client` |
//! | a service of `http` requests, such as hyper's | `Stack::http(ClassifyLayer::http().layer(service))` | `clients`: `rig` |
//! | a channel of tonic's | `Stack::http(GrpcClassifyLayer::new().layer(channel))` | `tonic_channel` |
//! | async-openai | its `with_http_service` takes a stack over reqwest | `clients`: `async_openai` |
//! | rig | its `HttpClientExt` is implemented over a stack of `http` requests | `clients`: `rig` |
//! | genai, and any other | `Stack::bare(ClassifyLayer::with(judge).layer(service))` | `own_service`, `clients`: `genai` |
//!
//! # Where it goes
//! Around a client, and innermost of all that is yours. From the outside in: one [operation](crate::observe), the
//! [deadline](crate::timeout) of the call, [failover](crate::failover) where there are several routes, with a
//! [retry](crate::retry) around it where rounds are asked for; and in each of them
//! [retry](crate::retry), the [recovery](crate::recovery) of streams, the [limit of calls at once](crate::concurrency_limit), the
//! [circuit breaker](crate::circuit_breaker) with its cool-down, one [attempt](crate::observe) and its [timeout](crate::timeout), the service.
//! Each layer also stands alone in a plain `tower::ServiceBuilder`.
//!
//! Requests travel inside as a [`Call`](crate::Call) with their [`Context`](crate::Context). A request that brings one of
//! its own, out of a stack further out, goes on with that, so that nested stacks share one deadline and one count of
//! sends.
//!
//! # What it reserves
//! Nothing while it is idle: it is always ready, and makes a clone of the service ready in each call's future, within
//! the call's deadline.
//!
//! # On drop
//! The running attempt, or the wait, is cancelled.

// `service` begins a builder, `builder`, `phases` and `routes` take the settings, `routes` has `build`, `settings` checks them and makes
// layers of them, `pave` puts these in their order, `paved` has the types that come of it; `service` is the stack itself,
// `order` its `Debug`.
mod ask;
mod boxed;
mod builder;
mod leaf;
mod order;
mod pave;
mod paved;
mod phases;
mod routes;
mod service;
mod settings;

use order::Order;
use paved::Whole;
use settings::Settings;

pub use ask::Ask;
pub use boxed::Boxed;
pub use builder::Builder;
pub use leaf::Leaf;
pub use pave::{Pave, Plan};
pub use paved::{Paved, Several};
pub use phases::{InParts, InTokens};
pub use routes::Many;
pub use service::Stack;
