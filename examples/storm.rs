//! Some hundred calls to a provider that misbehaves.
fn main() {}
