//! Failures without an answer: by type, and where a crate exports no type, by its exact text.
use crate::{Error, Kind, Phase, error::chain};
use std::{error::Error as StdError, io};

type Boxed = Box<dyn StdError + Send + Sync>;

/// What is known of a failure.
#[derive(Clone, Copy, Debug)]
struct Verdict {
    kind: Kind,
    /// Whether a person must act first.
    hopeless: bool,
}

const fn is(kind: Kind) -> Verdict {
    Verdict { kind, hopeless: false }
}

const HOPELESS: Verdict = Verdict { kind: Kind::Transport, hopeless: true };

/// Texts of hyper, hyper-util, h2, rustls and reqwest, whose types are private or not ours to name. An error is looked up
/// by its whole text, and by the parts of it between `: `. A test has the locked versions say each of them.
///
/// Of a body that is cut by HTTP/2 keep-alive h2 says no more than of a connection that was closed: that is no timeout here.
const TEXTS: &[(&str, Verdict)] = &[
    ("invalid peer certificate", HOPELESS),
    ("proxy authorization required", HOPELESS),
    ("too many redirects", HOPELESS),
    ("operation was canceled by the caller", is(Kind::Cancelled)),
    ("builder error", is(Kind::InvalidRequest)),
    ("operation timed out", is(Kind::Timeout)),
    ("keep-alive timed out", is(Kind::Timeout)),
    ("stream idle timeout", is(Kind::Timeout)),
    ("Connection timed out (os error 110)", is(Kind::Timeout)),
    ("connection closed before message completed", is(Kind::Transport)),
    ("end of file before message length reached", is(Kind::Transport)),
    ("error reading a body from connection", is(Kind::Transport)),
    ("connection error", is(Kind::Transport)),
    ("http2 error", is(Kind::Transport)),
    ("channel closed", is(Kind::Transport)),
    ("operation was canceled", is(Kind::Transport)),
    ("tunnel error", is(Kind::Transport)),
    ("unsuccessful tunnel", is(Kind::Transport)),
    ("dns error", is(Kind::Transport)),
    ("tcp connect error", is(Kind::Transport)),
    (CONNECT, is(Kind::Transport)),
    ("client error (SendRequest)", is(Kind::Transport)),
];

/// What hyper-util's client says where there was no connection yet.
const CONNECT: &str = "client error (Connect)";

/// Judges a failure; what no rule knows is of kind `fallback`, or unknown. What is ours already is not named again.
pub(super) fn judge(error: Boxed, fallback: Option<Kind>, named: impl Fn(Error) -> Error) -> Error {
    let error = match error.downcast::<Error>() {
        Ok(ours) => return *ours,
        Err(foreign) => without_url(foreign),
    };
    let copy = Error::find(&*error).map(Error::without_source);
    if let Some(copy) = copy {
        return keep(copy, error);
    }
    if chain(&*error).any(|cause| cause.is::<tower::load_shed::error::Overloaded>()) {
        return keep(Error::refusal(Kind::LocalLimit), error);
    }
    let told = chain(&*error).filter_map(by_type).chain(chain(&*error).filter_map(by_text).map(|(_, verdict)| verdict));
    let told = told.max_by_key(|verdict| rank(*verdict)).or_else(|| by_client(&*error));
    let verdict = told.unwrap_or_else(|| is(fallback.unwrap_or(Kind::Unknown)));
    let mut judged = named(Error::provider(verdict.kind));
    if verdict.kind == Kind::InvalidRequest {
        judged = judged.with_sends(0);
    }
    if let Some(phase) = phase(&*error) {
        judged = judged.with_phase(phase);
    }
    if verdict.hopeless {
        judged = judged.with_retryable(false);
    }
    if let Some(code) = code(&*error) {
        judged = judged.with_code(code);
    }
    let judged = status(&*error, judged);
    keep(judged, error)
}

/// Keeps the source, unless a URL stands in it that cannot be taken out: its query may hold a key.
fn keep(judged: Error, source: Boxed) -> Error {
    if names_url(&*source) { judged } else { judged.with_source(source) }
}

