//! The chat of `chat.proto` over gRPC, and OpenAI's chat completions over REST, on one port and over one stack.
//!
//! ```sh
//! OPENAI_API_KEY=… cargo run --example tonic_service --features axum,tonic -- 127.0.0.1:50051
//! curl http://127.0.0.1:50051/v1/chat/completions -d '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Hello"}]}'
//! cargo run --example tonic_service --features axum,tonic -- ask http://127.0.0.1:50051 "What is a seawall?"
//! ```
//!
//! `OPENAI_BASE_URL` asks another server. The deadline of a caller over gRPC (`grpc-timeout`) is that of its call here.
use seawall::{
    Stack,
    adapters::{
        axum::serve,
        tonic::{
            ChatService,
            proto::{self, chat_client::ChatClient, part, piece},
        },
    },
    provider::OpenAi,
    serve::{Drain, Endpoint, OpenAi as Completions},
};
use std::{env, error::Error, io::Write, time::Duration};
use tokio::net::TcpListener;
use tonic::{Request, service::Routes};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ask", address, prompt] => ask(address, prompt).await,
        [address] => serve_both(address).await,
        _ => Err("usage: tonic_service ADDRESS | tonic_service ask URL PROMPT".into()),
    }
}

async fn serve_both(address: &str) -> Result<(), Box<dyn Error>> {
    let stack = Stack::chat(OpenAi::from_env()?.client()?).deadline(Duration::from_secs(120)).build()?;
    let drain = Drain::new();
    let grpc = Routes::new(ChatService::new(stack.clone()).drain(&drain).into_server());
    let rest = Endpoint::new(Completions::new(), stack).drain(&drain);
    let router = grpc.prepare().into_axum_router().route_service("/v1/chat/completions", rest);

    let listener = TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let stopped = async { drop(tokio::signal::ctrl_c().await) };
    serve(listener, router).drain(&drain).until(stopped).await?;
    Ok(())
}

async fn ask(address: &str, prompt: &str) -> Result<(), Box<dyn Error>> {
    let mut client = ChatClient::new(tonic::transport::Channel::from_shared(address.to_owned())?.connect().await?);
    let said = proto::Part { kind: Some(part::Kind::Text(prompt.to_owned())) };
    let turn = proto::Message { role: proto::Role::User.into(), parts: vec![said] };
    let asked = proto::AskRequest { model: "gpt-4o-mini".to_owned(), messages: vec![turn], ..Default::default() };
    let mut request = Request::new(asked);
    request.set_timeout(Duration::from_secs(60));
    let mut pieces = client.ask_stream(request).await?.into_inner();
    while let Some(piece) = pieces.message().await? {
        if let Some(piece::Kind::Text(text)) = piece.kind {
            print!("{text}");
            std::io::stdout().flush()?;
        }
    }
    println!();
    Ok(())
}
