use crate::{Capabilities, Change};

/// What the model takes, and what was changed in a request to fit it.
///
/// A [`Client`](super::Client) hands one to its dialect with each request and tells the changes to its listener.
/// `Fit::default()` is that of an unknown model, which is allowed everything.
#[derive(Clone, Debug, Default)]
pub struct Fit {
    model: Capabilities,
    changes: Vec<Change>,
}

impl Fit {
    /// For a model that takes this.
    #[must_use]
    pub fn new(model: Capabilities) -> Self {
        Self { model, changes: Vec::new() }
    }

    /// What the model takes.
    #[must_use]
    pub fn model(&self) -> &Capabilities {
        &self.model
    }

    /// Notes a change.
    pub fn note(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// What was changed so far.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }
}
