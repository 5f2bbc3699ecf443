//! The provider behind a socket: requests read with httparse, answers written byte by byte, because a server that is
//! fit for use refuses to write what a bad one does.

mod connection;
mod provider;
mod request;
mod wire;

pub use provider::{Builder, MockProvider};
