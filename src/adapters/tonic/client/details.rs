//! Google's error details, as far as they say what to do.
use prost::Message;
use serde_json::{Value, json};
use std::time::Duration;
use tonic_types::pb;

/// More of them say nothing new.
const MOST: usize = 16;

/// What the details of a status tell.
#[derive(Debug, Default)]
pub(super) struct Details {
    /// From `RetryInfo`.
    pub(super) wait: Option<Duration>,
    /// From `ErrorInfo`.
    pub(super) reason: Option<String>,
    /// The same and `QuotaFailure` in Google's own JSON, for the rules of HTTP to read.
    pub(super) json: Vec<Value>,
}

impl Details {
    /// Reads a `google.rpc.Status`. What is none, or is damaged, tells nothing.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut told = Self::default();
        let Ok(status) = pb::Status::decode(bytes) else { return told };
        for detail in status.details.iter().take(MOST) {
            let value = detail.value.as_slice();
            match detail.type_url.rsplit('/').next() {
                Some("google.rpc.RetryInfo") => told.retry_info(value),
                Some("google.rpc.ErrorInfo") => told.error_info(value),
                Some("google.rpc.QuotaFailure") => told.quota_failure(value),
                _ => {}
            }
        }
        told
    }

    fn retry_info(&mut self, value: &[u8]) {
        let Some(delay) = pb::RetryInfo::decode(value).ok().and_then(|info| info.retry_delay) else { return };
        // A wait that is over is none. tonic-types would overflow on the longest of them.
        let seconds = u64::try_from(delay.seconds).ok();
        let nanos = u32::try_from(delay.nanos).map_or(0, |nanos| nanos.min(999_999_999));
        self.wait = Some(seconds.map_or(Duration::ZERO, |seconds| Duration::new(seconds, nanos)));
    }

    fn error_info(&mut self, value: &[u8]) {
        let Ok(info) = pb::ErrorInfo::decode(value) else { return };
        self.json.push(json!({ "reason": info.reason, "domain": info.domain, "metadata": info.metadata }));
        self.reason = Some(info.reason).filter(|reason| !reason.is_empty());
    }

    fn quota_failure(&mut self, value: &[u8]) {
        let Ok(failure) = pb::QuotaFailure::decode(value) else { return };
        let violation = |violation: &pb::quota_failure::Violation| {
            json!({
                "description": violation.description,
                "quotaMetric": violation.quota_metric,
                "quotaId": violation.quota_id,
            })
        };
        let violations: Vec<_> = failure.violations.iter().take(MOST).map(violation).collect();
        self.json.push(json!({ "violations": violations }));
    }
}
