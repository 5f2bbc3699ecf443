//! A model that answers by a script, in virtual time.
use seawall::{Error, Kind};
use std::{
    future::{Future, pending},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    task::{Context as Cx, Poll},
    time::Duration,
};
use tower::Service;

/// Answers its nth request by a script; panics on a call that was not made ready.
pub struct Fake<Req, R> {
    script: Arc<dyn Fn(u32, Req) -> Answer<R> + Send + Sync>,
    sends: Arc<AtomicU32>,
    live: Arc<AtomicU32>,
    ready: bool,
}

pub enum Answer<R> {
    Now(Result<R, Error>),
    After(Duration, Result<R, Error>),
    Never,
}
pub use Answer::*;

pub fn fake<Req, R>(script: impl Fn(u32, Req) -> Answer<R> + Send + Sync + 'static) -> Fake<Req, R> {
    Fake { script: Arc::new(script), sends: Arc::default(), live: Arc::default(), ready: false }
}

pub fn failing<R>(kind: Kind) -> Answer<R> {
    Now(Err(Error::provider(kind)))
}

pub fn limited<R>(wait: Duration) -> Answer<R> {
    Now(Err(Error::provider(Kind::RateLimited).with_retry_after(wait)))
}

impl<Req, R> Fake<Req, R> {
    pub fn sends(&self) -> u32 {
        self.sends.load(Relaxed)
    }

    /// Calls under way: zero when nothing leaks.
    pub fn live(&self) -> u32 {
        self.live.load(Relaxed)
    }
}

impl<Req, R> Clone for Fake<Req, R> {
    fn clone(&self) -> Self {
        let (script, sends, live) = (self.script.clone(), self.sends.clone(), self.live.clone());
        Self { script, sends, live, ready: false }
    }
}

struct Live(Arc<AtomicU32>);

impl Drop for Live {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl<Req, R: Send + 'static> Service<Req> for Fake<Req, R> {
    type Response = R;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<R, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Req) -> Self::Future {
        assert!(std::mem::take(&mut self.ready), "called without being ready");
        let answer = (self.script)(self.sends.fetch_add(1, Relaxed), request);
        self.live.fetch_add(1, Relaxed);
        let live = Live(self.live.clone());
        Box::pin(async move {
            let _live = live;
            match answer {
                Now(result) => result,
                After(delay, result) => {
                    tokio::time::sleep(delay).await;
                    result
                }
                Never => pending().await,
            }
        })
    }
}
