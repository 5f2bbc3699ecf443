use crate::keyed::Keyed;
use std::sync::Arc;

/// How many keys, and how many routes, are told apart.
pub(super) const MOST: usize = 64;
/// All those beyond.
pub(super) const OTHER: &str = "other";

/// The `error.type` of a call whose caller, or reader, left.
#[cfg(any(feature = "metrics", feature = "tracing"))]
pub(super) const LEFT: &str = "left";

/// A key that is kept until a call is over, at the cost of one count.
pub(super) type Label = Option<Box<str>>;

/// The keys that were seen first, which keep their names for good: those that come later must not grow the meters.
#[derive(Debug)]
pub(super) struct Labels(Keyed<Label>);

impl Default for Labels {
    fn default() -> Self {
        Self(Keyed::new(MOST, None))
    }
}

impl Labels {
    pub(super) fn of(&self, key: Option<&str>) -> Arc<Label> {
        self.0.get(key, |key| Some(key.unwrap_or(OTHER).into()), |_| false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_bounded_and_the_first_stay() {
        let labels = Labels::default();
        let of = |key: &str| labels.of(Some(key)).as_deref().map(str::to_owned).unwrap();
        let names: std::collections::BTreeSet<_> = (0..10_000).map(|n| of(&format!("model {n}"))).collect();
        assert_eq!((names.len(), of("model 3"), of("model 64")), (MOST + 1, "model 3".to_owned(), OTHER.to_owned()));
        assert_eq!(labels.of(None).as_deref(), None);
    }
}
