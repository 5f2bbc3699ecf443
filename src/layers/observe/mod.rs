//! Watches calls: spans, meters, and whoever listens.
mod future;
mod label;
mod layer;
mod observation;
mod service;
mod span;
mod telemetry;
mod watch;

pub use future::ResponseFuture;
pub use layer::ObserveLayer;
pub use observation::Observation;
pub use service::Observe;
pub use telemetry::{telemetry, telemetry_of};
