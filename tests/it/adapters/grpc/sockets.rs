//! Over real sockets, where the wire is the point.
use super::*;
use seawall::{Kind, Phase};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::watch,
    time::timeout,
};
use tonic::{
    Code,
    transport::{Channel, Endpoint, Server, server::TcpIncoming},
};

const SOON: Duration = Duration::from_secs(20);

async fn serve(scripted: &Scripted) -> Channel {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(Server::builder().add_service(server(scripted)).serve_with_incoming(TcpIncoming::from(listener)));
    channel(address.port())
}

fn channel(port: u16) -> Channel {
    Endpoint::from_shared(format!("http://127.0.0.1:{port}")).unwrap().connect_lazy()
}

fn backoff() -> seawall::retry::Backoff {
    seawall::retry::Backoff::new(Duration::from_millis(1), Duration::from_millis(2)).unwrap()
}

#[tokio::test]
async fn a_unary_call_is_retried_over_the_wire_and_a_stream_read() {
    let scripted =
        Scripted::new(|n| if n < 2 { Err(Status::internal("broken")) } else { Ok(vec![text("a"), text("b")]) });
    let mut client = client(stack!(serve(&scripted).await, backoff(backoff())));
    timeout(SOON, async {
        assert_eq!(client.ask(question()).await.unwrap().into_inner().id, "m");
        assert_eq!(scripted.sends(), 3);
        let stream = client.ask_stream(question()).await.unwrap().into_inner();
        assert!(matches!(read(stream).await, (2, None)));
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_status_behind_messages_comes_over_the_wire() {
    let scripted = Scripted::new(|_| Ok(vec![text("a"), Err(Status::aborted("met another"))]));
    let mut client = client(stack!(serve(&scripted).await));
    let stream = timeout(SOON, client.ask_stream(question())).await.unwrap().unwrap().into_inner();
    let (pieces, status) = read(stream).await;
    let status = status.unwrap();
    assert_eq!((pieces, status.code(), told(&status).kind()), (1, Code::Aborted, Kind::Conflict));
}

#[tokio::test]
async fn nobody_at_the_address_is_a_failure_to_connect_and_tried_again() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().port()
    };
    let mut client = client(stack!(channel(port), backoff(backoff())));
    let status = timeout(SOON, client.ask(question())).await.unwrap().unwrap_err();
    assert_eq!((status.code(), told(&status).kind()), (Code::Unavailable, Kind::Transport));
    assert_eq!((told(&status).phase(), told(&status).sends()), (Some(Phase::Connect), 3));
}

/// A server that reads what comes, says this, and hangs up.
async fn says(words: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ = socket.read(&mut [0; 1024]).await;
            let _ = socket.write_all(words).await;
        }
    });
    port
}

#[tokio::test]
async fn a_server_that_hangs_up_or_speaks_plain_http_is_a_failure_of_the_transport() {
    for words in [&b""[..], b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"] {
        let mut client = client(stack!(channel(says(words).await), backoff(backoff())));
        let status = timeout(SOON, client.ask(question())).await.unwrap().unwrap_err();
        let error = told(&status);
        assert_eq!((status.code() == Code::Ok, error.kind(), error.sends()), (false, Kind::Transport, 3), "{status:?}");
    }
}

#[tokio::test]
async fn a_channels_own_time_limit_is_a_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (_open, silent) = (listener, ());
    let endpoint =
        Endpoint::from_shared(format!("http://127.0.0.1:{port}")).unwrap().timeout(Duration::from_millis(50));
    let mut client = client(stack!(endpoint.connect_lazy(), max_retries(0)));
    let status = timeout(SOON, client.ask(question())).await.unwrap().unwrap_err();
    assert_eq!((status.code(), told(&status).kind()), (Code::DeadlineExceeded, Kind::Timeout), "{silent:?}");
}

/// Answers with one piece, and then waits until it is dropped.
struct Waiting(watch::Sender<u32>);

struct Under(watch::Sender<u32>);

impl Drop for Under {
    fn drop(&mut self) {
        self.0.send_modify(|live| *live -= 1);
    }
}

#[tonic::async_trait]
impl Chat for Waiting {
    async fn ask(&self, _: Request<AskRequest>) -> Result<Response<AskReply>, Status> {
        self.0.send_modify(|live| *live += 1);
        let _under = Under(self.0.clone());
        std::future::pending().await
    }

    type AskStreamStream = Pin<Box<dyn Stream<Item = Result<Piece, Status>> + Send>>;

    async fn ask_stream(&self, _: Request<AskRequest>) -> Result<Response<Self::AskStreamStream>, Status> {
        self.0.send_modify(|live| *live += 1);
        let under = Under(self.0.clone());
        let more = tokio_stream::StreamExt::map(tokio_stream::pending(), move |piece| {
            let _ = &under;
            piece
        });
        Ok(Response::new(Box::pin(tokio_stream::StreamExt::chain(tokio_stream::once(text("a")), more))))
    }
}

#[tokio::test]
async fn a_caller_who_leaves_ends_the_call_at_the_server() {
    let (live, mut seen) = watch::channel(0);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let service = ChatServer::new(Waiting(live));
    tokio::spawn(Server::builder().add_service(service).serve_with_incoming(TcpIncoming::from(listener)));
    let client = client(stack!(channel(port), concurrency(1)));
    for _ in 0..2 {
        let mut asking = client.clone();
        let call = tokio::spawn(async move { asking.ask(question()).await });
        timeout(SOON, seen.wait_for(|live| *live == 1)).await.unwrap().unwrap();
        call.abort();
        timeout(SOON, seen.wait_for(|live| *live == 0)).await.expect("a call stays behind").unwrap();

        // The one permit is free again, and free again after this reader left.
        let mut stream = timeout(SOON, client.clone().ask_stream(question())).await.unwrap().unwrap().into_inner();
        stream.message().await.unwrap();
        drop(stream);
        timeout(SOON, seen.wait_for(|live| *live == 0)).await.expect("a stream stays behind").unwrap();
    }
}
