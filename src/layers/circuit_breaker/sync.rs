//! What the machine is synchronised by; a test gives it loom's instead.
pub(super) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU64, Ordering},
};
