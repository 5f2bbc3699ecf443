//! Tower layers that keep calls to LLM providers standing.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod context;
mod ending;
mod error;
mod event;
mod gate;
mod invalid;
mod layers;
mod rng;
mod secret;
mod shape;
mod time;
mod usage;

pub mod chat;
pub mod provider;
#[cfg(feature = "mock-provider")]
#[cfg_attr(docsrs, doc(cfg(feature = "mock-provider")))]
pub mod sim;
pub mod sse;
pub mod stack;

pub use context::{Call, Context};
pub use ending::{Ending, Guard, Held, Outcome, Seen, Show};
pub use error::{Attempt, Error, Failover, GaveUp, Kind, Origin, Phase, Scope, Trail};
pub use event::{Event, Sink};
pub use gate::Gate;
pub use invalid::Invalid;
pub use layers::{classify, retry, timeout};
pub use rng::Rng;
pub use secret::Secret;
pub use shape::{Bare, Http, InCall, Note, Replay, Shape};
pub use stack::Stack;
pub use usage::Usage;
