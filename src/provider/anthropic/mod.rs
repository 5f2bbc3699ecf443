//! Anthropic's messages.
mod assembler;
mod blocks;
mod decode;
mod dialect;
mod encode;

pub use dialect::Anthropic;
