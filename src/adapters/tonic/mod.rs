//! gRPC, by tonic: a [chat service](ChatService) over a stack, errors as [`Status`](::tonic::Status), and a stack around
//! [a channel of yours](#a-channel-of-yours).
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
//!
//! # A channel of yours
//! A stack stands around any channel: [`GrpcClassifyLayer`] right on it, [`GrpcClientLayer`] around all, and a generated client on top.
//! ```no_run
//! use seawall::{Error, Stack};
//! use seawall::adapters::tonic::{GrpcClassifyLayer, GrpcClientLayer, proto::{AskRequest, chat_client::ChatClient}};
//! use std::time::Duration;
//! use tonic::transport::Channel;
//! use tower::Layer;
//!
//! # async fn example(question: AskRequest) -> Result<(), Box<dyn std::error::Error>> {
//! let channel = Channel::from_static("http://127.0.0.1:50051").connect_lazy();
//! let stack = Stack::http(GrpcClassifyLayer::new().layer(channel)).deadline(Duration::from_secs(30)).build()?;
//! let mut client = ChatClient::new(GrpcClientLayer::new().layer(stack));
//!
//! match client.ask(question).await {
//!     Ok(reply) => println!("{:?}", reply.into_inner().message),
//!     Err(status) => {
//!         println!("{:?}", status.code()); // what the server said
//!         if let Some(error) = Error::find(&status) {
//!             println!("{error}, {:?}", error.trail()); // what was tried
//!         }
//!     }
//! }
//! # Ok(()) }
//! ```
//! Alone, without a stack, each layer goes around a channel too: `ChatClient::new(GrpcClassifyLayer::new().layer(channel))` has the same codes.
mod client;
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

pub use client::{
    AnswerBody, ClientFuture, GrpcClassify, GrpcClassifyLayer, GrpcClient, GrpcClientLayer, GrpcJudge, GrpcReading,
    RequestBody, StatusBody,
};
pub use deadline::context;
pub use pieces::Pieces;
pub use service::ChatService;
