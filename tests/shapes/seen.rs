//! What was told of the stack.
use seawall::{Sink, What};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<BTreeMap<String, u32>>>);

impl Seen {
    /// Counts sends by route, switches, and openings of circuits.
    pub fn sink(&self) -> Sink {
        let counts = Arc::clone(&self.0);
        Sink::new(move |event| {
            let what = match event.what {
                What::AttemptEnded { .. } => "attempts",
                What::CircuitOpened { .. } => "openings",
                What::Switched { .. } => "switches",
                _ => return,
            };
            let key = format!("{what} {}", event.route.unwrap_or_default());
            *counts.lock().unwrap().entry(key).or_default() += 1;
        })
    }

    pub fn count(&self, what: &str, route: &str) -> u32 {
        self.0.lock().unwrap().get(&format!("{what} {route}")).copied().unwrap_or_default()
    }
}
