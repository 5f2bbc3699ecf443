//! A provider that misbehaves as a script says: over real HTTP on loopback, or in virtual time.
//!
//! # Example
//! A real server in a test. Its faults come from a [`Script`], and its [`Log`] tells what the client really did.
//! ```
//! # use tokio::{io::{AsyncReadExt, AsyncWriteExt}, net::TcpStream};
//! # async fn ask(provider: &seawall::sim::MockProvider) -> std::io::Result<String> {
//! #     let mut stream = TcpStream::connect(provider.address()).await?;
//! #     let body = r#"{"model":"m","messages":[]}"#;
//! #     let head = "POST /v1/chat/completions HTTP/1.1\r\nconnection: close\r\ncontent-length: 27\r\n\r\n";
//! #     stream.write_all(format!("{head}{body}").as_bytes()).await?;
//! #     let mut answer = String::new();
//! #     stream.read_to_string(&mut answer).await?;
//! #     Ok(answer)
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use seawall::sim::{End, Fault, MockProvider, Script, When};
//!
//! let script = Script::seeded(7).fault(When::nth(1), Fault::status(429).header("retry-after", "1"));
//! let provider = MockProvider::start(script).await?;
//! println!("a client's base URL: {}", provider.base_url());
//! ask(&provider).await?;
//! ask(&provider).await?;
//! let log = provider.shutdown().await;
//! assert_eq!(log.records[0].status, Some(429));
//! assert_eq!(log.records[1].end, End::Answered);
//! # Ok(()) }
//! ```
//! The same as a service, under a clock that is paused: a hundred thousand calls take seconds.
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use seawall::sim::{Fault, InProcess, Phase, Script, When};
//! use tower::ServiceExt;
//!
//! let provider = InProcess::new(Script::seeded(7).fault(When::always(), Fault::reset(Phase::InHead)))?;
//! let request = http::Request::post("/v1/chat/completions").body(r#"{"model":"m","messages":[]}"#.to_owned())?;
//! let error = provider.clone().oneshot(request).await.unwrap_err();
//! assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
//! assert_eq!(provider.in_flight(), 0);
//! # Ok(()) }
//! ```
//! A request that asks for a stream gets one, and this one is cut behind its second token.
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use http_body_util::BodyExt;
//! use seawall::sim::{Answer, Fault, InProcess, Phase, Script, Stream, When};
//! use std::{io::ErrorKind, time::Duration};
//! use tower::ServiceExt;
//!
//! let slow = Stream::default().first_token(Duration::from_secs(2)).per_token(Duration::from_millis(50));
//! let answer = Answer::default().text("Twelve pilots, one pier.").stream(slow);
//! let cut = Fault::cut(Phase::AfterTokens(2));
//! let provider = InProcess::new(Script::seeded(7).answer(answer).fault(When::nth(1), cut))?;
//!
//! let request = r#"{"model":"m","stream":true,"messages":[]}"#.to_owned();
//! let request = http::Request::post("/v1/chat/completions").body(request)?;
//! let mut body = provider.clone().oneshot(request).await?.into_body();
//! let mut text = Vec::new();
//! let error = loop {
//!     match body.frame().await.ok_or("the protocol's own end")? {
//!         Ok(frame) => text.extend(frame.into_data().unwrap_or_default()),
//!         Err(error) => break error,
//!     }
//! };
//! assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
//! assert!(String::from_utf8(text)?.contains(r#""delta":{"content":" pilots,"}"#));
//! let record = &provider.log().records[0];
//! assert_eq!((record.tokens, record.took), (2, Duration::from_millis(2050)));
//! # Ok(()) }
//! ```
//! As a command: `seawall mock-provider SCRIPT.toml`. [`Script::parse`] shows such a file.
//!
//! # Where it goes
//! In place of a provider. Where nothing goes wrong, it answers OpenAI's chat completions and Anthropic's messages
//! (`/v1/messages`), whole or as a stream, with the model of the request and a usage derived from it: text, or what its
//! [`Answer`] says, such as calls of tools and thinking; [`Stream`] says in what time and in what bytes.
//!
//! A stream can end too soon in three ways: [`Fault::reset`], [`Fault::cut`] (its last chunk is missing) and
//! [`Fault::truncate`] (only the protocol tells); and never: [`Fault::silence`], at [`Phase::AtEnd`] behind its last event.
//!
//! # What it reserves
//! Nothing: it is always ready. A request counts as in flight until its answer is over.
//!
//! # On drop
//! A dropped call or body is a client that hung up, and the log says so. A dropped [`MockProvider`] ends its tasks.

mod answer;
mod api;
mod asked;
mod body;
mod chunks;
mod completion;
mod core;
mod deltas;
mod fault;
mod flow;
mod frame;
mod framing;
mod garble;
mod in_process;
mod limits;
mod log;
mod message;
mod phase;
mod plan;
mod presets;
mod reading;
mod reply;
mod said;
mod script;
mod server;
mod spread;
mod step;
mod stream;
mod when;

pub use answer::Answer;
pub use body::Body;
pub use fault::{Fault, FaultKind};
pub use framing::{Framing, LineEnds};
pub use garble::{BadEvent, Garble};
pub use in_process::InProcess;
pub use limits::Limits;
pub use log::{End, Log, Record};
pub use phase::Phase;
pub use script::Script;
pub use server::{Builder, MockProvider};
pub use spread::{BadWait, Spread};
pub use stream::{ReportUsage, Stream};
pub use when::When;
