//! A stack around a gRPC channel, against a server that misbehaves: `cargo run --features tonic --example tonic_channel`.
use seawall::{
    Error, Kind, Stack, Trail,
    adapters::tonic::{
        GrpcClassifyLayer, GrpcClientLayer,
        proto::{
            AskReply, AskRequest, Piece,
            chat_client::ChatClient,
            chat_server::{Chat, ChatServer},
        },
    },
};
use std::{
    pin::Pin,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};
use tonic::{
    Code, Request, Response, Status,
    codegen::tokio_stream::{self, Stream},
    transport::{Channel, Server, server::TcpIncoming},
};
use tonic_types::{ErrorDetails, StatusExt};
use tower::Layer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let incoming = TcpIncoming::bind("127.0.0.1:0".parse()?)?;
    let address = incoming.local_addr()?;
    tokio::spawn(Server::builder().add_service(ChatServer::new(Moody::default())).serve_with_incoming(incoming));

    // The client is the generated one, and so is what it is asked; the stack lies between it and its channel.
    let channel = Channel::from_shared(format!("http://{address}"))?.connect_lazy();
    let stack = Stack::http(GrpcClassifyLayer::new().layer(channel)).deadline(Duration::from_secs(30)).build()?;
    let mut client = ChatClient::new(GrpcClientLayer::new().layer(stack));

    let answer = client.ask(AskRequest { model: "m".to_owned(), ..AskRequest::default() }).await?;
    let trail = answer.extensions().get::<Trail>().ok_or("the first attempt was to fail")?;
    let failed: Vec<_> = trail.attempts().iter().map(|attempt| (attempt.kind(), attempt.waited())).collect();
    println!("answered by {}, after {failed:?}", answer.get_ref().model);
    assert!(matches!(failed[..], [(Kind::RateLimited, waited)] if waited >= Duration::from_millis(200)));

    let mut stream = client.ask_stream(AskRequest::default()).await?.into_inner();
    let mut pieces = 0;
    let status = loop {
        match stream.message().await {
            Ok(Some(_)) => pieces += 1,
            Ok(None) => return Err("the stream was to break".into()),
            Err(status) => break status,
        }
    };
    let error = Error::find(&status).ok_or("a status has its error among its sources")?;
    println!("{pieces} pieces, then {:?}: {error}", status.code());
    assert_eq!((pieces, status.code(), error.kind()), (2, Code::DataLoss, Kind::Server));
    Ok(())
}

/// Has a limit at first, and breaks its streams.
#[derive(Default)]
struct Moody(AtomicU32);

#[tonic::async_trait]
impl Chat for Moody {
    async fn ask(&self, asked: Request<AskRequest>) -> Result<Response<AskReply>, Status> {
        let later = || ErrorDetails::with_retry_info(Some(Duration::from_millis(200)));
        match self.0.fetch_add(1, Relaxed) {
            0 => Err(Status::with_error_details(Code::ResourceExhausted, "one a while", later())),
            _ => Ok(Response::new(AskReply { model: asked.into_inner().model, ..AskReply::default() })),
        }
    }

    type AskStreamStream = Pin<Box<dyn Stream<Item = Result<Piece, Status>> + Send>>;

    async fn ask_stream(&self, _: Request<AskRequest>) -> Result<Response<Self::AskStreamStream>, Status> {
        let pieces = [Ok(Piece::default()), Ok(Piece::default()), Err(Status::data_loss("the model crashed"))];
        Ok(Response::new(Box::pin(tokio_stream::iter(pieces))))
    }
}
