//! What providers say, as rows: the first that holds names the kind.
//!
//! To teach a new wording or code: add it to the row of its kind (or a row), and a line with an answer that has it to
//! `tests/fixtures/errors/`. Order matters between the tables of `order.rs` and between the rows of a table.
mod access;
mod billing;
mod context;
mod filter;
mod limits;
mod models;
mod order;
mod parameters;
mod rule;
mod status;

pub(super) use order::first;
use rule::{On, Rule};
pub(super) use status::by_status;
