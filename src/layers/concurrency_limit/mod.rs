//! Lets so many calls through at once. The permit of a call rides to the end of its answer.
//!
//! # Example
//! ```
//! use seawall::{Error, concurrency_limit::ConcurrencyLimitLayer};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = service_fn(|prompt: &'static str| async move { Ok::<_, Error>(format!("{prompt}, world")) });
//! let service = ServiceBuilder::new().layer(ConcurrencyLimitLayer::new(8)?).service(model);
//! assert_eq!(service.oneshot("hello").await?, "hello, world");
//! # Ok(())
//! # }
//! ```
//!
//! # What it counts
//! Calls until their answers are over: an http body or a chat stream keeps its permit until it has ended or is dropped, as
//! a provider's own count of requests at once does. [`Bare`](crate::Bare) knows of no body, so there a permit is free with
//! the head of the answer. There is one limit for every service that a layer and its clones wrap.
//!
//! # How a call waits
//! First in, first out, in its future: only there is known how long it may take. A free permit is taken at once, and costs
//! no allocation; a wait costs the one box of tokio's semaphore. The place in the line is that of the first poll. The wait
//! ends
//!
//! | where | when | with |
//! |---|---|---|
//! | a [`Context`](crate::Context) brings a deadline | then | [`Kind::Deadline`](crate::Kind::Deadline) |
//! | another route is open ([`others`](crate::Context::others)) | after [`wait_at_most`](crate::Context::wait_at_most), by default at once | [`Kind::LocalLimit`](crate::Kind::LocalLimit), so that failover goes on |
//! | neither | never | |
//!
//! Nothing was sent then. The error names no wait, as nobody knows when an answer ends, and is therefore not retried; its
//! [`scope`](crate::Error::scope) is [`Scope::Concurrency`](crate::Scope::Concurrency).
//!
//! # Where it goes
//! Inside retries, so that a call that waits for its next attempt holds no permit; outside circuit breakers, so that nobody
//! who stood in line is sent into an outage that began meanwhile; outside the attempt timeout, so that a wait here does
//! not look like a provider that is silent.
//!
//! # What it reserves
//! Readiness is that of the wrapped service, and a ready service holds no permit. A call that finds the limit full gives
//! the readiness back; it waits for its permit first, and then makes a clone ready.
//!
//! # On drop
//! The permit is given back, or the place in the line.
mod future;
mod layer;
mod patience;
mod permit;
mod service;

pub use future::ResponseFuture;
pub use layer::ConcurrencyLimitLayer;
pub use permit::Permit;
pub use service::ConcurrencyLimit;
