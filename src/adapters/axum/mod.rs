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
//! extractor too, for a word with it before it is sent on:
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
mod connections;
mod extract;
mod respond;
mod serving;

pub use serving::{Serving, serve};

#[cfg(doc)]
use crate::Error;
