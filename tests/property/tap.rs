//! Between client and provider: passes everything on, and keeps an account of every send.
use std::{
    future::{Future, pending},
    io,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{
            AtomicU8, AtomicU32,
            Ordering::{Relaxed, SeqCst},
        },
    },
    task::{Context as Cx, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use seawall::sim::{self, InProcess, Script};
use tokio::time::Instant;
use tower::Service;

#[derive(Clone)]
pub struct Tap {
    provider: InProcess,
    sends: Arc<Mutex<Vec<Send>>>,
    way: Way,
    here: Arc<Here>,
}

/// Which of a run's shared stacks sent it, or one of the call's own, and on which route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Way {
    pub stack: Option<usize>,
    pub route: usize,
}

/// What a provider does at the end of a run, when faults are over.
#[derive(Clone, Copy)]
pub enum Mode {
    Well = 1,
    Holding,
}

/// Of one route: how many wait for a head, and how many did at most.
#[derive(Default)]
struct Here {
    live: AtomicU32,
    most: AtomicU32,
    mode: AtomicU8,
}

struct Live(Arc<Here>);

impl Live {
    fn new(here: &Arc<Here>) -> Self {
        here.most.fetch_max(here.live.fetch_add(1, SeqCst) + 1, SeqCst);
        Self(here.clone())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.0.live.fetch_sub(1, SeqCst);
    }
}

/// One request on the wire.
#[derive(Clone, Debug)]
pub struct Send {
    pub call: u64,
    pub way: Way,
    pub at: Instant,
    /// When the head was there, and what it said.
    pub head: Option<Instant>,
    pub status: Option<u16>,
    pub told: Option<Duration>,
}

impl Tap {
    pub fn new(provider: InProcess) -> Self {
        Self { provider, sends: Arc::default(), way: Way::default(), here: Arc::default() }
    }

    /// The same account, at another place.
    pub fn on(&self, way: Way, provider: &InProcess) -> Self {
        Self { provider: provider.clone(), sends: self.sends.clone(), way, here: Arc::default() }
    }

    pub fn live(&self) -> u32 {
        self.here.live.load(SeqCst)
    }

    pub fn most(&self) -> u32 {
        self.here.most.load(SeqCst)
    }

    pub fn set(&self, mode: Mode) {
        self.here.mode.store(mode as u8, Relaxed);
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
            let _live = Live::new(&tap.here);
            let mode = tap.here.mode.load(Relaxed);
            if mode == Mode::Holding as u8 {
                return pending().await;
            }
            if mode == Mode::Well as u8 {
                return InProcess::new(Script::seeded(0)).unwrap().call(request).await;
            }
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let asked: serde_json::Value = serde_json::from_slice(&body).unwrap();
            let call = asked["model"].as_str().unwrap().parse().unwrap();
            let index = {
                let mut sends = tap.sends.lock().unwrap();
                sends.push(Send { call, way: tap.way, at: Instant::now(), head: None, status: None, told: None });
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
