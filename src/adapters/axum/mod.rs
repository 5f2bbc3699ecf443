//! Axum: a stack behind routes, errors as responses, and a graceful end.
//!
//! # Example
//! Clients that speak OpenAI's chat completions or Anthropic's messages, over one stack:
//! ```no_run
//! use axum::Router;
//! use seawall::{Stack, adapters::axum::serve, provider::OpenAi, serve::{self, Endpoint}};
//! use std::time::Duration;
//!
//! # #[cfg(feature = "reqwest")]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let stack = Stack::chat(OpenAi::from_env()?.client()?).build()?;
//! let drain = serve::Drain::new();
//! let router = Router::new()
//!     .route_service("/v1/chat/completions", Endpoint::new(serve::OpenAi::new(), stack.clone()).drain(&drain))
//!     .route_service("/v1/messages", Endpoint::new(serve::Anthropic::new(), stack).drain(&drain));
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//! serve(listener, router).drain(&drain).grace(Duration::from_secs(30)).until(async { /* a signal */ }).await?;
//! # Ok(()) }
//! ```
//!
//! A handler of your own has the stack as state, or as an extractor; an [`Error`] is a response, by `?`; and what a client asked is an
//! extractor too, for a word with it before it is sent on. It heeds the `Limits` and the `Drain` that stand in an `Extension`:
//! ```
//! use axum::{Router, extract::State, http::Response, response::IntoResponse, routing::post};
//! use seawall::{Error, chat, serve::{self, Asked}, stack::Boxed};
//!
//! async fn title(State(model): State<Boxed>, text: String) -> Result<String, Error> {
//!     let question = chat::Request::new("gpt-4o-mini").system("Give a title.").user(text);
//!     Ok(model.ask(question).await?.text().into_owned())
//! }
//!
//! async fn chat(model: Boxed, asked: Asked<serve::OpenAi>) -> Response<serve::Body> {
//!     asked.map(|request| request.tenant("of this key")).ask(model).await
//! }
//!
//! # fn example(stack: Boxed) -> Router {
//! Router::new().route("/title", post(title)).route("/v1/chat/completions", post(chat)).with_state(stack)
//! # }
//! ```
//!
//! # Clients that hang up
//! A client that hangs up ends its call, and with it the request upstream, whatever the call waits for. One that closes no more than
//! its writing side has hung up too. [`serve`] notices that at once. `axum::serve` does not while bytes that nobody reads yet stand
//! before the end, such as a further request: there such a call goes on until it is over or its time is; and here too where the system
//! is neither Linux nor Android and these bytes are many. What fills the system's own buffers keeps the end from arriving at all: such a
//! call goes on until its time is over.
//!
//! # Clients that are slow
//! A head must be there in [its time](Serving::header_read_timeout), a body within the [`Limits`](crate::serve::Limits). What is written
//! on behind an early answer, such as a 404 or a check's 401, is read and dropped for 30 s at most, so that the client sees the answer
//! rather than a broken connection.
mod connection;
mod extract;
mod respond;
mod serving;
mod socket;

pub use serving::{Serving, serve};

#[cfg(doc)]
use crate::Error;
