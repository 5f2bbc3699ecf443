//! Floor 1: the layers. Private here, re-exported at the top.
pub mod classify;
pub mod concurrency_limit;
pub mod retry;
pub mod timeout;
