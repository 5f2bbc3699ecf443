//! Retries failed calls after a jittered, growing delay, within a budget.
//!
//! # Example
//! ```
//! use seawall::{Error, Kind, retry::RetryLayer};
//! use std::sync::atomic::{AtomicU32, Ordering};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! static SENDS: AtomicU32 = AtomicU32::new(0);
//!
//! async fn model(prompt: String) -> Result<usize, Error> {
//!     match SENDS.fetch_add(1, Ordering::Relaxed) {
//!         0 => Err(Error::provider(Kind::Overloaded)),
//!         _ => Ok(prompt.len()),
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Error> {
//! let service = ServiceBuilder::new().layer(RetryLayer::new()).service(service_fn(model));
//! assert_eq!(service.oneshot("hello".to_owned()).await?, 5);
//! # Ok(())
//! # }
//! ```
//!
//! # What is retried, and when
//! What [`is_retryable`](crate::Error::is_retryable), twice by default: three attempts. A retry waits what the other side
//! asked for, with jitter on top and never below it, or else by its [`Schedule`]. A call ends at once, and its error
//! [says why](crate::Error::gave_up), where a wait is longer than [`max_wait`](RetryLayer::max_wait) or would end past the deadline,
//! where its sends are spent, or the [`Budget`] that it shares with others.
//!
//! A refusal of ours that names a wait (an open circuit, a full local limit) is waited out without spending an attempt,
//! for at most [`patience`](RetryLayer::patience) a call.
//!
//! While another route is open and would be asked after the failure
//! ([`Context::has_another_for`](crate::Context::has_another_for)), a switch beats most waits:
//!
//! | failure | alone | with others |
//! |---|---|---|
//! | rate limited | `max_retries` | 0, unless its wait is at most `wait_at_most` |
//! | server, transport, overloaded | `max_retries` | 1 |
//! | silence (timeout) | `max_retries` | 0 |
//! | a refusal of ours that names a wait | waited out | 0 |
//! | a conflict, which no route escapes | `max_retries` | `max_retries` |
//!
//! # Where it goes
//! Outside rate limits and breakers, so that each attempt is counted, and inside failover. Never outside a tool loop. Turn
//! the retries of the wrapped client off; where retries do stand inside each other, the sends of a
//! [`Context`](crate::Context) cap them all together.
//!
//! # What it reserves
//! Nothing of its own: readiness is that of the wrapped service. While it waits it holds a clone that is not ready.
//!
//! Of the request it keeps a copy as long as a retry can follow, and hands the last attempt the copy itself. A call with
//! one attempt or one send is therefore never cloned, and a refusal at the last attempt is not waited out. Where something
//! inside refuses, [`keep_last`](RetryLayer::keep_last) keeps a copy for that as well.
//!
//! # On drop
//! The running attempt, or the wait, is cancelled. What was drawn from the budget is not given back.
mod backoff;
mod budget;
mod foreign;
mod future;
mod layer;
mod policy;
mod schedule;
mod service;

pub use backoff::Backoff;
pub use budget::Budget;
#[cfg(feature = "backoff")]
#[cfg_attr(docsrs, doc(cfg(feature = "backoff")))]
pub use foreign::BackoffSchedule;
pub use foreign::TowerSchedule;
pub use future::ResponseFuture;
pub use layer::RetryLayer;
pub use schedule::Schedule;
pub use service::Retry;
