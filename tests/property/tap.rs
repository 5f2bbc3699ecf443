//! Between client and provider: passes everything on, and keeps an account of every send.
use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context as Cx, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use seawall::sim::{self, InProcess};
use tokio::time::Instant;
use tower::Service;

#[derive(Clone)]
pub struct Tap {
    provider: InProcess,
    sends: Arc<Mutex<Vec<Send>>>,
}

/// One request on the wire.
#[derive(Clone, Debug)]
pub struct Send {
    pub call: u64,
    pub at: Instant,
    /// When the head was there, and what it said.
    pub head: Option<Instant>,
    pub status: Option<u16>,
    pub told: Option<Duration>,
}

impl Tap {
    pub fn new(provider: InProcess) -> Self {
        Self { provider, sends: Arc::default() }
    }

    pub fn sends(&self) -> Vec<Send> {
        self.sends.lock().unwrap().clone()
    }
}

impl Service<http::Request<Full<Bytes>>> for Tap {
    type Response = http::Response<sim::Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + std::marker::Send>>;

    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Full<Bytes>>) -> Self::Future {
        let tap = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let asked: serde_json::Value = serde_json::from_slice(&body).unwrap();
            let call = asked["model"].as_str().unwrap().parse().unwrap();
            let index = {
                let mut sends = tap.sends.lock().unwrap();
                sends.push(Send { call, at: Instant::now(), head: None, status: None, told: None });
                sends.len() - 1
            };
            let mut provider = tap.provider;
            let response = provider.call(http::Request::from_parts(head, Full::new(body))).await?;
            let send = &mut tap.sends.lock().unwrap()[index];
            send.head = Some(Instant::now());
            send.status = Some(response.status().as_u16());
            send.told = told(response.headers());
            Ok(response)
        })
    }
}

fn told(headers: &http::HeaderMap) -> Option<Duration> {
    let number = |name| headers.get(name)?.to_str().ok()?.parse().ok();
    let millis = || number("retry-after-ms").map(Duration::from_millis);
    millis().or_else(|| number("retry-after").map(Duration::from_secs))
}
