use crate::{Error, Outcome, Trail, Usage};
#[cfg(not(feature = "tracing"))]
pub(super) use silent::Span;
#[cfg(feature = "tracing")]
pub(super) use traced::Span;

/// What a span learns at its end.
#[cfg_attr(not(feature = "tracing"), allow(dead_code))]
pub(super) struct Ended<'a> {
    pub(super) outcome: Option<Outcome<'a>>,
    pub(super) trail: Option<&'a Trail>,
    pub(super) usage: Option<Usage>,
}

#[cfg(feature = "tracing")]
mod traced {
    use super::*;
    use crate::layers::observe::{
        label::LEFT,
        watch::{Level, Watch},
    };
    use std::fmt;
    use tracing::{
        field::{Empty, display},
        info_span,
    };

    /// A span that stays open until an answer is over; entered for each poll, and never held across.
    pub(in super::super) struct Span(tracing::Span);

    impl Span {
        pub(in super::super) fn new(watch: &Watch, key: Option<&str>) -> Self {
            let (name, route) = (watch.name, watch.route.as_deref());
            let span = match watch.level {
                Level::Operation => info_span!(
                    target: "seawall",
                    "operation",
                    "otel.name" = %Named(name, key),
                    "otel.kind" = "client",
                    "otel.status_code" = Empty,
                    "gen_ai.operation.name" = name,
                    "gen_ai.request.model" = key,
                    "gen_ai.provider.name" = route,
                    "gen_ai.usage.input_tokens" = Empty,
                    "gen_ai.usage.output_tokens" = Empty,
                    "seawall.usage.estimated" = Empty,
                    "error.type" = Empty,
                    "seawall.sends" = Empty,
                    "seawall.trail" = Empty,
                ),
                Level::Attempt => info_span!(
                    target: "seawall",
                    "attempt",
                    "otel.kind" = "client",
                    "otel.status_code" = Empty,
                    "gen_ai.operation.name" = name,
                    "gen_ai.request.model" = key,
                    "gen_ai.provider.name" = route,
                    "gen_ai.usage.input_tokens" = Empty,
                    "gen_ai.usage.output_tokens" = Empty,
                    "seawall.usage.estimated" = Empty,
                    "error.type" = Empty,
                    "http.response.status_code" = Empty,
                    "seawall.route" = route,
                    "seawall.sends" = Empty,
                ),
            };
            Self(span)
        }

        pub(in super::super) fn scope<T>(&self, work: impl FnOnce() -> T) -> T {
            self.0.in_scope(work)
        }

        pub(in super::super) fn end(&self, ended: &Ended<'_>) {
            if self.0.is_disabled() {
                return;
            }
            if let Some(usage) = ended.usage {
                self.0.record("gen_ai.usage.input_tokens", usage.input);
                self.0.record("gen_ai.usage.output_tokens", usage.output);
                if usage.estimated {
                    self.0.record("seawall.usage.estimated", true);
                }
            }
            // What failed before the head; what failed instead of one is in the error.
            let (before, earlier) = (ended.trail, ended.trail.map_or(0, Trail::sends));
            let (trail, sends) = match ended.outcome {
                Some(Outcome::Failed(error)) => {
                    self.fail(error);
                    (
                        before.filter(|before| !before.is_empty()).or_else(|| Some(error.trail())),
                        Some(error.sends().saturating_add(earlier)),
                    )
                }
                Some(Outcome::Whole) => (before, before.map(|_| earlier.saturating_add(1))),
                None => {
                    self.0.record("error.type", LEFT);
                    (before, before.map(|_| earlier.saturating_add(1)))
                }
            };
            if let Some(sends) = sends {
                self.0.record("seawall.sends", sends);
            }
            if let Some(trail) = trail.filter(|trail| !trail.is_empty()) {
                self.0.record("seawall.trail", display(Told(trail)));
            }
        }

        /// Nothing was sent.
        pub(in super::super) fn refused(&self, error: &Error) {
            self.fail(error);
            self.0.record("seawall.sends", 0);
        }

        fn fail(&self, error: &Error) {
            self.0.record("otel.status_code", "ERROR");
            self.0.record("error.type", error.kind().as_str());
            if let Some(status) = error.status() {
                self.0.record("http.response.status_code", status);
            }
        }
    }

    struct Named<'a>(&'a str, Option<&'a str>);

    impl fmt::Display for Named<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)?;
            self.1.map_or(Ok(()), |key| write!(f, " {key}"))
        }
    }

    /// `overloaded (529) at openai, waited 1s; server (500)`: no words of the provider's.
    struct Told<'a>(&'a Trail);

    impl fmt::Display for Told<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            for (nth, attempt) in self.0.attempts().iter().enumerate() {
                let gap = if nth == 0 { "" } else { "; " };
                write!(f, "{gap}{}", attempt.kind().as_str())?;
                if let Some(status) = attempt.status() {
                    write!(f, " ({status})")?;
                }
                if let Some(route) = attempt.route() {
                    write!(f, " at {route}")?;
                }
                if !attempt.waited().is_zero() {
                    write!(f, ", waited {:?}", attempt.waited())?;
                }
            }
            Ok(())
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod silent {
    use super::*;
    use crate::layers::observe::watch::Watch;

    /// No span.
    pub(in super::super) struct Span;

    #[allow(clippy::unused_self)]
    impl Span {
        pub(in super::super) fn new(_: &Watch, _: Option<&str>) -> Self {
            Self
        }

        pub(in super::super) fn scope<T>(&self, work: impl FnOnce() -> T) -> T {
            work()
        }

        pub(in super::super) fn end(&self, _: &Ended<'_>) {}

        pub(in super::super) fn refused(&self, _: &Error) {}
    }
}
