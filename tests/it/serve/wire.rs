//! A stack that is served over real sockets, and clients that write byte by byte.
use axum::{
    Router,
    body::Body,
    extract::{Extension, Request},
    middleware::{Next, from_fn},
    routing::post,
};
use http_body_util::BodyExt;
use seawall::{
    Gate, Stack,
    adapters::axum::serve,
    provider::OpenAi,
    serve::{self, Asked, Drain, Endpoint, Limits},
    sim::{MockProvider, Script},
    stack::Boxed,
};
use std::{
    future::Future,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
    time::timeout,
};

pub struct Served {
    pub provider: MockProvider,
    pub address: SocketAddr,
    /// The requests that came to an endpoint.
    arrived: Arc<AtomicU32>,
    /// Those that are still at it, from the arrival of the request to the end of the answer's body.
    alive: Arc<AtomicU32>,
    pub stop: Option<oneshot::Sender<()>>,
    pub server: JoinHandle<()>,
}

struct Alive(Arc<AtomicU32>);

impl Alive {
    fn new(count: &Arc<AtomicU32>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One call at a time, over one route.
pub async fn served(script: Script, grace: Duration) -> Served {
    served_within(script, grace, Duration::from_secs(30)).await
}

pub async fn served_within(script: Script, grace: Duration, header_read_timeout: Duration) -> Served {
    let provider = MockProvider::start(script).await.unwrap();
    let client = OpenAi::new("k").base_url(provider.base_url()).client().unwrap();
    let gate = Gate::new();
    gate.force_circuit_closed();
    let stack = Boxed::new(Stack::chat(client).gate(&gate).concurrency(1).build().unwrap());
    let drain = Drain::new();
    let (arrived, alive) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let watch = {
        let (arrived, alive) = (Arc::clone(&arrived), Arc::clone(&alive));
        move |request: Request, next: Next| {
            arrived.fetch_add(1, Ordering::Relaxed);
            let alive = Alive::new(&alive);
            async move {
                next.run(request).await.map(|body| {
                    Body::new(body.map_frame(move |frame| {
                        let _ = &alive;
                        frame
                    }))
                })
            }
        }
    };
    let own = |model: Boxed, asked: Asked<serve::OpenAi>| async move { asked.ask(model).await };
    let router = Router::new()
        .route_service("/v1/chat/completions", Endpoint::new(serve::OpenAi::new(), stack.clone()).drain(&drain))
        .route_service("/v1/messages", Endpoint::new(serve::Anthropic::new(), stack.clone()).drain(&drain))
        .route("/own", post(own))
        .layer(Extension(drain.clone()))
        .layer(Extension(Limits::default()))
        .layer(from_fn(watch))
        .with_state(stack);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let server = tokio::spawn(async move {
        let serving =
            serve(listener, router).drain(&drain).grace(grace).header_read_timeout(header_read_timeout).unwrap();
        serving.until(async { drop(stopped.await) }).await.unwrap();
    });
    Served { provider, address, arrived, alive, stop: Some(stop), server }
}

pub const OPENAI: &str = "/v1/chat/completions";
pub const ANTHROPIC: &str = "/v1/messages";

/// A request, head and body.
pub fn request(path: &str, stream: bool) -> (String, String) {
    let body = format!(
        r#"{{"model":"m","max_tokens":9000000,"messages":[{{"role":"user","content":"?"}}],"stream":{stream}}}"#
    );
    let head =
        format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    (head, body)
}

impl Served {
    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends a call, and gives the connection.
    pub async fn call(&self, path: &str, stream: bool) -> TcpStream {
        let (head, body) = request(path, stream);
        let mut connection = self.connect().await;
        connection.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        connection
    }

    pub async fn seen(&self, calls: u64) {
        until(|| self.provider.seen() >= calls).await;
    }

    pub async fn arrived(&self, calls: u32) {
        until(|| self.arrived.load(Ordering::Relaxed) >= calls).await;
    }

    /// So many calls are left.
    pub async fn alive(&self, calls: u32) {
        until(|| self.alive.load(Ordering::Relaxed) == calls).await;
    }

    /// Nothing is under way upstream, and no call holds anything here: no permit, no sleep.
    pub async fn is_clean(&self) {
        self.alive(0).await;
        until(|| self.provider.in_flight() == 0).await;
    }
}

pub async fn until(is_so: impl Fn() -> bool) {
    let so = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    within(so).await;
}

pub async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(10), future).await.expect("it hangs")
}

pub async fn read_to(connection: &mut TcpStream, word: &str) -> String {
    let mut all = Vec::new();
    while !String::from_utf8_lossy(&all).contains(word) {
        let mut chunk = [0; 1024];
        let read = within(connection.read(&mut chunk)).await.unwrap();
        assert_ne!(read, 0, "{}", String::from_utf8_lossy(&all));
        all.extend_from_slice(&chunk[..read]);
    }
    String::from_utf8(all).unwrap()
}

pub async fn rest(mut connection: TcpStream) -> String {
    let mut all = Vec::new();
    let _ = within(connection.read_to_end(&mut all)).await;
    String::from_utf8(all).unwrap()
}
