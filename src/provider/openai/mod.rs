//! OpenAI's chat completions, which many others speak too.
mod assembler;
mod content;
mod decode;
mod dialect;
mod encode;
mod form;
mod turn;

pub use dialect::{NoText, OpenAi};
