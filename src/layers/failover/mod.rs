//! Asks another route at once when one fails, and never waits itself.
mod either;
mod policy;
mod route;
mod routes;
mod service;

pub use either::{Either, EitherFuture};
pub use policy::{On, Policy};
pub use route::{Facts, Route};
pub use routes::{List, MapRoute, One, Routes, Then};
pub use service::Failover;
