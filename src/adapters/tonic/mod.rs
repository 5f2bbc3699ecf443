//! gRPC, by tonic: a [chat service](ChatService) over a stack, and errors as [`Status`](::tonic::Status).
//!
//! # Example
//! ```no_run
//! use seawall::{Stack, adapters::tonic::ChatService, provider::OpenAi};
//!
//! # #[cfg(feature = "reqwest")]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let stack = Stack::chat(OpenAi::from_env()?.client()?).build()?;
//! let chat = ChatService::new(stack).into_server();
//! tonic::transport::Server::builder().add_service(chat).serve("127.0.0.1:50051".parse()?).await?;
//! # Ok(()) }
//! ```
//!
//! A service of your own has its deadline by [`context`], and its failures by `?`: an [`Error`](crate::Error) becomes a status.
//! ```
//! use seawall::{adapters::tonic::context, chat, stack::Boxed};
//! use tonic::{Request, Response, Status};
//!
//! async fn title(model: Boxed, request: Request<String>) -> Result<Response<String>, Status> {
//!     let context = context(request.metadata());
//!     let question = chat::Request::new("m").user(request.into_inner()).with_context(context);
//!     Ok(Response::new(model.ask(question).await?.text().into_owned()))
//! }
//! # let _ = title;
//! ```
mod deadline;
mod message;
mod pieces;
mod reply;
mod request;
mod service;
mod status;

#[allow(missing_docs, clippy::pedantic, clippy::all, unreachable_pub, unused_qualifications)]
#[rustfmt::skip]
mod generated;

/// The messages, the server and the client of `chat.proto`, as they are generated.
pub mod proto {
    pub use super::generated::*;
}

pub use deadline::context;
pub use pieces::Pieces;
pub use service::ChatService;
