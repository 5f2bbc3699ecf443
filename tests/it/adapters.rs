//! What fits seawall to crates of others.
mod axum;
mod grpc;
mod tonic;
