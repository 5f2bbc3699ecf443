//! Answers that go on after their head: when they are judged, and as what.
use super::*;
use bytes::Bytes;
use futures_core::Stream;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use seawall::{
    Http,
    chat::{self, Chat, Item, Reply},
};
use std::{
    future::Future,
    pin::Pin,
    task::{Context as Cx, Poll, ready},
};
use tokio::time::{Sleep, sleep};

/// Gives each item after a second.
struct Paced<T> {
    items: std::vec::IntoIter<Result<T, Error>>,
    sleep: Pin<Box<Sleep>>,
}

impl<T> Paced<T> {
    fn new(items: Vec<Result<T, Error>>) -> Self {
        Self { items: items.into_iter(), sleep: Box::pin(sleep(seconds(1))) }
    }
}

impl<T: Unpin> Stream for Paced<T> {
    type Item = Result<T, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        ready!(self.sleep.as_mut().poll(cx));
        self.sleep = Box::pin(sleep(seconds(1)));
        Poll::Ready(self.items.next())
    }
}

impl Body for Paced<Bytes> {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        self.poll_next(cx).map_ok(Frame::data)
    }
}

fn error(kind: Kind) -> Error {
    Error::provider(kind)
}

/// Answers its nth request with the nth of these streams, then with the last again.
fn streams(scripts: Vec<Vec<Result<Item, Error>>>) -> Fake<chat::Request, Reply> {
    let scripts = Mutex::new(scripts.into_iter());
    fake(move |_, _| Now(Ok(Reply::stream(Paced::new(scripts.lock().unwrap().next().unwrap())))))
}

fn question() -> chat::Request {
    chat::Request::new("m").user("What is a seawall?")
}

