//! Stops asking a provider that fails, and one that named a wait: circuit breaker and cool-down in one layer.
//!
//! # Example
//! ```
//! use seawall::{CircuitState, Error, Gate, Kind, circuit_breaker::{CircuitBreakerLayer, Window}};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! async fn model(_: &'static str) -> Result<String, Error> {
//!     Err(Error::provider(Kind::Server).with_status(500))
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let gate = Gate::new();
//! let layer = CircuitBreakerLayer::new().gate(&gate).policy(Window::default().consecutive(3)?);
//! let service = ServiceBuilder::new().layer(layer).service(service_fn(model));
//! for _ in 0..3 {
//!     assert_eq!(service.clone().oneshot("hello").await.unwrap_err().kind(), Kind::Server);
//! }
//! assert_eq!(gate.circuit(None), CircuitState::Open);
//!
//! let refusal = service.oneshot("hello").await.unwrap_err();
//! assert_eq!(refusal.kind(), Kind::CircuitOpen);
//! assert!(refusal.retry_after().is_some()); // until the first probe
//! assert_eq!(refusal.root().map(Error::kind), Some(Kind::Server)); // what opened it
//! # Ok(())
//! # }
//! ```
//!
//! # What counts
//! | how a call ended | circuit | account |
//! |---|---|---|
//! | answered whole | success | its rate limits in a row are over |
//! | a failure [against the provider](crate::Error::is_against_provider) | failure | nothing; a wait that it names extends the open time |
//! | rate limited by the provider | nothing | cools down for the wait that is told, or a step of 1 s that doubles with each in a row to 60 s |
//! | any other error, a refusal of ours, a panic, a reader or caller who left | nothing | nothing |
//! | dropped after its [deadline](crate::Context::deadline), before its head | failure | nothing |
//!
//! An answer is judged when it is over: with its head by [`Bare`](crate::Bare), at the end of the body or stream by
//! [`Http`](crate::Http) and [`Chat`](crate::chat::Chat). An outcome counts only in the generation of the circuit that let
//! the call through: what was sent before it opened neither closes it again nor opens it once more.
//!
//! A timeout that drops the call and tells no deadline looks like a caller who left, and so counts for nothing: put
//! foreign timeouts inside this layer, or use [`DeadlineLayer`](crate::timeout::DeadlineLayer) with a shape that carries a
//! [`Context`](crate::Context). A queue within this layer is not told apart from the provider: a call that waits there past
//! its deadline counts as a failure if the queue lets it.
//!
//! # Half open
//! Once its time is over, the next call is a probe, of which only [so many](CircuitBreakerLayer::probes) are out at once.
//! When as many have passed the circuit closes; the first that fails opens it again, for longer. A probe passes with the
//! first content of its answer, so that a long one keeps nobody waiting. One whose outcome says nothing, and one that is
//! dropped, makes way for another. So does one that takes longer than the circuit was open, but if nothing has changed when
//! it ends, it still counts.
//!
//! Other calls are refused meanwhile, with a wait of 1 s.
//!
//! # Open time
//! `max(d / 2, told) + random(0 ..= d / 2)`, where `d = min(cap, base · 2^k)` after `k` earlier openings, and `told` is the
//! `Retry-After` of the failure, which is never cut short, not by the cap either. Without one this is "equal jitter" (Marc
//! Brooker, "Exponential Backoff and Jitter", 2015). A failure that comes late, while the circuit is open, extends it by
//! what it was told.
//!
//! `k` starts again at zero when the closed circuit proved healthy: 10 successes in a row, or as long as the cap without
//! opening. Ten is what the default [`Window`] asks before it trusts a share.
//!
//! # The refusal
//! [`Kind::CircuitOpen`](crate::Kind::CircuitOpen) with the time left as [`retry_after`](crate::Error::retry_after), and as
//! [`root`](crate::Error::root) the failure that opened the circuit (without its source). Where calls were slow, and none
//! failed, that is a timeout with the code `slow_call`. [`Kind::CoolingDown`](crate::Kind::CoolingDown) while the account
//! cools down, with the time left. Where both are closed, the longer is named. A circuit that is kept open
//! [by hand](crate::Gate::force_circuit_open) names no wait, as nobody knows it.
//!
//! # Where it goes
//! Inside retry, which waits out the refusals, and failover, which reads the [`Gate`](crate::Gate) and goes elsewhere;
//! inside limits, in which calls stand in line; outside the timeout of an attempt, whose errors it counts. A closed circuit costs four loads and no lock
//! before the call, and no clock unless [slow calls](Window::slow_calls) count; a key costs a look-up under a read lock,
//! and an outcome a short lock.
//!
//! # What it reserves
//! Nothing of its own: readiness is that of the wrapped service, whatever the circuit does, since all that was known in
//! `poll_ready` may have changed by `call`. So an instance that is ready may hold a permit within; a call that is refused
//! gives it back.
//!
//! # On drop
//! The call is dropped, then its probe given back.
// A call on its way: `service` finds the `circuit` of its key, which asks the gate for the account and the `machine` for a
// `pass`. Both go into its `ticket`, which rides in the answer and tells the circuit how that ended; what the machine makes of
// it, with the `policy` and the `opening` time, goes to the gate through a `Door`, and to the sink as a `Change`.
mod circuit;
#[cfg(feature = "failsafe")]
mod failsafe;
mod future;
mod layer;
mod machine;
mod opening;
mod pass;
mod policy;
mod ring;
mod service;
mod state;
mod sync;
mod ticket;
mod window;

#[cfg(feature = "failsafe")]
#[cfg_attr(docsrs, doc(cfg(feature = "failsafe")))]
pub use failsafe::FailsafePolicy;
pub use future::ResponseFuture;
pub use layer::CircuitBreakerLayer;
pub use policy::{Policy, Trip};
pub use service::CircuitBreaker;
pub use ticket::Ticket;
pub use window::Window;

#[cfg(test)]
mod under_loom;
