//! What is cloned, and what cannot be.
use super::*;
use seawall::{Context, Note, Replay, Shape};
use std::{
    rc::Rc,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

/// A request that counts its copies, and may bring a context.
pub struct Counted(Arc<AtomicU32>, Option<Context>);

impl Counted {
    pub fn new(copies: &Arc<AtomicU32>, context: Option<Context>) -> Self {
        Self(copies.clone(), context)
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.0.fetch_add(1, Relaxed);
        Self(self.0.clone(), self.1)
    }
}

/// Reads the context of `Counted`.
#[derive(Clone)]
pub struct Counts;

impl Shape<Counted> for Counts {
    fn context(&self, request: &Counted) -> Option<Context> {
        request.1
    }

    fn set_context(&self, request: &mut Counted, context: Context) {
        request.1 = Some(context);
    }
}

impl Replay<Counted> for Counts {
    fn again(&self, request: &Counted) -> Option<Counted> {
        Some(request.clone())
    }
}

impl<R> Note<R> for Counts {
    fn note(&self, _: &mut R, _: Trail) {}
}

/// How often a request is copied and sent, by a model that fails for ever.
async fn copies(retries: u32, context: Option<Context>) -> (u32, u32) {
    let copies = Arc::new(AtomicU32::new(0));
    let model = fake(|_, _: Counted| failing::<u32>(Kind::Server));
    let layer = RetryLayer::new().max_retries(retries).shape(Counts);
    ask(&layer.layer(model.clone()), Counted(copies.clone(), context)).await.unwrap_err();
    (copies.load(Relaxed), model.sends())
}

#[tokio::test(start_paused = true)]
async fn nothing_is_copied_when_no_retry_can_follow() {
    guarded(async {
        assert_eq!(copies(0, None).await, (0, 1), "one attempt");
        assert_eq!(copies(2, None).await, (2, 3), "the last attempt takes the copy itself");
        let sends = |n| Some(Context::default().with_sends_left(n));
        assert_eq!(copies(2, sends(1)).await, (0, 1), "one send");
        assert_eq!(copies(2, sends(2)).await, (1, 2), "the last send");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn without_retries_a_refusal_is_not_waited_out_either() {
    guarded(async {
        let (model, _) = always(|| Now(Err(Error::refusal(Kind::CoolingDown).with_retry_after(seconds(1)))));
        let error = ask(&RetryLayer::new().max_retries(0).layer(model.clone()), 1).await.unwrap_err();
        assert_eq!((model.sends(), error.gave_up()), (1, Some(GaveUp::NotKept)));
    })
    .await;
}

/// Requests whose body can be read once.
#[derive(Clone)]
pub struct Once;

impl Shape<u32> for Once {}

impl Replay<u32> for Once {
    fn again(&self, _: &u32) -> Option<u32> {
        None
    }
}

impl<R> Note<R> for Once {
    fn note(&self, _: &mut R, _: Trail) {}
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_copied_passes_once() {
    guarded(async {
        let service = |model: Fake<u32, u32>| RetryLayer::new().shape(Once).layer(model);
        assert_eq!(ask(&service(fails(0, Kind::Server)), 1).await.unwrap(), 0);
        let model = fails(1, Kind::Server);
        let error = ask(&service(model.clone()), 1).await.unwrap_err();
        assert_eq!((model.sends(), error.gave_up()), (1, Some(GaveUp::NotReplayable)));
        let error = ask(&service(fails(1, Kind::Auth)), 1).await.unwrap_err();
        assert_eq!(error.gave_up(), None, "it would not have been retried");
    })
    .await;
}

/// A model on one thread: neither its requests nor its futures are `Send`.
#[derive(Clone)]
struct Local(Rc<AtomicU32>);

impl Service<Rc<str>> for Local {
    type Response = usize;
    type Error = Error;
    type Future = Ready<Result<usize, Error>>;

    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Rc<str>) -> Self::Future {
        ready(match self.0.fetch_add(1, Relaxed) {
            0 => Err(Error::provider(Kind::Server)),
            _ => Ok(request.len()),
        })
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_needs_to_be_send() {
    guarded(async {
        let service = RetryLayer::new().layer(Local(Rc::default()));
        assert_eq!(ask(&service, Rc::from("hello")).await.unwrap(), 5);
    })
    .await;
}

#[test]
fn a_layer_and_its_futures_are_send_and_sync_where_what_they_hold_is() {
    fn both<T: Send + Sync + Clone>(_: &T) {}
    fn send<T: Send>(_: T) {}
    let service = RetryLayer::new().layer(fails(0, Kind::Server));
    both(&RetryLayer::new());
    both(&service);
    send(ask(&service, 1));
}
