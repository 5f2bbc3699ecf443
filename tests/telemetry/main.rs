//! What a program sees of its calls: a page for Prometheus, a dashboard over it, and spans at a collector. Real HTTP on loopback; a
//! recorder and a subscriber of the whole program, so that it has a process of its own.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, unreachable_pub)]

mod bounds;
mod collector;
mod dashboard;
mod example;
mod page;
#[path = "../served/example.rs"]
mod process;
mod program;
