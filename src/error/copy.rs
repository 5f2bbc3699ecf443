use super::{Error, Inner};

impl Error {
    /// All but the source: of an error of ours that another one wraps, which gives it only by reference.
    pub(crate) fn without_source(&self) -> Self {
        let ours = &*self.0;
        Self(Box::new(Inner {
            kind: ours.kind,
            origin: ours.origin,
            sends: ours.sends,
            delivered: ours.delivered,
            retryable: ours.retryable,
            status: ours.status,
            retry_after: ours.retry_after,
            scope: ours.scope,
            phase: ours.phase,
            gave_up: ours.gave_up,
            provider: ours.provider.clone(),
            code: ours.code.clone(),
            message: ours.message.clone(),
            request_id: ours.request_id.clone(),
            trail: ours.trail.clone(),
            route: ours.route.clone(),
            root: ours.root.clone(),
            source: None,
        }))
    }
}