/// A word for a person to read, in place of the sources: `invalid_peer_certificate`, or `ConnectionRefused` and its like.
fn code(error: &(dyn StdError + 'static)) -> Option<String> {
    let system = chain(error).filter_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    let hopeless = chain(error).find_map(|cause| by_text(cause).filter(|(_, verdict)| verdict.hopeless));
    match hopeless {
        Some((text, _)) => Some(text.replace(' ', "_")),
        None => system.filter(|kind| *kind != io::ErrorKind::Other).last().map(|kind| format!("{kind:?}")),
    }
}

/// The more it says, the more it counts: a certificate within a connect error within a request error.
fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict { hopeless: true, .. } => 3,
        Verdict { kind: Kind::Transport, .. } => 1,
        _ => 2,
    }
}

fn by_type(error: &(dyn StdError + 'static)) -> Option<Verdict> {
    if error.is::<tokio::time::error::Elapsed>() || error.is::<tower::timeout::error::Elapsed>() {
        return Some(is(Kind::Timeout));
    }
    match error.downcast_ref::<io::Error>()?.kind() {
        io::ErrorKind::TimedOut => Some(is(Kind::Timeout)),
        _ => Some(is(Kind::Transport)),
    }
}

fn by_text(error: &(dyn StdError + 'static)) -> Option<(&'static str, Verdict)> {
    // A wrapper that repeats the text of its source is found by that source; a long text is none of these.
    let text = error.to_string();
    let row = |part: &str| TEXTS.iter().find(|row| row.0 == part).copied();
    let parts = text.split(": ").take(8).filter_map(row);
    parts.max_by_key(|(_, verdict)| rank(*verdict))
}

fn phase(error: &(dyn StdError + 'static)) -> Option<Phase> {
    let connecting = chain(error).any(|cause| {
        let refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        cause.downcast_ref().is_some_and(refused) || cause.to_string().split(": ").any(|part| part == CONNECT)
    });
    if connecting { Some(Phase::Connect) } else { client_phase(error) }
}

#[cfg(feature = "reqwest")]
mod client {
    use super::{HOPELESS, Verdict, chain, is};
    use crate::{Error, Kind, Phase, layers::classify::rules::by_status};
    use std::error::Error as StdError;

    fn find<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a reqwest::Error> {
        chain(error).find_map(|cause| cause.downcast_ref())
    }

    /// URLs hold keys, so they leave the error before anybody can print it.
    pub(super) fn without_url(error: super::Boxed) -> super::Boxed {
        match error.downcast::<reqwest::Error>() {
            Ok(error) => Box::new(error.without_url()),
            Err(error) => error,
        }
    }

    pub(super) fn names_url(error: &(dyn StdError + 'static)) -> bool {
        chain(error).filter_map(|cause| cause.downcast_ref::<reqwest::Error>()).any(|error| error.url().is_some())
    }

    pub(super) fn by_client(error: &(dyn StdError + 'static)) -> Option<Verdict> {
        let error = find(error)?;
        Some(match error.status() {
            _ if error.is_builder() => is(Kind::InvalidRequest),
            _ if error.is_redirect() => HOPELESS,
            _ if error.is_timeout() => is(Kind::Timeout),
            Some(status) => is(by_status(Some(status.as_u16()))),
            None => is(Kind::Transport),
        })
    }

    pub(super) fn client_phase(error: &(dyn StdError + 'static)) -> Option<Phase> {
        let error = find(error)?;
        match () {
            () if error.is_connect() => Some(Phase::Connect),
            () if error.is_body() || error.is_decode() => Some(Phase::Body),
            () if error.is_request() => Some(Phase::FirstByte),
            () => None,
        }
    }

    pub(super) fn status(error: &(dyn StdError + 'static), judged: Error) -> Error {
        match find(error).and_then(reqwest::Error::status) {
            Some(status) => judged.with_status(status.as_u16()),
            None => judged,
        }
    }
}

#[cfg(not(feature = "reqwest"))]
mod client {
    use super::Verdict;
    use crate::{Error, Phase};
    use std::error::Error as StdError;

    pub(super) fn without_url(error: super::Boxed) -> super::Boxed {
        error
    }

    pub(super) fn names_url(_: &(dyn StdError + 'static)) -> bool {
        false
    }

    pub(super) fn by_client(_: &(dyn StdError + 'static)) -> Option<Verdict> {
        None
    }

    pub(super) fn client_phase(_: &(dyn StdError + 'static)) -> Option<Phase> {
        None
    }

    pub(super) fn status(_: &(dyn StdError + 'static), judged: Error) -> Error {
        judged
    }
}

use client::{by_client, client_phase, names_url, status, without_url};
