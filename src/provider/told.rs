//! What was told already, so that a setting which each request has is not told of each time.
use crate::Change;
use std::{
    collections::{HashSet, hash_map::RandomState},
    hash::BuildHasher,
    sync::{Arc, Mutex, PoisonError},
};

/// So many settings of models are remembered as told; behind that it starts over.
const MOST: usize = 1024;

#[derive(Clone, Debug, Default)]
pub(super) struct Told(Arc<Mutex<HashSet<u64>>>, RandomState);

impl Told {
    /// Whether this is worth telling: what a model refuses is, the first time.
    pub(super) fn is_news(&self, model: &str, change: &Change) -> bool {
        if !matches!(change, Change::LeftOut { .. } | Change::Bounded { .. }) {
            return true;
        }
        let told = self.1.hash_one((model, change));
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(told)
    }
}
