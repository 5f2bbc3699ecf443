//! Watches calls: one span and one set of numbers an operation, and one each time that it is sent.
//!
//! # Example
//! ```
//! use seawall::{Error, Sink, observe::{self, ObserveLayer}, retry::RetryLayer};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! async fn model(prompt: String) -> Result<usize, Error> {
//!     Ok(prompt.len())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let sink = observe::telemetry().and(&Sink::new(|event| eprintln!("{event:?}")));
//! let service = ServiceBuilder::new()
//!     .layer(ObserveLayer::operation().sink(sink.clone()))
//!     .layer(RetryLayer::new().sink(sink.clone()))
//!     .layer(ObserveLayer::attempt().route("openai").sink(sink))
//!     .service(service_fn(model));
//! assert_eq!(service.oneshot("hello".to_owned()).await?, 5);
//! # Ok(())
//! # }
//! ```
//!
//! All of it comes from [events](crate::What): a listener is told just what the meters count. A recorder of `metrics` must
//! be installed before the first call, as handles are kept. Without the features, or with neither recorder nor subscriber,
//! calls go the same way.
//!
//! # When a call is over
//! An operation or attempt is over with its answer: read to the end, broken, or left by whoever read it. Until then its span is
//! open. To [`Bare`](crate::Bare) an answer is over with its head, and it neither tells tokens nor keeps a trail.
//!
//! An attempt is what was sent. What fails below with [no send](crate::Error::sends), and what is dropped before it is polled, is
//! told to nobody; its span says `seawall.sends = 0`.
//!
//! # Events
//! Each [`What`](crate::What), the layer that tells it, and what [`telemetry`] makes of it: a line of `tracing` at this level, with the
//! target `seawall`, and a metric.
//!
//! | event | told by | when | line | metric |
//! |---|---|---|---|---|
//! | [`Retrying`](crate::What::Retrying) | retry | before the wait for another attempt | `DEBUG` | `seawall.retries` |
//! | [`GaveUp`](crate::What::GaveUp) | retry | a failure could have been retried and is not | `INFO` | `seawall.give_ups` |
//! | [`TimedOut`](crate::What::TimedOut) | timeout, recovery, a client | a limit in time was reached | `DEBUG` | `seawall.timeouts` |
//! | [`Switched`](crate::What::Switched) | failover | a call leaves this route for another | `INFO` | `seawall.switches` |
//! | [`Changed`](crate::What::Changed) | a client | a request was changed so that the provider takes it | `INFO` | `seawall.request.changes` |
//! | [`CircuitOpened`](crate::What::CircuitOpened) | circuit breaker | a failure opens it, or a probe fails | `WARN` | `seawall.circuit.state`, `seawall.circuit.openings` |
//! | [`CircuitHalfOpened`](crate::What::CircuitHalfOpened) | circuit breaker | a probe is let through | `INFO` | `seawall.circuit.state` |
//! | [`CircuitClosed`](crate::What::CircuitClosed) | circuit breaker | the provider answers again | `INFO` | `seawall.circuit.state` |
//! | [`CoolingDown`](crate::What::CoolingDown) | circuit breaker | a rate limit closes the route to everyone | `WARN` | `seawall.cool_downs` |
//! | [`PermitTaken`](crate::What::PermitTaken) | concurrency limit | a call may begin | | `seawall.concurrency.permits` |
//! | [`PermitReturned`](crate::What::PermitReturned) | concurrency limit | its answer is over, or was left | | `seawall.concurrency.permits` |
//! | [`QueueEntered`](crate::What::QueueEntered) | concurrency limit | a call found the limit full, and waits | | `seawall.concurrency.waiting` |
//! | [`QueueLeft`](crate::What::QueueLeft) | concurrency limit | the wait is over, with a permit or without | | `seawall.concurrency.waiting` |
//! | [`AttemptEnded`](crate::What::AttemptEnded) | observe | one send is over, its answer too | | `seawall.attempts`, `seawall.attempt.duration`, `gen_ai.client.token.usage`, `gen_ai.client.operation.time_to_first_chunk` |
//! | [`OperationEnded`](crate::What::OperationEnded) | observe | a call is over, its answer too | | `seawall.operations`, `gen_ai.client.operation.duration` |
//!
//! No line has the words of a provider, a prompt, a key or a body.
//!
//! # Metrics
//! Names and labels are those of OpenTelemetry's
//! [conventions for generative AI](https://github.com/open-telemetry/semantic-conventions-genai), as far as they go. Nothing here is
//! kept for good by the conventions yet; they are in development.
//!
//! | metric | kind | unit | labels |
//! |---|---|---|---|
//! | `gen_ai.client.operation.duration` | histogram | s | operation, provider, model, `error.type` |
//! | `gen_ai.client.operation.time_to_first_chunk` | histogram, of attempts that stream | s | operation, provider, model |
//! | `gen_ai.client.token.usage` | histogram, of attempts | tokens | operation, provider, model, `gen_ai.token.type` (`input`, `output`), `seawall.usage.estimated` |
//! | `seawall.operations` | counter | | route, model, `error.type` |
//! | `seawall.attempts` | counter | | route, model, `error.type` |
//! | `seawall.attempt.duration` | histogram | s | route, model, `error.type` |
//! | `seawall.retries` | counter | | route, `error.type` |
//! | `seawall.give_ups` | counter | | route, `seawall.reason` |
//! | `seawall.switches` | counter | | route (the one that was left), `error.type` |
//! | `seawall.timeouts` | counter | | route, `seawall.phase` |
//! | `seawall.cool_downs` | counter | | route, `error.type` |
//! | `seawall.request.changes` | counter | | route, `seawall.change` ([`Change::as_str`](crate::Change::as_str)) |
//! | `seawall.circuit.state` | gauge: 0 closed, 1 half-open, 2 open | | route, model |
//! | `seawall.circuit.openings` | counter | | route, model |
//! | `seawall.concurrency.permits` | gauge: those taken | | route |
//! | `seawall.concurrency.waiting` | gauge: calls that wait for one | | route |
//!
//! The labels are `gen_ai.operation.name`, `gen_ai.provider.name`, `gen_ai.request.model` and `seawall.route`. Of the provider only the
//! route is known, so name routes after it. A label whose value is unknown is left out: that of the route, outside all of them.
//! `error.type` is left out of a success; it is the [kind](crate::Kind::as_str) of a failure, and `left` where nobody waited for
//! the end. `seawall.usage.estimated` is `true` where nobody told the tokens and they are [guessed](crate::Usage::estimated), and else
//! left out. Of routes, and of models on each, the first 64 have a label of their own, and the others are `other`.
//!
//! The state of a circuit is what its layer told: while a [hand](crate::Gate::force_circuit_open) keeps it open or closed, it is that from
//! before, and with the first call after the release it is closed.
//!
//! Histograms get the bounds of your recorder. The conventions suggest 0.01 to 81.92 s, each twice the one before, and 1 to 67108864
//! tokens, each four times. The feature `prometheus` has a recorder with such bounds, and a page of it; for Grafana there is a dashboard
//! of these metrics, `dashboards/seawall.json`.
//!
//! # Spans
//! `operation` and within it `attempt`, both at `INFO` with the target `seawall`, entered for each poll. The feature `otlp` sends them to a
//! collector. A field whose value is unknown is left out.
//!
//! | field | span | what it says | from |
//! |---|---|---|---|
//! | `otel.name` | operation | the operation and the model: `chat gpt-4o-mini` | the beginning |
//! | `otel.kind` | both | `client` | the beginning |
//! | `gen_ai.operation.name` | both | `chat`, or what was set | the beginning |
//! | `gen_ai.request.model` | both | the model: the caller's of an operation, the route's of an attempt | the beginning |
//! | `gen_ai.provider.name` | both | the route, where the layer has one | the beginning |
//! | `seawall.route` | attempt | the route | the beginning |
//! | `gen_ai.usage.input_tokens` | both | tokens of the prompt | the end |
//! | `gen_ai.usage.output_tokens` | both | tokens of the answer | the end |
//! | `seawall.usage.estimated` | both | `true`: nobody told these tokens | the end |
//! | `otel.status_code` | both | `ERROR` of a failure | the end |
//! | `error.type` | both | the [kind](crate::Kind::as_str) of a failure, or `left` | the end |
//! | `http.response.status_code` | attempt | of a failure that was an answer | the end |
//! | `seawall.sends` | both | how often it was sent: of a failure, and where an answer keeps its trail | the end |
//! | `seawall.trail` | operation | what failed before its end, well or ill | the end |
//!
//! What a guard tells while a body is read stands outside these spans, as a reader polls from anywhere.
//!
//! # Where it goes
//! The operation outside everything; the attempt inside retries, circuits and limits, around the attempt's timeout and the client.
//!
//! # What it reserves
//! Nothing: readiness is that of the wrapped service. On success it allocates nothing once its handles are there, but for a
//! copy of a trail.
//!
//! # On drop
//! The call is cancelled, and told as left, attempt first.
mod future;
mod label;
mod layer;
#[cfg(feature = "tracing")]
mod logs;
#[cfg(feature = "metrics")]
mod meters;
#[cfg(feature = "metrics")]
mod names;
mod observation;
mod service;
#[cfg(feature = "metrics")]
mod slots;
mod span;
mod telemetry;
mod watch;

pub use future::ResponseFuture;
pub use layer::ObserveLayer;
pub use observation::Observation;
pub use service::Observe;
pub use telemetry::{telemetry, telemetry_of};
