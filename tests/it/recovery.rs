use crate::{ask, fake::*, guarded, paced::*, seconds, timed};
use seawall::{
    Context, Error, Kind, Phase, Sink, What,
    chat::{Answer as ChatAnswer, Chat, Item, Message, Reply, Request},
    observe::ObserveLayer,
    recovery::{Recovery, RecoveryLayer},
    retry::RetryLayer,
};
use std::{
    future::Future,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    task::{Context as Cx, Poll, Waker},
};
use tower::{Layer, Service, ServiceExt};

fn buffered() -> RecoveryLayer<Chat> {
    RecoveryLayer::new(Recovery::BufferThenRestart).shape(Chat)
}

fn question() -> Request {
    Request::new("m").user("What colour is the sea?").stream()
}

#[tokio::test(start_paused = true)]
async fn a_cut_is_an_error_like_any_other_and_nothing_of_the_answer_is_shown() {
    guarded(async {
        let broken = || Error::provider(Kind::Overloaded).with_status(529);
        for (last, kind, status) in [(None, Kind::Transport, None), (Some(broken()), Kind::Overloaded, Some(529))] {
            let (streams, last) = (Streams::default(), Mutex::new(last));
            let given = streams.clone();
            let model = fake(move |_, _: Request| {
                let last = last.lock().unwrap().take().map(|error| Give(Err(error)));
                Now(Ok(given.reply([text("Bl"), Wait(1)].into_iter().chain(last))))
            });
            let (result, took) = timed(ask(&buffered().layer(model), question())).await;
            let error = result.unwrap_err();
            assert_eq!((error.kind(), error.status(), error.sends()), (kind, status, 1));
            assert!(!error.is_delivered() && error.is_retryable() && error.is_against_provider());
            assert_eq!((took, streams.live()), (seconds(1), 0));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_came_to_its_end_plays_again_at_once() {
    guarded(async {
        let model = fake(|n, _: Request| match n {
            0 => failing(Kind::Server),
            _ => Now(Ok(paced([
                Give(Ok(Item::Alive)),
                text("Bl"),
                Wait(7),
                Give(Ok(Item::Skipped)),
                Give(Ok(Item::Alive)),
                text("ue."),
                end(),
            ]))),
        });
        // What failed below, and what is told above, is in the reply as ever.
        let (told, events) = (Arc::<Mutex<Vec<_>>>::default(), Sink::new(|_| {}));
        let heard = Sink::new({
            let told = told.clone();
            move |event| {
                if let What::OperationEnded { .. } = event.what {
                    told.lock().unwrap().push("over");
                }
            }
        });
        let retried = buffered().layer(RetryLayer::new().shape(Chat).sink(events).layer(model));
        let service = ObserveLayer::operation().sink(heard).shape(Chat).layer(retried);
        let mut reply = ask(&service, question()).await.unwrap();
        assert_eq!((reply.is_stream(), reply.trail().attempts().len(), reply.skipped()), (true, 1, 1));
        assert_eq!((reply.text().as_ref(), told.lock().unwrap().len()), ("", 0));
        let (items, took) = timed(async {
            let mut items = Vec::new();
            while let Some(item) = reply.next().await {
                items.push(item.unwrap());
            }
            items
        })
        .await;
        assert_eq!(items, [Item::Text("Bl".into()), Item::Text("ue.".into())]);
        assert_eq!((took, reply.text().as_ref(), reply.is_stream()), (seconds(0), "Blue.", false));
        assert_eq!(*told.lock().unwrap(), ["over"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_was_sent_below_before_an_answer_that_was_cut_is_counted() {
    guarded(async {
        let cut = || paced([token()]);
        let slow = || paced([token(), Stall]);
        for (reply, kind) in [(cut as fn() -> Reply, Kind::Transport), (slow, Kind::Timeout)] {
            let model = fake(move |n, _: Request| if n == 0 { failing(Kind::Server) } else { Now(Ok(reply())) });
            let service = buffered().layer(RetryLayer::new().seed(1).shape(Chat).layer(model));
            let request = question().with_context(Context::default().with_timeout(seconds(30)));
            let error = ask(&service, request).await.unwrap_err();
            assert_eq!((error.kind(), error.sends()), (kind, 2));
            assert_eq!(error.trail().attempts()[0].kind(), Kind::Server);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_deadline_holds_to_the_end_of_the_answer_and_is_told() {
    guarded(async {
        let streams = Streams::default();
        let given = streams.clone();
        let model = fake(move |_, _: Request| {
            After(seconds(2), Ok(given.reply((0..1000).flat_map(|_| [token(), Wait(1)]).chain([end()]))))
        });
        let heard = Arc::<Mutex<Vec<_>>>::default();
        let told = heard.clone();
        let sink = Sink::new(move |event| {
            let What::TimedOut { phase, limit } = event.what else { return };
            told.lock().unwrap().push((phase, limit));
        });
        let mut service = buffered().sink(sink).layer(model);
        let request = || question().with_context(Context::default().with_timeout(seconds(30)));
        let mut call = pin!(service.ready().await.unwrap().call(request()));
        let (result, took) = timed(call.as_mut()).await;
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.phase(), error.sends()), (Kind::Timeout, Some(Phase::Total), 1));
        assert!(!error.is_delivered() && error.is_against_provider());
        assert_eq!((took, streams.live()), (seconds(30), 0), "let go at once, although the future is kept");
        assert_eq!(*heard.lock().unwrap(), [(Phase::Total, seconds(30))]);

        // Shown as it comes, it has all the time that it wants.
        let shown = RecoveryLayer::new(Recovery::Fail).shape(Chat);
        let model = fake(|_, _: Request| Now(Ok(paced((0..60).flat_map(|_| [token(), Wait(1)]).chain([end()])))));
        let answer = ask(&shown.layer(model), request()).await.unwrap().collect().await.unwrap();
        assert_eq!(answer.message().text().len(), 60);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_drops_its_stream_at_once() {
    let streams = Streams::default();
    let given = streams.clone();
    let model = fake(move |_, _: Request| Now(Ok(given.reply([token(), Wait(1), token(), Stall]))));
    let service = buffered().layer(model);
    let call = tokio::spawn(service.oneshot(question()));
    tokio::time::sleep(seconds(2)).await;
    assert_eq!(streams.live(), 1);
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert_eq!(streams.live(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_whole_or_is_not_to_be_read_passes_as_it_is() {
    guarded(async {
        let whole = || Reply::whole(ChatAnswer::new(Message::assistant("Blue.")));
        let reply = ask(&buffered().layer(fake(move |_, _| Now(Ok(whole())))), question()).await.unwrap();
        assert_eq!((reply.is_stream(), reply.text().as_ref()), (false, "Blue."));
        let cut = || fake(|_, _: Request| Now(Ok(paced([token()]))));
        let shown = RecoveryLayer::new(Recovery::default()).shape(Chat).layer(cut());
        let bare = RecoveryLayer::new(Recovery::BufferThenRestart).layer(cut());
        for mut reply in [ask(&shown, question()).await.unwrap(), ask(&bare, question()).await.unwrap()] {
            let error = reply.read().await.unwrap_err();
            assert!(error.is_delivered() && reply.text() == "x");
        }
    })
    .await;
}

#[test]
fn a_stream_that_always_has_more_gives_others_their_turn() {
    struct Endless(Arc<AtomicU32>);
    impl futures_core::Stream for Endless {
        type Item = Result<Item, Error>;

        fn poll_next(self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
            self.0.fetch_add(1, Relaxed);
            Poll::Ready(Some(Ok(Item::Alive)))
        }
    }

    let taken = Arc::<AtomicU32>::default();
    let given = taken.clone();
    let service = buffered().layer(fake(move |_, _: Request| Now(Ok(Reply::stream(Endless(given.clone()))))));
    let mut call = pin!(ask(&service, question()));
    for turn in 1..=3 {
        assert!(call.as_mut().poll(&mut Cx::from_waker(Waker::noop())).is_pending());
        assert!(taken.load(Relaxed) <= turn * 64, "{taken:?}");
    }
}
