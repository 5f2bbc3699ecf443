use super::GrpcClassify;
use crate::classify::Classifier;
use tower::Layer;

/// Makes an [`Error`](crate::Error) of each failure of a gRPC channel, innermost, right on the channel.
///
/// | status | [`Kind`](crate::Kind) | [`status()`](crate::Error::status) |
/// |---|---|---|
/// | `RESOURCE_EXHAUSTED` | `RateLimited`; `QuotaExhausted`, `Overloaded` by its words and details; a message over a limit `PayloadTooLarge` | 429, 413 |
/// | `UNAVAILABLE` | `Overloaded`; `Transport` where its words blame the way to the server | 503, none |
/// | `INTERNAL`, `UNKNOWN`, `DATA_LOSS`, a number or a word that is no status | `Server` | 500 |
/// | `DEADLINE_EXCEEDED` | `Timeout` | 504 |
/// | `UNAUTHENTICATED` | `Auth` | 401 |
/// | `PERMISSION_DENIED` | `Permission` | 403 |
/// | `NOT_FOUND`, `UNIMPLEMENTED` | `NotFound` | 404 |
/// | `INVALID_ARGUMENT`, `FAILED_PRECONDITION`, `OUT_OF_RANGE` | `InvalidRequest`, or what its words say more exactly, as `ContextLength` | 400 |
/// | `ABORTED` | `Conflict` | 409 |
/// | `ALREADY_EXISTS` | `Conflict`, not to be sent again: it would meet the same thing | 409 |
/// | `CANCELLED` | `Cancelled` | 499 |
/// | none: another HTTP status than 200 | as [HTTP](crate::classify::ClassifyLayer::http) judges it | as it came |
/// | none: the answer ends without one, or the connection fails | `Transport` | none |
/// | none: the channel's own time limit | `Timeout` | none |
///
/// The HTTP status is that which `google.rpc.Code` gives for a code, and the rules are those of [`classify`](crate::classify), so
/// that a provider is understood alike over both. [`code()`](crate::Error::code) is the `reason` of an `ErrorInfo`, else the name of the
/// status. [`retry_after()`](crate::Error::retry_after) is the `grpc-retry-pushback-ms` that was told, else the `RetryInfo`; a pushback that is
/// negative or no number means that the call is not to be retried.
///
/// **The answer is there with its first message**, so that a status in its place is an error of the call like any other. To a
/// request that is still being sent it is there with its head, as its sender may wait for that. A status behind messages, and an
/// end without a status, is an error of the body, so that a circuit hears of it.
///
/// The deadline of the call, where its request has a [`Context`](crate::Context), goes out as `grpc-timeout`, as what is left of it at each
/// attempt, unless a shorter one is there. It is that of the whole call: a server ends a stream with it, whatever was sent by
/// then. The limit of one attempt does not go out.
///
/// Among the sources of each error is the [`Status`](::tonic::Status) that it is to tonic, with what looks like a key masked in its message.
#[derive(Clone, Debug, Default)]
#[must_use = "a layer does nothing until it wraps a service"]
pub struct GrpcClassifyLayer {
    classifier: Classifier,
}

impl GrpcClassifyLayer {
    /// Judges any server's answers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Judges with this classifier, which may name the provider. Default: one that fits every provider.
    pub fn classifier(self, classifier: Classifier) -> Self {
        Self { classifier }
    }
}

impl<S> Layer<S> for GrpcClassifyLayer {
    type Service = GrpcClassify<S>;

    fn layer(&self, inner: S) -> Self::Service {
        GrpcClassify::new(inner, self.classifier.clone())
    }
}
