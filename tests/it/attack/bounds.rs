//! What is asked of requests and services: nothing that is not used.
use crate::{ask, guarded, seconds};
use seawall::{
    Call, Context, Error, Http, InCall, Kind, Stack, chat,
    classify::ClassifyLayer,
    provider::OpenAi,
    retry::RetryLayer,
    stack::Paved,
    timeout::{AttemptTimeoutLayer, DeadlineLayer},
};
use std::{cell::Cell, future::ready, rc::Rc};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

#[tokio::test(start_paused = true)]
async fn the_future_of_a_whole_stack_can_be_spawned() {
    guarded(async {
        let model = service_fn(|n: u64| ready(Ok::<_, Error>(n)));
        let mut stack = Stack::bare(model).deadline(seconds(9)).build().unwrap();
        let called = stack.ready().await.unwrap().call(3);
        assert_eq!(tokio::spawn(called).await.unwrap().unwrap(), 3);
        assert_eq!(tokio::spawn(stack.ask(4)).await.unwrap().unwrap(), 4);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn nothing_need_be_send_or_static() {
    guarded(async {
        let count = Cell::new(0);
        let model = service_fn(|n: Rc<u64>| {
            count.set(count.get() + 1);
            ready(if count.get() == 1 { Err(Error::provider(Kind::Server)) } else { Ok(n) })
        });
        let stack = Stack::bare(model).deadline(seconds(9)).build().unwrap().with(Context::default());
        assert_eq!(*ask(&stack, Rc::new(7)).await.unwrap(), 7);
        assert_eq!(*stack.ask(Rc::new(8)).await.unwrap(), 8);
        assert_eq!(count.get(), 3);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_body_need_not_be_send_and_a_service_may_borrow() {
    guarded(async {
        let text = String::from("Blue.");
        let sent = Cell::new(0);
        let transport = service_fn(|_: http::Request<Rc<str>>| {
            sent.set(sent.get() + 1);
            ready(Ok::<_, std::convert::Infallible>(http::Response::new(text.clone())))
        });
        let stack = Stack::http(ClassifyLayer::http().layer(transport)).build().unwrap();
        assert!(stack.ask(http::Request::new(Rc::from("?"))).await.is_ok());
        assert_eq!(sent.get(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn layers_that_do_not_repeat_ask_nothing_of_a_request() {
    struct NotClone(u64);
    guarded(async {
        let mut service = ServiceBuilder::new()
            .layer(DeadlineLayer::new(seconds(9)).unwrap())
            .layer(AttemptTimeoutLayer::new())
            .service(service_fn(|n: NotClone| ready(Ok::<_, Error>(n))));
        assert_eq!(service.ready().await.unwrap().call(NotClone(7)).await.unwrap().0, 7);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_closure_is_a_service_without_a_turbofish() {
    guarded(async {
        let mut service =
            ServiceBuilder::new().layer(RetryLayer::new()).service_fn(|n: u64| async move { Ok::<_, Error>(n + 1) });
        assert_eq!(service.ready().await.unwrap().call(1).await.unwrap(), 2);
    })
    .await;
}

#[test]
fn what_is_handed_around_is_clone_send_and_sync_and_has_a_name() {
    fn plain<T: Clone + Send + Sync + Unpin + std::fmt::Debug + 'static>() {}
    fn error<T: std::error::Error + Send + Sync + Unpin + 'static>() {}
    type Client = seawall::provider::Client<OpenAi, seawall::sim::InProcess>;
    plain::<Stack<Paved<Client, chat::Chat>, chat::Chat>>();
    plain::<seawall::stack::Builder<seawall::failover::One<Client>, chat::Chat>>();
    plain::<Call<chat::Request>>();
    plain::<(Context, seawall::Event<'static>, seawall::Sink, seawall::Trail, seawall::Rng, seawall::Gate)>();
    plain::<(RetryLayer, RetryLayer<InCall<Http>>, DeadlineLayer<Http>, AttemptTimeoutLayer<Http>)>();
    plain::<(seawall::retry::Budget, seawall::retry::Backoff, seawall::Invalid, seawall::Secret)>();
    plain::<(chat::Message, chat::Answer, chat::Tool, chat::Item, seawall::Usage)>();
    error::<Error>();
    error::<seawall::Invalid>();
    assert_eq!(size_of::<Error>(), size_of::<usize>());
    assert_eq!(size_of::<Result<(), Error>>(), size_of::<usize>());
}
