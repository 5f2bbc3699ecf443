//! OpenAI's chat completions, which many others speak too.
mod decode;
mod dialect;
mod encode;

pub use dialect::OpenAi;
