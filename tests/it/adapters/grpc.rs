//! A stack around a gRPC channel, with a generated client on top: in memory and virtual time, and over real sockets.
mod answers;
mod hostile;
mod sockets;
mod statuses;

use bytes::Bytes;
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use seawall::{
    Error, Stack,
    adapters::tonic::{
        GrpcClassifyLayer, GrpcClient, GrpcClientLayer, RequestBody,
        proto::{
            AskReply, AskRequest, Piece,
            chat_client::ChatClient,
            chat_server::{Chat, ChatServer},
            piece,
        },
    },
};
use std::{
    convert::Infallible,
    pin::Pin,
    sync::{Arc, Mutex},
};
use tokio::time::Instant;
use tonic::{
    Request, Response, Status, Streaming,
    body::Body,
    codegen::tokio_stream::{self, Stream},
    metadata::{MetadataMap, MetadataValue},
};
use tower::{BoxError, Layer, Service, util::BoxCloneService};

/// What the nth request is answered: pieces, of which a unary answer is the first, or a status in their place.
type Say = fn(usize) -> Result<Vec<Result<Piece, Status>>, Status>;

/// A server whose answers are scripted, and who keeps what it was asked.
#[derive(Clone)]
struct Scripted {
    say: Say,
    asked: Arc<Mutex<Vec<(Instant, MetadataMap)>>>,
}

impl Scripted {
    fn new(say: Say) -> Self {
        Self { say, asked: Arc::default() }
    }

    fn next<T>(&self, request: &Request<T>) -> Result<Vec<Result<Piece, Status>>, Status> {
        let mut asked = self.asked.lock().unwrap();
        asked.push((Instant::now(), request.metadata().clone()));
        (self.say)(asked.len() - 1)
    }

    fn sends(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// Milliseconds between the requests.
    fn gaps(&self) -> Vec<u128> {
        let asked = self.asked.lock().unwrap();
        asked.windows(2).map(|two| (two[1].0 - two[0].0).as_millis()).collect()
    }

    fn headers(&self, name: &str) -> Vec<Option<String>> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|(_, metadata)| metadata.get(name).map(|value| value.to_str().unwrap().to_owned())).collect()
    }
}

#[tonic::async_trait]
impl Chat for Scripted {
    async fn ask(&self, request: Request<AskRequest>) -> Result<Response<AskReply>, Status> {
        let pieces = self.next(&request)?;
        let id = request.into_inner().model;
        pieces.into_iter().next().expect("an answer")?;
        Ok(Response::new(AskReply { id, ..AskReply::default() }))
    }

    type AskStreamStream = Pin<Box<dyn Stream<Item = Result<Piece, Status>> + Send>>;

    async fn ask_stream(&self, request: Request<AskRequest>) -> Result<Response<Self::AskStreamStream>, Status> {
        Ok(Response::new(Box::pin(tokio_stream::iter(self.next(&request)?))))
    }
}

fn text(text: &str) -> Result<Piece, Status> {
    Ok(Piece { kind: Some(piece::Kind::Text(text.to_owned())) })
}

fn question() -> AskRequest {
    AskRequest { model: "m".to_owned(), ..AskRequest::default() }
}

/// A server in memory, in the place of a channel.
fn server(scripted: &Scripted) -> ChatServer<Scripted> {
    ChatServer::new(scripted.clone())
}

type RawBody = UnsyncBoxBody<Bytes, BoxError>;
type Boxed = BoxCloneService<http::Request<Body>, http::Response<RawBody>, Infallible>;

/// A server in memory that may answer what no gRPC server would.
fn raw(answer: impl Fn() -> http::Response<RawBody> + Clone + Send + 'static) -> Boxed {
    Boxed::new(tower::service_fn(move |_| {
        let response = answer();
        async move { Ok(response) }
    }))
}

/// A body of these frames, in which an error cuts it.
fn frames(frames: Vec<Result<http_body::Frame<Bytes>, BoxError>>) -> RawBody {
    StreamBody::new(tokio_stream::iter(frames)).boxed_unsync()
}

/// One message that is empty.
fn message() -> Result<http_body::Frame<Bytes>, BoxError> {
    Ok(http_body::Frame::data(Bytes::from_static(&[0; 5])))
}

fn trailers(pairs: &[(&'static str, &[u8])]) -> Result<http_body::Frame<Bytes>, BoxError> {
    let value = |bytes: &[u8]| http::HeaderValue::from_bytes(bytes).unwrap();
    Ok(http_body::Frame::trailers(
        pairs.iter().map(|(name, text)| (http::HeaderName::from_static(name), value(text))).collect(),
    ))
}

/// An answer with these headers.
fn head(pairs: &[(&'static str, &[u8])], body: RawBody) -> http::Response<RawBody> {
    let mut response = http::Response::new(body);
    for (name, value) in pairs {
        response.headers_mut().insert(*name, http::HeaderValue::from_bytes(value).unwrap());
    }
    response
}

/// The stack with its defaults around `channel`, seeded.
macro_rules! stack {
    ($channel:expr $(, $set:ident($value:expr))*) => {
        Stack::http(GrpcClassifyLayer::new().layer($channel)).seed(7)$(.$set($value))*.build().unwrap()
    };
}
use stack;

fn client<S, B>(stack: S) -> ChatClient<GrpcClient<S>>
where
    S: Service<http::Request<RequestBody>, Response = http::Response<B>, Error = Error> + Clone,
    B: http_body::Body<Data = Bytes, Error = Error> + Send + 'static,
{
    ChatClient::new(GrpcClientLayer::new().layer(stack))
}

/// The error that a status was made of.
fn told(status: &Status) -> &Error {
    Error::find(status).unwrap_or_else(|| panic!("no error of ours in {status:?}"))
}

async fn read(mut stream: Streaming<Piece>) -> (usize, Option<Status>) {
    let mut pieces = 0;
    loop {
        match stream.message().await {
            Ok(Some(_)) => pieces += 1,
            Ok(None) => return (pieces, None),
            Err(status) => return (pieces, Some(status)),
        }
    }
}

fn with_header(mut status: Status, name: &'static str, value: &'static str) -> Status {
    status.metadata_mut().insert(name, MetadataValue::from_static(value));
    status
}
