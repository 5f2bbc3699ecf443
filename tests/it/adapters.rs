//! What fits seawall to crates of others.
mod grpc;
mod tonic;
