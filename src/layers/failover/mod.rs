//! Asks another route at once when one fails, and never waits itself.
//!
//! # Example
//! ```
//! use seawall::{Error, Kind, failover::Failover};
//! use tower::{ServiceExt, service_fn};
//!
//! async fn first(_: String) -> Result<usize, Error> {
//!     Err(Error::provider(Kind::RateLimited).with_status(429))
//! }
//!
//! async fn second(prompt: String) -> Result<usize, Error> {
//!     Ok(prompt.len())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let service = Failover::new(service_fn(first)).name("openai").then(service_fn(second)).name("anthropic").on_429();
//! assert_eq!(service.oneshot("hello".to_owned()).await?, 5);
//! # Ok(())
//! # }
//! ```
//!
//! Routes that are counted when the program runs, as a configuration has them, are of one type:
//! ```
//! # use seawall::{Error, Gate, Invalid, failover::{Failover, On, Route}};
//! # #[derive(Clone)]
//! # struct Client;
//! # fn example(a: Client, b: Client, gate: Gate) -> Result<(), Invalid> {
//! let service = Failover::list(vec![Route::new(a).name("a").gate(&gate), Route::new(b).name("b")])?.on([On::Server]);
//! # Ok(()) }
//! ```
//! The list is shared and not cloned for each call. Its futures are therefore `Send` only if the services are `Sync`.
//!
//! # When it switches
//! Off until asked for, but for refusals of ours: a switch moves load, and cost, to where nobody may expect it.
//!
//! | failure | switches |
//! |---|---|
//! | circuit open, cooling down, local limit | always: nothing was sent |
//! | rate limited, and an overload that came as a 429 | with [`on_429`](Failover::on_429) |
//! | overloaded, server, timeout, transport | by name: [`on`](Failover::on), or all four with [`on_failure`](Failover::on_failure) |
//! | account out of money | by name: [`On::QuotaExhausted`] |
//! | context overflow | to the routes marked [`larger`](Route::larger), and to no other |
//! | anything else, and whatever comes after content was delivered | never: it would fail there too, or hide a mistake |
//!
//! # Which route
//! The first in their order whose [`Gate`](crate::Gate) is open, each at most once a call. A closed one is skipped unasked. Where all
//! that are left are closed, the one that opens first is asked, as the last of this call: its refusal says why, and a
//! retry inside it may wait. A route that a hand keeps closed is asked where a call has no other from the start, and after no failure.
//!
//! Gates are asked with the [key](crate::Shape::key) of what the route would be sent, its [`Map`](crate::Map) applied; where no keyed
//! circuit is closed, neither copy nor map is made for that.
//!
//! A route that is not ready within [`ready_within`](Failover::ready_within) is passed by. The last one is waited for,
//! until the deadline of the call.
//!
//! # What a route is told
//! In its [`Context`](crate::Context): what is left of the sends, whether another route is open (then its retries rather leave
//! than wait), and which waits are short enough to stay for ([`wait_at_most`](Failover::wait_at_most)). Shapes without
//! a context tell nothing.
//!
//! # How it ends
//! A success is told the failures before it. A failure is that of the route asked last: its [root](crate::Error::root) is that of the
//! first, its trail has every attempt with the name of its route, and where every route refused or named a wait,
//! `retry_after` is the earliest of these, so that a retry around the failover waits no longer than it must.
//! [`gave_up`](crate::Error::gave_up) says why a failure did not switch although it might have: the sends are spent, the deadline is
//! over, or the request cannot be copied.
//!
//! # Where it goes
//! Outside everything that belongs to one route: its retry, its circuit breaker, its limits, its client. Inside what
//! belongs to the call: its deadline. A failover may be a route of another one.
//!
//! # What it reserves
//! Nothing: it is always ready, and makes a clone of the chosen route ready in each call's future. Of the request it keeps
//! a copy as long as another route may be asked; one that [cannot be copied](crate::Replay) goes to the chosen route alone.
//!
//! # On drop
//! The route that is asked is dropped, and no other one is asked.
mod choice;
mod either;
mod future;
mod past;
mod policy;
mod route;
mod routes;
mod run;
mod service;

pub use either::{Either, EitherFuture};
pub use future::ResponseFuture;
pub use policy::{On, Policy};
pub use route::{Facts, Route};
pub use routes::{List, MapRoute, One, Routes, Then};
pub use service::Failover;
