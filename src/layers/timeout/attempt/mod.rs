//! One send, by phase.
mod future;
mod idle;
mod layer;
mod service;

pub use future::AttemptFuture;
pub use idle::Idle;
pub use layer::AttemptTimeoutLayer;
pub use service::AttemptTimeout;
