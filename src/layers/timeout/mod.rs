//! Ends calls and attempts that take too long.
//!
//! [`DeadlineLayer`] limits a whole call, with its retries, its waits and its time in queues. [`AttemptTimeoutLayer`]
//! limits one send, by phase:
//!
//! | phase | default | because |
//! |---|---|---|
//! | connecting | 10 s | set in the transport, which alone knows: [`provider`](crate::provider)'s own client does |
//! | first byte, of a stream | 60 s | a model streams its first words soon, or hangs |
//! | first byte, of a whole reply | 600 s | nothing comes before the last word is written |
//! | first token, of a chat's stream | as long as that | models think before they speak; comments and pings do not count |
//! | idle, in a body or a stream | 60 s | providers send pings while a model thinks |
//!
//! # Example
//!
//! ```
//! use seawall::{Error, timeout::{AttemptTimeoutLayer, DeadlineLayer}};
//! use std::time::Duration;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = service_fn(|prompt: &'static str| async move { Ok::<_, Error>(format!("{prompt}, world")) });
//! let stack = ServiceBuilder::new()
//!     .layer(DeadlineLayer::new(Duration::from_secs(120))?)
//!     .layer(AttemptTimeoutLayer::new().whole(Duration::from_secs(45))?)
//!     .service(model);
//! assert_eq!(stack.oneshot("hello").await?, "hello, world");
//! # Ok(())
//! # }
//! ```
//!
//! # Where it goes
//! The deadline outside everything that waits: retries, limits, buffers. The attempt timeout inside everything that
//! repeats or waits, around the client. Both keep the same deadline where the shape carries a
//! [`Context`](crate::Context), and the attempt timeout comes first: its error travels up through retries, which add the
//! sends and failures before it. The deadline itself ends what knows of none, such as a foreign queue.
//!
//! Timers are tokio's: a call that has to wait does so in a runtime with time enabled. One that does not wait arms none.
//!
//! # What it reserves
//! The attempt timeout forwards readiness, and gives it back where it refuses a call whose time is over. The deadline is
//! always ready, and makes a clone of what it wraps ready in its future: a wait before `call` would be outside every
//! limit, and an idle instance holds no permit this way. Load shedding therefore belongs inside it.
//!
//! # On drop
//! The work is dropped, and the timer with it; nobody is told. Where a limit ends the work, it is dropped at once, also if
//! the future is kept.
mod attempt;
mod deadline;
mod timer;

pub use attempt::{AttemptFuture, AttemptTimeout, AttemptTimeoutLayer, Idle};
pub use deadline::{Deadline, DeadlineFuture, DeadlineLayer};
