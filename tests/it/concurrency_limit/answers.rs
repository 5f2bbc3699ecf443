//! How long an answer keeps its permit.
use super::*;
use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::{BodyExt as _, Empty, Full};
use seawall::chat::{self, Answer, Chat, Item, Message, Reply};

/// A body of so many parts, or of parts for ever, whose last is an error where that is wanted.
struct Parts(Option<u32>, bool);

impl Body for Parts {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let part = || Frame::data(Bytes::from_static(b"x"));
        Poll::Ready(match self.0 {
            None => Some(Ok(part())),
            Some(0) if self.1 => Some(Err(Error::provider(Kind::Transport).delivered())),
            Some(0) => None,
            Some(left) => {
                self.0 = Some(left - 1);
                Some(Ok(part()))
            }
        })
    }
}

fn parts(parts: Option<u32>, fails: bool) -> Fake<Request<()>, Response<Parts>> {
    fake(move |_, _| Now(Ok(Response::new(Parts(parts, fails)))))
}

/// A stream of the same text for ever, or of one text and its end.
struct Words(Option<bool>);

impl futures_core::Stream for Words {
    type Item = Result<Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        let text = || Ok(Item::Text("blue ".into()));
        Poll::Ready(Some(match self.0 {
            None => text(),
            Some(true) => Ok(Item::End),
            Some(false) => {
                self.0 = Some(true);
                text()
            }
        }))
    }
}

fn words(ends: bool) -> Fake<chat::Request, Reply> {
    fake(move |_, _| Now(Ok(Reply::stream(Words(ends.then_some(false))))))
}

/// Whether a call of this service would be answered at once.
async fn is_free<S, Req>(service: &S, request: Req) -> bool
where
    S: Service<Req, Error = Error> + Clone,
{
    let mut call = pin!(ask(service, request));
    let answered = std::future::poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx).is_ready())).await;
    yield_now().await;
    answered
}

