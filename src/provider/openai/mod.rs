//! OpenAI's chat completions, which many others speak too.
mod assembler;
mod content;
mod decode;
mod dialect;
mod encode;
mod form;
mod path;
mod preset;
mod rows;
mod turn;

pub use dialect::OpenAi;
pub use form::{CallIds, NoText};
pub use preset::Preset;
