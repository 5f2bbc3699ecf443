use super::{ClassifiedBody, Classifier, Reading};
use crate::Error;
use http::{HeaderMap, Response, header::CONTENT_TYPE};
use http_body::Body;
use std::{error::Error as StdError, fmt, future::Ready};

/// How the answers of a service are judged.
pub trait Judge<R, E> {
    /// What a success comes out as.
    type Response;
    /// Where a body must be looked into first.
    type Reading: Future<Output = Result<Self::Response, Error>>;

    /// Lets a good response through, or begins to read one that must be looked into.
    fn response(&self, response: R) -> Judged<Self::Response, Self::Reading>;

    /// Judges a failure of the service.
    fn error(&self, error: E) -> Error;
}

/// A first look at a response.
#[derive(Debug)]
pub enum Judged<R, P> {
    /// Good as it is.
    Good(R),
    /// To be read.
    Read(P),
}

/// `http::Response`, by status and body.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    pub(super) classifier: Classifier,
    pub(super) look: Option<usize>,
}

impl<B, E> Judge<Response<B>, E> for Answers
where
    B: Body + Unpin,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
    E: Into<Box<dyn StdError + Send + Sync>>,
{
    type Response = Response<ClassifiedBody<B>>;
    type Reading = Reading<B, Self::Response>;

    fn response(&self, response: Response<B>) -> Judged<Self::Response, Self::Reading> {
        let classifier = self.classifier.clone();
        match self.look {
            _ if !response.status().is_success() => Judged::Read(Reading::refusal(response, classifier, |good| good)),
            Some(limit) if !is_stream(response.headers()) => {
                Judged::Read(Reading::success(response, limit, classifier, |good| good))
            }
            _ => Judged::Good(response.map(|body| ClassifiedBody::new(body, classifier))),
        }
    }

    fn error(&self, error: E) -> Error {
        self.classifier.transport(error.into())
    }
}

/// A stream is judged frame by frame, by who reads it.
fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let streams = ["text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream"];
    streams.iter().any(|name| kind.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)))
}

/// `reqwest::Response`, by status and body.
#[cfg(feature = "reqwest")]
#[cfg_attr(docsrs, doc(cfg(feature = "reqwest")))]
#[derive(Clone, Debug, Default)]
pub struct Reqwest {
    pub(super) classifier: Classifier,
}

#[cfg(feature = "reqwest")]
impl Judge<reqwest::Response, reqwest::Error> for Reqwest {
    type Response = reqwest::Response;
    type Reading = Reading<reqwest::Body, reqwest::Response>;

    fn response(&self, response: reqwest::Response) -> Judged<Self::Response, Self::Reading> {
        match response.status().is_success() {
            true => Judged::Good(response),
            false => Judged::Read(Reading::refusal(response.into(), self.classifier.clone(), |good| {
                good.map(|body| body.into_inner().unwrap_or_default()).into()
            })),
        }
    }

    fn error(&self, error: reqwest::Error) -> Error {
        self.classifier.transport(error.into())
    }
}

/// Any service, whose errors one closure judges.
#[derive(Clone)]
pub struct Closure<F>(pub(super) F);

impl<R, E, F: Fn(E) -> Error> Judge<R, E> for Closure<F> {
    type Response = R;
    type Reading = Ready<Result<R, Error>>;

    fn response(&self, response: R) -> Judged<R, Self::Reading> {
        Judged::Good(response)
    }

    fn error(&self, error: E) -> Error {
        (self.0)(error)
    }
}

impl<F> fmt::Debug for Closure<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closure(…)")
    }
}

/// Services under tower's own layers, which box their errors.
#[derive(Clone, Debug, Default)]
pub struct Boxed {
    pub(super) classifier: Classifier,
}

impl<R, E: Into<Box<dyn StdError + Send + Sync>>> Judge<R, E> for Boxed {
    type Response = R;
    type Reading = Ready<Result<R, Error>>;

    fn response(&self, response: R) -> Judged<R, Self::Reading> {
        Judged::Good(response)
    }

    fn error(&self, error: E) -> Error {
        self.classifier.boxed(error.into())
    }
}
