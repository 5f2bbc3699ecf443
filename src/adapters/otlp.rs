//! The [spans](crate::observe#spans) of calls for a collector of OpenTelemetry, as protobuf over HTTP.
//!
//! # Example
//! ```no_run
//! use seawall::adapters::otlp;
//!
//! # fn main() -> Result<(), seawall::Invalid> {
//! let traces = otlp::install("http://127.0.0.1:4318", "gateway")?;
//! // … serve …
//! drop(traces); // sends what is left
//! # Ok(()) }
//! ```
//! In a subscriber of your own, say beside lines on the terminal:
//! ```no_run
//! use seawall::adapters::otlp;
//! use tracing_subscriber::{layer::SubscriberExt, registry};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (layer, traces) = otlp::layer("http://127.0.0.1:4318", "gateway")?;
//! tracing::subscriber::set_global_default(registry().with(layer))?; // and `.with(tracing_subscriber::fmt::layer())`
//! # drop(traces);
//! # Ok(()) }
//! ```
//!
//! # What goes out
//! Every span of the program at `INFO` or above, and with it the events inside it; of seawall also events at `DEBUG`, so that a span
//! tells of its retries. seawall tells no prompt, answer or key, and the path of no source file goes along.
//!
//! Spans are gathered, up to 2,048 of them, and sent every 5 s by a thread with a runtime of its own: a collector that is slow or gone
//! delays no call. What does not fit meanwhile is dropped. These numbers, the sampler, attributes of the service and headers such as a
//! collector's key (`OTEL_EXPORTER_OTLP_HEADERS`) are taken from the [environment][1], as in any program with OpenTelemetry.
//!
//! [1]: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
use crate::Invalid;
use bytes::{Bytes, BytesMut};
use http::{Request, Response, Uri};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use reqwest::{Client, redirect::Policy};
use std::{
    fmt,
    future::{Future, ready},
    mem,
    pin::Pin,
    time::Duration,
};
use tokio::runtime;
use tracing::{Level, Subscriber, subscriber::set_global_default};
use tracing_subscriber::{
    Layer,
    filter::Targets,
    layer::SubscriberExt,
    registry::{self, LookupSpan},
};

/// One export, as OpenTelemetry has it.
const EXPORT: Duration = Duration::from_secs(10);
/// How long the end of the program waits for what is left.
const LAST: Duration = Duration::from_secs(5);
/// So much of a collector's answer is read.
const LONGEST_ANSWER: usize = 64 * 1024;

/// Sends what is left when it is dropped: keep it to the end of the program. That blocks its thread, for at most 5 s.
#[must_use = "spans are sent as long as it is kept"]
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Sends what is gathered, and waits for that. It blocks its thread, for at most 5 s.
    ///
    /// # Errors
    /// If the collector did not take it, with the reason.
    pub fn flush(&self) -> Result<(), Invalid> {
        self.0.force_flush().map_err(|error| invalid(error.to_string()))
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        // Nobody is left to be told of a failure.
        let _ = self.0.shutdown_with_timeout(LAST);
    }
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traces").finish_non_exhaustive()
    }
}

/// Sends the spans of the whole program to a collector from now on.
///
/// `endpoint` is its URL; to one without a path `/v1/traces` is added. `service` is the name of the program (`service.name`).
///
/// # Errors
/// Refuses what is no URL, and where a subscriber of `tracing` is installed already.
pub fn install(endpoint: &str, service: &str) -> Result<Traces, Invalid> {
    let (layer, traces) = layer(endpoint, service)?;
    let taken = |_| invalid("a subscriber of `tracing` is installed already; add what `layer()` gives to it");
    set_global_default(registry::Registry::default().with(layer)).map_err(taken)?;
    Ok(traces)
}

/// What [`install`] installs, for a subscriber of your own.
///
/// # Errors
/// Refuses what is no URL.
pub fn layer<S>(endpoint: &str, service: &str) -> Result<(impl Layer<S> + Send + Sync + use<S>, Traces), Invalid>
where
    S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
{
    let exporter = SpanExporter::builder().with_http().with_http_client(Sender).with_timeout(EXPORT);
    let exporter = exporter.with_endpoint(to_traces(endpoint)?).build().map_err(|error| invalid(error.to_string()))?;
    let resource = Resource::builder().with_service_name(service.to_owned()).build();
    let provider = SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(exporter).build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("seawall"))
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_filter(Targets::new().with_default(Level::INFO).with_target("seawall", Level::DEBUG));
    Ok((layer, Traces(provider)))
}

fn to_traces(endpoint: &str) -> Result<String, Invalid> {
    let wrong = || invalid("the endpoint is no URL of a collector, such as `http://127.0.0.1:4318`");
    let url: Uri = endpoint.parse().map_err(|_| wrong())?;
    match url.scheme_str() {
        Some("http" | "https") if url.path() == "/" => Ok(format!("{}/v1/traces", endpoint.trim_end_matches('/'))),
        Some("http" | "https") => Ok(endpoint.to_owned()),
        _ => Err(wrong()),
    }
}

fn invalid(reason: impl Into<Box<str>>) -> Invalid {
    Invalid::new("otlp", reason)
}

/// Sends from the thread that gathers, which has no runtime, in one that lasts as long as the request.
#[derive(Debug)]
struct Sender;

impl HttpClient for Sender {
    fn send_bytes<'a, 'b>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        Box::pin(ready(runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(send(request)))))
    }
}

async fn send(request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    // A redirect could take the collector's key elsewhere.
    let client = Client::builder().timeout(EXPORT).redirect(Policy::none()).build()?;
    let mut answer = client.execute(request.try_into()?).await?;
    let mut body = BytesMut::new();
    while body.len() < LONGEST_ANSWER
        && let Some(chunk) = answer.chunk().await?
    {
        body.extend_from_slice(&chunk[..chunk.len().min(LONGEST_ANSWER - body.len())]);
    }
    let mut response = Response::new(body.freeze());
    *response.status_mut() = answer.status();
    *response.headers_mut() = mem::take(answer.headers_mut());
    Ok(response)
}
