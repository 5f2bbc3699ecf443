use super::{
    label::{Label, Labels},
    telemetry::CHAT,
};
use crate::Sink;
use std::sync::Arc;

/// What the services of one layer share.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    pub(super) level: Level,
    pub(super) name: &'static str,
    pub(super) sink: Option<Sink>,
    pub(super) route: Option<Arc<str>>,
    labels: Arc<Labels>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Operation,
    Attempt,
}

impl Watch {
    pub(super) fn new(level: Level) -> Self {
        Self { level, name: CHAT, sink: None, route: None, labels: Arc::default() }
    }

    /// The sink learns of the route, in whatever order the two were set.
    pub(super) fn routed(self) -> Self {
        let sink = match (&self.sink, &self.route) {
            (Some(sink), Some(route)) => Some(sink.route(Arc::clone(route))),
            (sink, _) => sink.clone(),
        };
        Self { sink, ..self }
    }

    pub(super) fn label(&self, key: Option<&str>) -> Arc<Label> {
        self.labels.of(key)
    }
}
