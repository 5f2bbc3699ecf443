use super::*;
use crate::{
    ask,
    fake::{Now, failing},
    guarded, seconds,
};
use seawall::{
    AsIs, GaveUp, Map, Model, Note, Replay, Shape, Trail,
    chat::{self, Chat},
    failover::{Failover, On, Route},
};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A request that counts its copies.
struct Counted(Arc<AtomicU32>);

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.0.fetch_add(1, Relaxed);
        Self(self.0.clone())
    }
}

/// How often a request was copied, and how the call ended.
async fn copies<R: Send + 'static>(routes: Vec<Route<Fake<Counted, R>>>) -> (u32, Result<R, Error>) {
    let count = Arc::<AtomicU32>::default();
    let result = ask(&Failover::list(routes).unwrap().on_failure(), Counted(count.clone())).await;
    (count.load(Relaxed), result)
}

#[tokio::test(start_paused = true)]
async fn a_copy_is_kept_only_while_another_route_may_be_asked() {
    guarded(async {
        let fails = || Route::new(fake(|_, _: Counted| failing::<u64>(Kind::Server)));
        let well = || Route::new(fake(|_, _: Counted| Now(Ok(7))));
        assert_eq!(copies(vec![well()]).await.0, 0);
        assert_eq!(copies(vec![well(), well()]).await.0, 1);
        assert_eq!(copies(vec![fails(), well()]).await.0, 1);
        assert_eq!(copies(vec![fails(), fails(), fails()]).await.0, 2);
        let gate = Gate::new();
        gate.cool_down(seconds(9));
        let closed = || well().gate(&gate);
        assert_eq!(copies(vec![closed(), closed()]).await.0, 0, "all are closed: the first asked is the last");
        assert_eq!(copies(vec![closed(), well()]).await.0, 1, "the closed one may still be asked");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_copy_is_made_for_gates_while_no_key_is_closed() {
    guarded(async {
        let count = Arc::<AtomicU32>::default();
        let gate = Gate::new();
        let mapped = Arc::<AtomicU32>::default();
        let log = mapped.clone();
        let map = move |request: Counted| {
            log.fetch_add(1, Relaxed);
            request
        };
        let shape = seawall::KeyBy::new(Bare, |_: &Counted| Some("key"));
        let well = fake(|_, _: Counted| Now(Ok(7)));
        let service = Failover::new(well.clone()).map(map).gate(&gate).then(well).shape(shape);
        ask(&service, Counted(count.clone())).await.unwrap();
        assert_eq!(
            (count.swap(0, Relaxed), mapped.swap(0, Relaxed)),
            (1, 1),
            "the one that is kept, the one that is sent"
        );
        gate.open_circuit(Some("other"), seconds(9));
        ask(&service, Counted(count.clone())).await.unwrap();
        assert_eq!((count.load(Relaxed), mapped.load(Relaxed)), (2, 2), "and one to read the key of");
    })
    .await;
}

/// A shape whose requests cannot be copied.
#[derive(Clone, Copy)]
struct Once;

impl Shape<u64> for Once {}

impl Replay<u64> for Once {
    fn again(&self, _: &u64) -> Option<u64> {
        None
    }
}

impl<R> Note<R> for Once {
    fn note(&self, _: &mut R, _: Trail) {}
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_copied_is_sent_to_the_chosen_route_alone() {
    guarded(async {
        let gate = Gate::new();
        let second = named("second");
        let fails = fake(|_, _: u64| failing::<&'static str>(Kind::Server));
        let service = Failover::new(fails).gate(&gate).then(second.clone()).on_failure().shape(Once);
        let error = ask(&service, 1).await.unwrap_err();
        assert_eq!((error.kind(), error.gave_up(), second.sends()), (Kind::Server, Some(GaveUp::NotReplayable), 0));
        gate.cool_down(seconds(9));
        assert_eq!(ask(&service, 1).await.unwrap(), "second", "a closed route is skipped all the same");
        let auth = Failover::new(fake(|_, _: u64| failing::<&'static str>(Kind::Auth))).then(second).shape(Once);
        assert_eq!(ask(&auth, 1).await.unwrap_err().gave_up(), None, "it would not have switched");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn each_route_gets_the_request_through_its_own_maps_in_their_order() {
    guarded(async {
        let log = Arc::new(Mutex::new(Vec::new()));
        let model = || {
            let log = log.clone();
            fake(move |_, request: u64| {
                log.lock().unwrap().push(request);
                failing::<()>(Kind::Server)
            })
        };
        let service = Failover::new(model())
            .map(|n: u64| n + 1)
            .then(model())
            .then(model())
            .map(|n: u64| n * 2)
            .map(|n: u64| n + 3)
            .on_failure();
        ask(&service, 10).await.unwrap_err();
        assert_eq!(*log.lock().unwrap(), [11, 10, 23], "each from the request as it came");

        let routes = vec![Route::new(model()).map(Some(|n: u64| n + 5)), Route::new(model()).map(None)];
        ask(&Failover::list(routes).unwrap().on([On::Server]), 10).await.unwrap_err();
        assert_eq!(log.lock().unwrap()[3..], [15, 10]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_chat_route_may_ask_another_model_with_other_parameters() {
    guarded(async {
        let log = Arc::new(Mutex::new(Vec::new()));
        let answering = |ok: bool| {
            let log = log.clone();
            fake(move |_, request: chat::Request| {
                log.lock().unwrap().push((
                    request.model_name().to_owned(),
                    request.sampling().0,
                    request.context().is_some(),
                ));
                if ok {
                    Now(Ok(chat::Reply::whole(chat::Answer::new(chat::Message::assistant("hi")))))
                } else {
                    failing(Kind::Server)
                }
            })
        };
        let service = Failover::new(answering(false))
            .then(answering(false))
            .model("claude")
            .map(|request: chat::Request| request.temperature(0.5))
            .then(answering(true))
            .model("gpt-4.1")
            .larger()
            .on_failure()
            .shape(Chat);
        let request = chat::Request::new("small").user("hello").with_context(Context::default());
        let reply = ask(&service, request).await.unwrap();
        let seen = |model: &str, temperature| (model.to_owned(), temperature, true);
        assert_eq!(*log.lock().unwrap(), [seen("small", None), seen("claude", Some(0.5)), seen("gpt-4.1", None)]);
        assert_eq!(reply.trail().attempts().len(), 2);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn maps_reach_a_request_in_its_call_and_leave_the_context() {
    guarded(async {
        let asked = |call: &Call<chat::Request>| (call.request.model_name().to_owned(), call.request.sampling().0);
        let model = fake(move |_, call: Call<chat::Request>| Now(Ok((asked(&call), call.context.sends_left))));
        let service = Failover::new(model)
            .model("large")
            .map(InCall(|request: chat::Request| request.temperature(0.5)))
            .shape(InCall(Chat2));
        let context = Context::default().with_sends_left(2);
        let answer = ask(&service, Call { context, request: chat::Request::new("small") }).await.unwrap();
        assert_eq!(answer, (("large".to_owned(), Some(0.5)), 2));
        assert_eq!(AsIs.map(7), 7);
        let unchanged = Model::named("same").map(chat::Request::new("same"));
        assert_eq!(unchanged.model_name(), "same");
    })
    .await;
}

/// [`Chat`] for any answer.
#[derive(Clone, Copy)]
struct Chat2;

impl Shape<chat::Request> for Chat2 {}

impl Replay<chat::Request> for Chat2 {
    fn again(&self, request: &chat::Request) -> Option<chat::Request> {
        Some(request.clone())
    }
}

impl<R> Note<R> for Chat2 {
    fn note(&self, _: &mut R, _: Trail) {}
}

#[tokio::test(start_paused = true)]
async fn a_switch_follows_a_refusal_even_with_one_send_left() {
    guarded(async {
        let (first, _) = seeing(|_| Now(Err(Error::refusal(Kind::LocalLimit))));
        let (second, _) = seeing(|_| Now(Ok(2)));
        let service = Failover::new(first).then(second).shape(InCall(Bare));
        assert_eq!(ask(&service, call(Context::default().with_sends_left(1))).await.unwrap(), 2);
    })
    .await;
}
