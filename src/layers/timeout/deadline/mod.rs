//! A whole call, until its future resolves.
mod future;
mod layer;
mod service;

pub use future::DeadlineFuture;
pub use layer::DeadlineLayer;
pub use service::Deadline;
