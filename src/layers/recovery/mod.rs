//! Reads a streamed answer to its end before it is shown, where that is asked for, so that one that is cut can start over.
//!
//! # Example
//! ```
//! use seawall::{
//!     Error,
//!     chat::{Chat, Item, Reply, Request},
//!     recovery::{Recovery, RecoveryLayer},
//!     retry::RetryLayer,
//! };
//! use std::sync::atomic::{AtomicU32, Ordering};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//! # use std::{pin::Pin, task::{Context, Poll}};
//!
//! static SENDS: AtomicU32 = AtomicU32::new(0);
//!
//! async fn model(_: Request) -> Result<Reply, Error> {
//!     // The first answer just ends, after one word.
//!     Ok(match SENDS.fetch_add(1, Ordering::Relaxed) {
//!         0 => Reply::stream(words(vec![Item::Text("Bl".into())])),
//!         _ => Reply::stream(words(vec![Item::Text("Bl".into()), Item::Text("ue.".into()), Item::End])),
//!     })
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Error> {
//! let service = ServiceBuilder::new()
//!     .layer(RetryLayer::new().shape(Chat))
//!     .layer(RecoveryLayer::new(Recovery::BufferThenRestart).shape(Chat))
//!     .service(service_fn(model));
//! let reply = service.oneshot(Request::new("m").user("What colour is the sea?").stream()).await?;
//! assert_eq!(reply.trail().attempts().len(), 1);
//! assert_eq!(reply.collect().await?.message().text(), "Blue.");
//! # Ok(())
//! # }
//! # struct Words(std::vec::IntoIter<Item>);
//! # impl futures_core::Stream for Words {
//! #     type Item = Result<Item, Error>;
//! #     fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
//! #         Poll::Ready(self.0.next().map(Ok))
//! #     }
//! # }
//! # fn words(items: Vec<Item>) -> Words { Words(items.into_iter()) }
//! ```
//!
//! # What it does
//! With [`Recovery::Fail`] nothing, and at no cost: [`Recovery`] says why that is the default. With
//! [`Recovery::BufferThenRestart`] a call resolves when its stream is over:
//!
//! | the stream | gives |
//! |---|---|
//! | came to its end | a reply that is a stream still, and gives the same items again, but for comments and pings |
//! | broke off, or fell silent | the error of that, [undelivered](crate::Error::undelivered): what was read of it is dropped |
//! | is not over at the deadline of the call | [`Kind::Timeout`](crate::Kind::Timeout) with [`Phase::Total`](crate::Phase::Total) |
//!
//! So the deadline holds to the end here, and not only to the first content. What stands below is done with the answer before
//! the reader sees it: permits are free, circuits have their verdict, attempts their span.
//!
//! An answer is kept as a whole meanwhile: a client's [`reply_limit`](crate::provider::Client::reply_limit) bounds it. Only a shape that
//! [gathers](crate::Gather) reads anything: a chat does, and with [`Bare`](crate::Bare) or [`Http`](crate::Http) every answer passes as it
//! is.
//!
//! # Where it goes
//! Inside retries and failover, which are to see the error; outside limits, circuits and the attempt timeout, which follow the
//! stream itself.
//!
//! # What it reserves
//! Readiness is that of the wrapped service.
//!
//! # On drop
//! The call is cancelled, or its stream is dropped with what was read of it.
mod future;
mod layer;
#[expect(clippy::module_inception, reason = "the noun of this folder has its name")]
mod recovery;
mod service;

pub use future::ResponseFuture;
pub use layer::RecoveryLayer;
pub use recovery::Recovery;
pub use service::Recover;
