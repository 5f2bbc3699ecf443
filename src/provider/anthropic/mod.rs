//! Anthropic's messages.
mod blocks;
mod decode;
mod dialect;
mod encode;

pub use dialect::Anthropic;