#[tokio::test(start_paused = true)]
async fn a_body_keeps_its_permit_to_its_end() {
    guarded(async {
        let service = limit(1).shape(Http).layer(parts(Some(2), false));
        let mut body = pin!(ask(&service, Request::new(())).await.unwrap().into_body());
        for _ in 0..2 {
            body.frame().await.unwrap().unwrap();
            assert!(!is_free(&service, Request::new(())).await, "the answer is under way");
        }
        assert!(body.frame().await.is_none());
        assert!(is_free(&service, Request::new(())).await, "at the end, though the body is kept");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_breaks_or_is_dropped_gives_its_permit_back() {
    guarded(async {
        let service = limit(1).shape(Http).layer(parts(Some(1), true));
        let mut body = pin!(ask(&service, Request::new(())).await.unwrap().into_body());
        body.frame().await.unwrap().unwrap();
        assert!(!is_free(&service, Request::new(())).await);
        assert_eq!(body.frame().await.unwrap().unwrap_err().kind(), Kind::Transport);
        assert!(is_free(&service, Request::new(())).await, "with the error, though the body is kept");

        let service = limit(1).shape(Http).layer(parts(None, false));
        let response = ask(&service, Request::new(())).await.unwrap();
        assert!(!is_free(&service, Request::new(())).await);
        drop(response);
        assert!(is_free(&service, Request::new(())).await);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_nobody_needs_to_poll_keeps_no_permit() {
    guarded(async {
        let empty =
            fake(|_, _: Request<()>| Now(Ok(Response::new(Empty::<Bytes>::new().map_err(|never| match never {})))));
        let service = limit(1).shape(Http).layer(empty);
        let _kept = ask(&service, Request::new(())).await.unwrap();
        assert!(is_free(&service, Request::new(())).await);

        let whole =
            fake(|_, _: Request<()>| Now(Ok(Response::new(Full::<Bytes>::from("x").map_err(|never| match never {})))));
        let service = limit(1).shape(Http).layer(whole);
        let mut kept = pin!(ask(&service, Request::new(())).await.unwrap().into_body());
        kept.frame().await.unwrap().unwrap();
        assert!(is_free(&service, Request::new(())).await, "a server drops it at its announced length");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_opened_and_dropped_a_hundred_times_wedges_nothing() {
    guarded(async {
        let http = limit(1).shape(Http).layer(parts(None, false));
        let chats = limit(1).shape(Chat).layer(words(false));
        for turn in 0..100 {
            let mut body = pin!(ask(&http, Request::new(())).await.unwrap().into_body());
            let mut reply = ask(&chats, chat::Request::new("m")).await.unwrap();
            for _ in 0..turn % 3 {
                body.frame().await.unwrap().unwrap();
                reply.next().await.unwrap().unwrap();
            }
        }
        let (last, took) = timed(ask(&http, Request::new(()))).await;
        assert!(last.is_ok() && took == Duration::ZERO);
        let (last, took) = timed(ask(&chats, chat::Request::new("m"))).await;
        assert!(last.is_ok() && took == Duration::ZERO);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_chat_stream_keeps_its_permit_to_its_end_and_a_whole_reply_none() {
    guarded(async {
        let question = || Call { context: Context::default(), request: chat::Request::new("m") };
        let service =
            limit(1).shape(InCall(Chat)).layer(words(true).map_request(|call: Call<chat::Request>| call.request));
        let mut reply = ask(&service, question()).await.unwrap();
        reply.next().await.unwrap().unwrap();
        assert!(!is_free(&service, question()).await);
        assert!(reply.next().await.is_none());
        assert!(is_free(&service, question()).await, "though the reply is kept");

        let whole = fake(|_, _: chat::Request| Now(Ok(Reply::whole(Answer::new(Message::assistant("Blue."))))));
        let service = limit(1).shape(Chat).layer(whole);
        let _kept = ask(&service, chat::Request::new("m")).await.unwrap();
        assert!(is_free(&service, chat::Request::new("m")).await);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_waiter_takes_over_in_the_moment_a_stream_ends() {
    guarded(async {
        let service = limit(1)
            .shape(InCall(Http))
            .layer(parts(Some(1), false).map_request(|call: Call<Request<()>>| call.request));
        let question = || Call { context: Context::default(), request: Request::new(()) };
        let body = ask(&service, question()).await.unwrap().into_body();
        let waiting = tokio::spawn(timed(service.clone().oneshot(question())));
        sleep(seconds(9)).await;
        assert!(!waiting.is_finished());
        body.collect().await.unwrap();
        let (answer, took) = waiting.await.unwrap();
        assert!(answer.is_ok() && took == seconds(9), "{took:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_an_answer_is_whole_and_carries_nothing() {
    guarded(async {
        let service = ConcurrencyLimitLayer::unlimited().shape(Http).layer(parts(Some(2), false));
        let body = ask(&service, Request::new(())).await.unwrap().into_body();
        assert_eq!(body.collect().await.unwrap().to_bytes(), "xx");
        let service = ConcurrencyLimitLayer::unlimited().shape(Chat).layer(words(true));
        let reply = ask(&service, chat::Request::new("m")).await.unwrap();
        assert_eq!(reply.collect().await.unwrap().message().text(), "blue ");
    })
    .await;
}

/// As a plain reqwest client sees it: over a real socket, since only reqwest makes its answers.
#[cfg(feature = "reqwest")]
#[tokio::test]
async fn an_answer_of_reqwests_keeps_its_permit_too() {
    use seawall::{
        classify::ClassifyLayer,
        sim::{MockProvider, Script},
    };
    let provider = MockProvider::start(Script::seeded(1)).await.unwrap();
    let client = reqwest::Client::builder().build().unwrap();
    let url = format!("{}/chat/completions", provider.base_url());
    let question = || {
        let body = r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#;
        client.post(&url).header("content-type", "application/json").body(body).build().unwrap()
    };
    for (layer, seen) in [(limit(1), 1), (ConcurrencyLimitLayer::unlimited(), 4)] {
        let service = layer.shape(Http).layer(ClassifyLayer::reqwest().layer(client.clone()));
        let unread = ask(&service, question()).await.unwrap();
        let mut second = pin!(ask(&service, question()));
        let waits = tokio::time::timeout(Duration::from_millis(200), second.as_mut()).await;
        assert_eq!(provider.seen(), seen);
        assert!(!unread.bytes().await.unwrap().is_empty());
        if waits.is_err() {
            assert!(!second.await.unwrap().bytes().await.unwrap().is_empty());
        }
    }
}