fn text() -> Result<Item, Error> {
    Ok(Item::Text("wall ".into()))
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_judged_when_it_ends_and_not_at_its_head() {
    guarded(async {
        let gate = Gate::new();
        let broken = || vec![text(), Err(error(Kind::Overloaded))];
        let policy = Window::default().consecutive(2).unwrap();
        let layer = brittle(&gate).policy(policy).shape(Chat);
        let service = layer.layer(streams(vec![broken(), vec![text(), Ok(Item::End)], broken(), broken()]));
        assert_eq!(kind(ask(&service, question()).await.unwrap().collect().await), Kind::Overloaded);
        let whole = ask(&service, question()).await.unwrap();
        assert_eq!(whole.collect().await.unwrap().message().text(), "wall ", "which ends the row of failures");
        assert_eq!(kind(ask(&service, question()).await.unwrap().collect().await), Kind::Overloaded);
        let mut cut = ask(&service, question()).await.unwrap();
        cut.next().await.unwrap().unwrap();
        assert_eq!(gate.circuit(Some("m")), CircuitState::Closed);
        cut.next().await.unwrap().unwrap_err();
        assert_eq!(gate.circuit(Some("m")), CircuitState::Open);
        assert!(cut.next().await.is_none());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_streamed_probe_passes_with_its_first_content() {
    guarded(async {
        let (sink, told) = events();
        let gate = Gate::new();
        let long = [Ok(Item::Alive)].into_iter().chain((0..600).map(|_| text())).chain([Ok(Item::End)]).collect();
        let scripts = vec![vec![Err(error(Kind::Server))], long, vec![text(), Ok(Item::End)]];
        let service = brittle(&gate).sink(sink).shape(Chat).layer(streams(scripts));
        ask(&service, question()).await.unwrap().collect().await.unwrap_err();
        advance(seconds(5)).await;
        let mut probe = ask(&service, question()).await.unwrap();
        assert_eq!(gate.circuit(Some("m")), CircuitState::HalfOpen, "a head alone says nothing");
        let first = tokio::time::timeout(seconds(1) + seconds(1) / 2, probe.next()).await;
        assert!(first.is_err() && gate.circuit(Some("m")) == CircuitState::HalfOpen, "nor does a ping");
        probe.next().await.unwrap().unwrap();
        assert_eq!(gate.circuit(Some("m")), CircuitState::Closed);
        ask(&service, question()).await.unwrap().collect().await.unwrap();
        probe.collect().await.unwrap();
        assert_eq!(take(&told), ["opened m server", "half-opened m", "closed m"]);
    })
    .await;
}

/// A probe is judged once: a stream that breaks after its first content opens nothing again.
#[tokio::test(start_paused = true)]
async fn a_probe_that_breaks_later_is_not_counted_twice() {
    guarded(async {
        let gate = Gate::new();
        let fails = || vec![Err(error(Kind::Server))];
        let breaks = vec![text(), Err(error(Kind::Transport))];
        let service = brittle(&gate).shape(Chat).layer(streams(vec![fails(), breaks, fails()]));
        ask(&service, question()).await.unwrap().collect().await.unwrap_err();
        advance(seconds(5)).await;
        assert_eq!(kind(ask(&service, question()).await.unwrap().collect().await), Kind::Transport);
        assert_eq!(gate.circuit(Some("m")), CircuitState::Closed);
        ask(&service, question()).await.unwrap().collect().await.unwrap_err();
        assert_eq!(gate.circuit(Some("m")), CircuitState::Open);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_leaves_says_nothing_even_past_the_deadline_of_the_call() {
    guarded(async {
        let gate = Gate::new();
        let long = || (0..100).map(|_| text()).collect::<Vec<_>>();
        let scripts = vec![long(), vec![Err(error(Kind::Server))], long(), vec![text(), Ok(Item::End)]];
        let service = brittle(&gate).shape(Chat).layer(streams(scripts));
        let limited = || question().with_context(Context::default().with_timeout(seconds(5)));
        let mut left = ask(&service, limited()).await.unwrap();
        left.next().await.unwrap().unwrap();
        advance(seconds(20)).await;
        drop(left);
        assert_eq!(gate.circuit(Some("m")), CircuitState::Closed);

        ask(&service, limited()).await.unwrap().collect().await.unwrap_err();
        advance(seconds(5)).await;
        drop(ask(&service, limited()).await.unwrap()); // a probe
        assert_eq!((gate.circuit(Some("m")), gate.opens_in(Some("m"))), (CircuitState::HalfOpen, None));
        ask(&service, limited()).await.unwrap().collect().await.unwrap();
        assert_eq!(gate.circuit(Some("m")), CircuitState::Closed);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_within_a_stream_cools_down_and_is_one_step_with_those_before() {
    guarded(async {
        let gate = Gate::new();
        let limited = |wait: Option<u64>| {
            let error = error(Kind::RateLimited);
            vec![text(), Err(wait.map(seconds).into_iter().fold(error, Error::with_retry_after))]
        };
        let scripts = vec![limited(None), limited(None), limited(Some(40)), vec![text(), Ok(Item::End)]];
        let service = brittle(&gate).shape(Chat).layer(streams(scripts));
        let (one, other) = (ask(&service, question()).await.unwrap(), ask(&service, question()).await.unwrap());
        let (one, other) = tokio::join!(one.collect(), other.collect());
        assert_eq!((kind(one), kind(other)), (Kind::RateLimited, Kind::RateLimited));
        assert_eq!((gate.cools_for(), gate.circuit(Some("m"))), (Some(seconds(1)), CircuitState::Closed));
        advance(seconds(1)).await;
        assert_eq!(kind(ask(&service, question()).await.unwrap().collect().await), Kind::RateLimited);
        assert_eq!(gate.cools_for(), Some(seconds(40)));
        let error = ask(&service, question()).await.unwrap_err();
        assert_eq!((error.kind(), error.retry_after()), (Kind::CoolingDown, Some(seconds(40))));
        advance(seconds(40)).await;
        ask(&service, question()).await.unwrap().collect().await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_http_body_is_judged_at_its_end() {
    guarded(async {
        let gate = Gate::new();
        let data = || Ok(Bytes::from_static(b"x"));
        let bodies = vec![vec![data(), data()], vec![data(), Err(error(Kind::Transport))], vec![data(), data()]];
        let bodies = Mutex::new(bodies.into_iter());
        let server =
            fake(move |_, _: Request<()>| Now(Ok(Response::new(Paced::new(bodies.lock().unwrap().next().unwrap())))));
        let service = brittle(&gate).shape(Http).layer(server);
        let read = async || ask(&service, Request::new(())).await.unwrap().into_body().collect().await;
        assert_eq!(read().await.unwrap().to_bytes(), "xx");
        assert_eq!(kind(read().await), Kind::Transport);
        assert_eq!(gate.circuit(None), CircuitState::Open);
        assert_eq!(ask(&service, Request::new(())).await.err().map(|error| error.kind()), Some(Kind::CircuitOpen));
        advance(seconds(5)).await;
        read().await.unwrap();
        assert_eq!(gate.circuit(None), CircuitState::Closed);
    })
    .await;
}
