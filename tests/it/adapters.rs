//! What fits seawall to crates of others.
mod tonic;
