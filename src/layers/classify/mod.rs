//! Judges provider answers once, at the bottom, into one [`Error`](crate::Error).
//!
//! # Example
//! ```
//! use seawall::{Kind, classify::Classifier};
//! use std::time::Duration;
//!
//! let mut headers = http::HeaderMap::new();
//! headers.insert("retry-after", "20".parse()?);
//! let body = br#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#;
//! let error = Classifier::new().provider("openai").answer(http::StatusCode::TOO_MANY_REQUESTS, &headers, body);
//! assert_eq!((error.kind(), error.retry_after()), (Kind::RateLimited, Some(Duration::from_secs(20))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! As a layer: [`ClassifyLayer::http`] around a client of `http` requests, `ClassifyLayer::reqwest` around reqwest,
//! [`ClassifyLayer::with`] around a service with an error of its own, [`ClassifyLayer::boxed`] around tower's layers.
//!
//! # Where it goes
//! Innermost: right on the client. Everything above asks the error its questions and looks at no status.
//!
//! # What it reserves
//! Nothing; `poll_ready` is passed on, its error judged.
//!
//! # On drop
//! The call below is dropped with it, and so is an error body that was being read.
//!
//! # How an answer is judged
//! Codes, words and numbers are gathered from the body, wherever providers put them. Then the first row of the tables in
//! `rules/` that holds names the kind: codes before words, an empty account before a rate limit; where no row holds, the
//! status decides. Words are looked at only under the statuses where providers use them, and quoted sentences are left
//! out, since they may be the prompt. A newly met answer is one phrase or code in a row there, and one line with its
//! expected verdict in `tests/fixtures/errors/`.
mod body;
mod classified_body;
mod classifier;
mod decide;
mod envelope;
mod facts;
mod future;
mod json;
mod judge;
mod layer;
mod literal;
mod plain;
mod reading;
mod recorded;
mod rules;
mod scope;
mod service;
mod text;
mod transport;
mod wait;

pub use classified_body::ClassifiedBody;
pub use classifier::{BODY_LIMIT, Classifier};
pub use future::ResponseFuture;
#[cfg(feature = "reqwest")]
#[cfg_attr(docsrs, doc(cfg(feature = "reqwest")))]
pub use judge::Reqwest;
pub use judge::{Answers, Boxed, Closure, Judge, Judged};
pub use layer::ClassifyLayer;
pub use reading::Reading;
pub(crate) use reading::{PATIENCE, next_frame};
pub use service::Classify;
