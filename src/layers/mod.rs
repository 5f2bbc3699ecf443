//! Floor 1: the layers. Private here, re-exported at the top.
pub mod circuit_breaker;
pub mod classify;
pub mod concurrency_limit;
pub mod failover;
pub mod observe;
pub mod recovery;
pub mod retry;
pub mod timeout;
