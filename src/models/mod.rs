//! What models take, by their names: data, in `models.toml`.
mod capabilities;
mod known;
mod name;
mod parse;

pub use capabilities::Capabilities;
pub use known::Models;
