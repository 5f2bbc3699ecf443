//! Ends of answers that outlive their heads.
use super::{Log, Parts, attempt, streams, whole};
use crate::{ask, fake::*, guarded};
use http::{Request as HttpRequest, Response};
use http_body_util::BodyExt;
use seawall::{
    Error, Http, Kind, Usage,
    chat::{Chat, Item, Reply, Request},
    observe::ObserveLayer,
    retry::RetryLayer,
};
use tower::{Layer, Service, ServiceBuilder};

fn chats(log: &Log, model: Fake<Request, Reply>) -> impl Service<Request, Response = Reply, Error = Error> + Clone {
    ServiceBuilder::new()
        .layer(ObserveLayer::operation().sink(log.sink()).shape(Chat))
        .layer(RetryLayer::new().shape(Chat))
        .layer(attempt("a", &log.sink()).shape(Chat))
        .service(model)
}

fn question() -> Request {
    Request::new("m").user("x")
}

#[tokio::test(start_paused = true)]
async fn a_whole_reply_is_over_with_its_head_and_tells_its_tokens() {
    let log = Log::default();
    let service = chats(&log, fake(|_, _| Now(Ok(whole("hello", Usage::new(3, 5))))));
    let _reply = ask(&service, question()).await.unwrap();
    assert_eq!(log.take(), [r#"attempt a Some("m") whole 3+5"#, r#"operation - Some("m") whole Some(0) 3+5"#]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_over_at_its_end_with_the_last_tokens_that_it_told() {
    let log = Log::default();
    let items = || {
        let usage = |output| Ok(Item::Usage(Usage::new(3, output)));
        vec![Ok(Item::Text("hel".into())), usage(1), Ok(Item::Text("lo".into())), usage(2), Ok(Item::End)]
    };
    let mut reply = ask(&chats(&log, streams(items)), question()).await.unwrap();
    reply.next().await.unwrap().unwrap();
    assert_eq!(log.take(), [""; 0], "it is not over yet");
    assert_eq!(reply.collect().await.unwrap().message().text(), "hello");
    assert_eq!(log.take(), [r#"attempt a Some("m") whole 3+2"#, r#"operation - Some("m") whole Some(0) 3+2"#]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_whose_reader_leaves_was_left_after_so_many_tokens() {
    let log = Log::default();
    let items = || vec![Ok(Item::Usage(Usage::new(3, 1))), Ok(Item::Text("hel".into())), Ok(Item::End)];
    for read in 0..=2 {
        let mut reply = ask(&chats(&log, streams(items)), question()).await.unwrap();
        for _ in 0..read {
            reply.next().await.unwrap().unwrap();
        }
        drop(reply);
        let tokens = if read == 0 { "?" } else { "3+1" };
        let ends = [
            format!(r#"attempt a Some("m") left {tokens}"#),
            format!(r#"operation - Some("m") left Some(0) {tokens}"#),
        ];
        assert_eq!(log.take(), ends);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_has_failed_after_what_failed_before_it() {
    let log = Log::default();
    let model = fake(|nth, _: Request| match nth {
        0 => failing(Kind::Server),
        _ => {
            let items = vec![Ok(Item::Text("hel".into())), Err(Error::provider(Kind::Transport))];
            Now(Ok(Reply::stream(Parts(items.into()))))
        }
    });
    guarded(async {
        let reply = ask(&chats(&log, model), question()).await.unwrap();
        assert_eq!(reply.trail().attempts().len(), 1);
        assert_eq!(reply.collect().await.unwrap_err().kind(), Kind::Transport);
    })
    .await;
    let ends = ["server ?", "transport ?"].map(|end| format!(r#"attempt a Some("m") {end}"#));
    assert_eq!(log.take(), [&ends[0], &ends[1], r#"operation - Some("m") transport Some(1) ?"#]);
}

#[tokio::test(start_paused = true)]
async fn a_body_is_over_when_it_was_read_left_or_empty() {
    let log = Log::default();
    let bodies = |parts: &'static [&'static str]| {
        fake(move |_, _: HttpRequest<()>| Now(Ok(Response::new(Parts(parts.iter().copied().map(Ok).collect())))))
    };
    let observed = |parts| ObserveLayer::operation().sink(log.sink()).shape(Http).layer(bodies(parts));
    let read = ask(&observed(&["a", "b"]), HttpRequest::new(())).await.unwrap();
    assert_eq!(log.take(), [""; 0]);
    assert_eq!(read.into_body().collect().await.unwrap().to_bytes(), "ab");
    assert_eq!(log.take(), ["operation - None whole Some(0) ?"]);

    drop(ask(&observed(&["a", "b"]), HttpRequest::new(())).await.unwrap());
    assert_eq!(log.take(), ["operation - None left Some(0) ?"]);

    let _kept = ask(&observed(&[]), HttpRequest::new(())).await.unwrap();
    assert_eq!(log.take(), ["operation - None whole Some(0) ?"]);
}
