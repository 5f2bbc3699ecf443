//! A page for Prometheus of what [`observe`](crate::observe) counts, for a route of your own.
//!
//! # Example
//! ```
//! use http::{Response, header::CONTENT_TYPE};
//! use seawall::adapters::prometheus::{self, Page};
//!
//! let page = prometheus::install()?; // before the first call
//! let metrics = move || Response::builder().header(CONTENT_TYPE, Page::CONTENT_TYPE).body(page.render());
//! # assert!(metrics().is_ok());
//! # Ok::<(), seawall::Invalid>(())
//! ```
//! In Axum: `.route("/metrics", get(move || async move { ([(CONTENT_TYPE, Page::CONTENT_TYPE)], page.render()) }))`. The page has
//! the names of routes and models, and no keys or prompts; who may read it is for you to say.
//!
//! # Names
//! Those of the [table](crate::observe#metrics) with `_` for each dot, the unit behind the name of a histogram in seconds, and `_total`
//! behind that of a counter: `gen_ai_client_operation_duration_seconds_bucket`, `seawall_attempts_total`. A metric is there from its
//! first value on.
//!
//! # Buckets
//! Histograms have buckets, so that instances can be added up: from 0.01 s each twice the one before, as OpenTelemetry's conventions
//! for generative AI ask, but to 655 s in place of 82 s, since a model that reasons takes minutes; and of tokens from 1 to 67,108,864,
//! each four times the one before. Histograms of others get those of seconds.
//!
//! # Memory
//! A histogram is some twenty lines, and there are five of them for a model on a route, more where calls fail in several ways. Of models
//! and of routes 64 are told apart, whatever callers ask for: with one route the page stays below 2 MB.
use crate::Invalid;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use std::{fmt, thread, time::Duration};

const SECONDS: [f64; 17] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68, 655.36];
/// Of the metric of this name.
const TOKENS: (&str, [f64; 14]) = (
    "gen_ai.client.token.usage",
    [
        1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0,
        67108864.0,
    ],
);
/// How often values are put into their buckets where nobody asks for the page.
const UPKEEP: Duration = Duration::from_secs(5);

/// All that was counted so far, as text. Clones are one page.
#[derive(Clone)]
pub struct Page(PrometheusHandle);

impl Page {
    /// The `Content-Type` of what [`render`](Self::render) gives.
    pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

    /// The page as it is now. With a thousand series it takes some milliseconds.
    #[must_use]
    pub fn render(&self) -> String {
        self.0.render()
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").finish_non_exhaustive()
    }
}

/// Counts for the whole program from now on, and gives the page of it. A thread of its own, every 5 s, keeps the memory bounded where
/// nobody asks for the page.
///
/// # Errors
/// Refuses where a recorder of `metrics` is installed already, or where no thread can be made.
pub fn install() -> Result<Page, Invalid> {
    let (recorder, page) = recorder()?;
    let taken = |_| invalid("a recorder of `metrics` is installed already; put that of `recorder()` beside it");
    metrics::set_global_recorder(recorder).map_err(taken)?;
    let kept = page.clone();
    let upkeep = move || {
        loop {
            thread::park_timeout(UPKEEP);
            kept.0.run_upkeep();
        }
    };
    let thread = thread::Builder::new().name("prometheus".to_owned()).spawn(upkeep);
    thread.map_err(|error| invalid(format!("no thread keeps its memory bounded: {error}")))?;
    Ok(page)
}

/// What [`install`] installs, to put it beside another recorder. Ask for its page now and then: until then every value of a histogram
/// is kept.
///
/// # Errors
/// None, with the buckets that it has.
pub fn recorder() -> Result<(impl metrics::Recorder + Send + Sync + use<>, Page), Invalid> {
    let wrong = |error: BuildError| invalid(error.to_string());
    let (tokens, buckets) = (Matcher::Full(TOKENS.0.to_owned()), TOKENS.1);
    let builder = PrometheusBuilder::new().with_recommended_naming(true).set_buckets(&SECONDS).map_err(wrong)?;
    let recorder = builder.set_buckets_for_metric(tokens, &buckets).map_err(wrong)?.build_recorder();
    let page = Page(recorder.handle());
    Ok((recorder, page))
}

fn invalid(reason: impl Into<Box<str>>) -> Invalid {
    Invalid::new("prometheus", reason)
}
