use crate::{
    chat::Item,
    provider::{Assemble, Stage},
};
use std::sync::Arc;

/// Puts a streamed answer together.
#[derive(Debug)]
pub struct Assembler {
    provider: Arc<str>,
}

impl Assembler {
    pub(super) fn new(provider: &str) -> Self {
        Self { provider: provider.into() }
    }
}

impl Assemble for Assembler {
    fn event(&mut self, name: Option<&str>, data: &[u8], items: &mut Vec<Item>) -> Stage {
        let _ = (name, data, items, &self.provider);
        Stage::More
    }
}
