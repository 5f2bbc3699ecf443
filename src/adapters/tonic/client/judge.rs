use super::{AnswerBody, GrpcReading, told, verdict};
use crate::{
    Error,
    classify::{Classifier, Judge, Judged},
};
use ::tonic::Code;
use http::{HeaderMap, Response, header::CONTENT_TYPE};
use http_body::Body;
use std::error::Error as StdError;

/// Judges the answer to one gRPC request.
#[derive(Clone, Debug)]
pub struct GrpcJudge {
    pub(super) classifier: Classifier,
    /// Whether the answer waits for its first message: the whole of the request was sent, so nobody has to see the head first.
    pub(super) waits: bool,
}

impl<B, E> Judge<Response<B>, E> for GrpcJudge
where
    B: Body + Unpin,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
    E: Into<Box<dyn StdError + Send + Sync>>,
{
    type Response = Response<AnswerBody<B>>;
    type Reading = GrpcReading<B>;

    fn response(&self, mut response: Response<B>) -> Judged<Self::Response, Self::Reading> {
        let classifier = self.classifier.clone();
        // A status of gRPC's counts, whatever HTTP says.
        match told::status(response.headers()) {
            Some(status) if status.code() != Code::Ok => {
                Judged::Read(GrpcReading::failed(verdict::of_status(&classifier, status)))
            }
            Some(_) => {
                told::without_broken_details(response.headers_mut());
                Judged::Good(response.map(|body| AnswerBody::closed(body, classifier)))
            }
            None if !response.status().is_success() => Judged::Read(GrpcReading::page(response, classifier)),
            None if !is_grpc(response.headers()) => {
                Judged::Read(GrpcReading::failed(verdict::of_stranger(&classifier, response.status())))
            }
            None => match (self.waits, response.map(|body| AnswerBody::open(body, classifier))) {
                (true, response) => Judged::Read(GrpcReading::first(response)),
                (false, response) => Judged::Good(response),
            },
        }
    }

    fn error(&self, error: E) -> Error {
        verdict::of_failure(&self.classifier, error.into())
    }
}

/// As far as the content type says, where there is one.
fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_none_or(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}
