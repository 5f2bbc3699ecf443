use crate::{ask, fake::*, guarded, seconds, timed};
use bytes::Bytes;
use http::{Request, Response, header::ACCEPT};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use seawall::{
    Context, Error, GaveUp, Http, Kind, Phase, Shape, Sink, What,
    retry::RetryLayer,
    timeout::{AttemptTimeoutLayer, DeadlineLayer},
};
use std::{
    collections::VecDeque,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{Arc, Mutex},
    task::{Context as Cx, Poll, Waker},
    time::Duration,
};
use tokio::time::{Instant, Sleep, advance, sleep};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, limit::ConcurrencyLimit, service_fn};

/// A body whose frames come after pauses; `None` ends it without an end of its own, in silence.
#[derive(Debug)]
struct Paced {
    pauses: VecDeque<Duration>,
    pause: Option<Pin<Box<Sleep>>>,
}

fn paced(pauses: impl IntoIterator<Item = u64>) -> Paced {
    Paced { pauses: pauses.into_iter().map(seconds).collect(), pause: None }
}

impl Body for Paced {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let Some(pause) = self.pauses.front().copied() else { return Poll::Ready(None) };
        let pause = self.pause.get_or_insert_with(|| Box::pin(sleep(pause)));
        std::task::ready!(pause.as_mut().poll(cx));
        self.pause = None;
        self.pauses.pop_front();
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
    }
}

fn body_of(pauses: &'static [u64]) -> Fake<Request<()>, Response<Paced>> {
    fake(move |_, _| Now(Ok(Response::new(paced(pauses.iter().copied())))))
}

fn silent<Req: 'static>() -> Fake<Req, u32> {
    fake(|_, _| Never)
}

fn answers_after(wait: u64) -> Fake<u32, u32> {
    fake(move |_, n| After(seconds(wait), Ok(n)))
}

fn streaming() -> Request<()> {
    Request::builder().header(ACCEPT, "text/event-stream").body(()).unwrap()
}

fn until(deadline: Instant) -> Request<()> {
    let mut request = Request::new(());
    Http.set_context(&mut request, Context::default().with_deadline(deadline));
    request
}

fn listener() -> (Sink, Arc<Mutex<Vec<(Phase, Duration)>>>) {
    let heard: Arc<Mutex<Vec<_>>> = Arc::default();
    let told = Arc::clone(&heard);
    let sink = Sink::new(move |event| {
        let What::TimedOut { phase, limit } = event.what else { return };
        told.lock().unwrap().push((phase, limit));
    });
    (sink, heard)
}

// The attempt.

#[tokio::test(start_paused = true)]
async fn a_silent_model_is_given_up_after_ten_minutes_and_a_silent_stream_after_one() {
    guarded(async {
        let model = silent();
        let service = AttemptTimeoutLayer::new().shape(Http).layer(model.clone().map_response(answer));
        for (request, limit) in [(Request::new(()), 600), (streaming(), 60)] {
            let (result, took) = timed(ask(&service, request)).await;
            let error = result.unwrap_err();
            assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Some(Phase::FirstByte)));
            assert_eq!((error.sends(), error.is_against_provider(), took), (1, true, seconds(limit)));
        }
        assert_eq!((model.sends(), model.live()), (2, 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_at_the_very_limit_is_an_answer() {
    guarded(async {
        let attempt = AttemptTimeoutLayer::new().whole(seconds(5)).unwrap();
        assert_eq!(ask(&attempt.layer(answers_after(5)), 1).await.unwrap(), 1);
        let deadline = DeadlineLayer::new(seconds(5)).unwrap();
        assert_eq!(ask(&deadline.layer(answers_after(5)), 1).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_body_may_take_as_long_as_it_likes_but_not_fall_silent() {
    guarded(async {
        let service = AttemptTimeoutLayer::new().shape(Http).layer(body_of(&[59, 59, 59, 61]));
        let mut body = pin!(ask(&service, streaming()).await.unwrap().into_body());
        for _ in 0..3 {
            body.frame().await.unwrap().unwrap();
        }
        let (frame, took) = timed(body.frame()).await;
        let error = frame.unwrap().unwrap_err();
        assert_eq!((error.kind(), error.phase(), took), (Kind::Timeout, Some(Phase::Idle), seconds(60)));
        assert!(error.is_delivered() && !error.is_retryable());
        assert!(body.frame().await.is_none(), "over, and the upstream let go");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_not_a_silent_provider() {
    guarded(async {
        let service = AttemptTimeoutLayer::new().shape(Http).layer(body_of(&[1, 30, 59]));
        let mut body = pin!(ask(&service, streaming()).await.unwrap().into_body());
        body.frame().await.unwrap().unwrap();
        assert!(pin!(body.frame()).poll(&mut Cx::from_waker(Waker::noop())).is_pending());
        advance(seconds(1000)).await;
        body.frame().await.unwrap().unwrap();
        body.frame().await.unwrap().unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_the_call_limits_the_head_and_is_forgotten_once_it_is_there() {
    guarded(async {
        let layer = AttemptTimeoutLayer::new().shape(Http);
        let (result, took) = timed(ask(&layer.layer(silent().map_response(answer)), until(after(40)))).await;
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.phase(), took), (Kind::Timeout, Some(Phase::Total), seconds(40)));

        let response = ask(&layer.layer(body_of(&[30, 30, 30])), until(after(40))).await.unwrap();
        assert_eq!(pin!(response.into_body()).collect().await.unwrap().to_bytes(), "xxx");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_time_is_over_is_refused_and_gives_back_what_it_holds() {
    guarded(async {
        let model = body_of(&[]);
        let limited = ConcurrencyLimit::new(model.clone(), 1);
        let mut service = AttemptTimeoutLayer::new().shape(Http).layer(limited.clone());
        let error = service.ready().await.unwrap().call(until(Instant::now())).await.unwrap_err();
        assert_eq!((error.kind(), error.sends(), error.is_against_provider()), (Kind::Deadline, 0, false));
        assert_eq!(model.sends(), 0);
        ask(&limited, Request::new(())).await.unwrap();
    })
    .await;
}

// No runtime: a timer would panic.
#[test]
fn a_success_that_never_waits_arms_no_timer() {
    let model = service_fn(|n: u32| std::future::ready(Ok::<_, Error>(n + 1)));
    let deadline = DeadlineLayer::new(seconds(5)).unwrap();
    let service = ServiceBuilder::new().layer(deadline).layer(AttemptTimeoutLayer::new()).service(model);
    let cx = &mut Cx::from_waker(Waker::noop());
    assert!(matches!(pin!(ask(&service, 1)).poll(cx), Poll::Ready(Ok(2))));

    let service = AttemptTimeoutLayer::new().shape(Http).layer(service_fn(|_: Request<()>| {
        std::future::ready(Ok::<_, Error>(Response::new(
            http_body_util::Full::<Bytes>::from("x").map_err(|e| match e {}),
        )))
    }));
    let Poll::Ready(Ok(response)) = pin!(ask(&service, Request::new(()))).poll(cx) else { panic!("no answer") };
    assert!(matches!(pin!(response.into_body()).poll_frame(cx), Poll::Ready(Some(Ok(_)))));
}

#[tokio::test(start_paused = true)]
async fn each_limit_that_is_reached_is_told() {
    guarded(async {
        let (sink, heard) = listener();
        let layer = AttemptTimeoutLayer::new().shape(Http).sink(sink.clone()).idle(seconds(3)).unwrap();
        ask(&layer.layer(silent().map_response(answer)), streaming()).await.unwrap_err();
        ask(&layer.layer(silent().map_response(answer)), until(after(20))).await.unwrap_err();
        let response = ask(&layer.layer(body_of(&[4])), streaming()).await.unwrap();
        pin!(response.into_body()).collect().await.unwrap_err();
        let deadline = DeadlineLayer::new(seconds(5)).unwrap().sink(sink);
        ask(&deadline.layer(silent::<u32>()), 1).await.unwrap_err();
        let told = [(Phase::FirstByte, 60), (Phase::Total, 20), (Phase::Idle, 3), (Phase::Total, 5)];
        assert_eq!(*heard.lock().unwrap(), told.map(|(phase, limit)| (phase, seconds(limit))));
    })
    .await;
}

#[test]
fn a_limit_of_zero_cannot_be_set() {
    let layer = AttemptTimeoutLayer::new;
    let refused = [
        ("first_byte", layer().first_byte(Duration::ZERO).err()),
        ("whole", layer().whole(Duration::ZERO).err()),
        ("idle", layer().idle(Duration::ZERO).err()),
        ("deadline", DeadlineLayer::new(Duration::ZERO).err()),
    ];
    for (setting, invalid) in refused {
        assert_eq!(invalid.unwrap().setting(), setting);
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_beyond_all_time_is_no_limit() {
    guarded(async {
        let attempt = AttemptTimeoutLayer::new().whole(Duration::MAX).unwrap();
        let deadline = DeadlineLayer::new(Duration::MAX).unwrap();
        let service = ServiceBuilder::new().layer(deadline).layer(attempt).service(answers_after(3000));
        assert_eq!(ask(&service, 1).await.unwrap(), 1);
    })
    .await;
}

// The deadline.

#[tokio::test(start_paused = true)]
async fn the_deadline_covers_the_wait_for_a_permit() {
    guarded(async {
        let model = silent();
        let limited = ConcurrencyLimit::new(model.clone(), 1);
        let first = tokio::spawn(limited.clone().oneshot(1));
        tokio::task::yield_now().await;
        let mut service = DeadlineLayer::new(seconds(30)).unwrap().layer(limited.clone());
        let (result, took) = timed(service.ready().await.unwrap().call(2)).await;
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.sends(), took), (Kind::Deadline, 0, seconds(30)));
        assert_eq!(model.sends(), 1, "only the first call's");
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        assert_eq!(ask(&service, 3).await.unwrap_err().kind(), Kind::Timeout, "its place in the queue is free again");
        assert_eq!((model.sends(), model.live()), (2, 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_past_its_deadline_may_have_been_paid_for() {
    guarded(async {
        let service = DeadlineLayer::new(seconds(30)).unwrap().layer(silent());
        let (result, took) = timed(ask(&service, 1)).await;
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.phase(), took), (Kind::Timeout, Some(Phase::Total), seconds(30)));
        assert_eq!(error.sends(), 1);
    })
    .await;
}

/// Knows by the clock that its time is over, as a layer does whose timer has not fired yet.
#[tokio::test(start_paused = true)]
async fn work_that_notices_the_deadline_between_two_looks_at_the_clock_still_comes_first() {
    guarded(async {
        let late = service_fn(|()| {
            let mut polls = 0;
            poll_fn(move |_| {
                polls += 1;
                match polls {
                    1 | 2 => Poll::Pending::<Result<(), Error>>,
                    _ => Poll::Ready(Err(Error::provider(Kind::Server))),
                }
            })
        });
        let service = DeadlineLayer::new(seconds(5)).unwrap().layer(late);
        assert_eq!(ask(&service, ()).await.unwrap_err().kind(), Kind::Server);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn of_two_deadlines_the_earlier_holds() {
    guarded(async {
        let service = DeadlineLayer::new(seconds(30)).unwrap().shape(Http).layer(service_fn(|request| async move {
            Ok::<_, Error>(Shape::<Request<()>>::context(&Http, &request).unwrap())
        }));
        for (theirs, left) in [(10, 10), (50, 30)] {
            let mut request = until(after(theirs));
            let context = Http.context(&request).unwrap().with_sends_left(2).with_others(true);
            Http.set_context(&mut request, context);
            let seen = ask(&service, request).await.unwrap();
            assert_eq!(seen.left(), Some(seconds(left)));
            assert_eq!((seen.sends_left, seen.others), (2, true), "the rest of the context stays");
        }
        assert_eq!(ask(&service, Request::new(())).await.unwrap().left(), Some(seconds(30)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_has_passed_asks_nobody() {
    guarded(async {
        let model = body_of(&[]);
        let limited = ConcurrencyLimit::new(model.clone(), 1);
        let mut service = DeadlineLayer::new(seconds(30)).unwrap().shape(Http).layer(limited.clone());
        let request = until(Instant::now());
        let error = service.ready().await.unwrap().call(request).await.unwrap_err();
        assert_eq!((error.kind(), error.sends(), model.sends()), (Kind::Deadline, 0, 0));
        let unpolled = service.ready().await.unwrap().call(Request::new(()));
        advance(seconds(31)).await;
        assert_eq!(unpolled.await.unwrap_err().kind(), Kind::Deadline, "nor does one that was polled too late");
        assert_eq!(model.sends(), 0);
        ask(&limited, Request::new(())).await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_inner_error_of_readiness_comes_from_the_future() {
    #[derive(Clone)]
    struct Closed;
    impl Service<()> for Closed {
        type Response = ();
        type Error = Error;
        type Future = std::future::Ready<Result<(), Error>>;
        fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
            Poll::Ready(Err(Error::provider(Kind::Transport).with_sends(0)))
        }
        fn call(&mut self, (): ()) -> Self::Future {
            panic!("called without being ready")
        }
    }
    let service = DeadlineLayer::new(seconds(30)).unwrap().layer(Closed);
    assert_eq!(ask(&service, ()).await.unwrap_err().kind(), Kind::Transport);
}

// Both, with retries between them.

/// A request that stands still, behind 40 s in all, retries, and 30 s an attempt.
#[tokio::test(start_paused = true)]
async fn a_silent_route_costs_the_deadline_and_its_error_tells_every_send() {
    guarded(async {
        let model = silent::<Request<()>>();
        let service = ServiceBuilder::new()
            .layer(DeadlineLayer::new(seconds(40)).unwrap().shape(Http))
            .layer(RetryLayer::new().seed(1).shape(Http))
            .layer(AttemptTimeoutLayer::new().shape(Http).whole(seconds(30)).unwrap())
            .service(model.clone().map_response(answer));
        let (result, took) = timed(ask(&service, Request::new(()))).await;
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.phase(), took), (Kind::Timeout, Some(Phase::Total), seconds(40)));
        assert_eq!((error.sends(), error.trail().attempts().len(), model.sends()), (2, 1, 2));
        assert_eq!(model.live(), 0);

        let context = Context::default().with_others(true);
        let mut request = Request::new(());
        Http.set_context(&mut request, context);
        let (result, took) = timed(ask(&service, request)).await;
        let error = result.unwrap_err();
        assert_eq!((error.phase(), error.sends(), took), (Some(Phase::FirstByte), 1, seconds(30)), "another is open");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_told_wait_beyond_the_deadline_ends_the_call_at_once() {
    guarded(async {
        let model = fake(|_, _: Request<()>| limited::<Response<Paced>>(seconds(30)));
        let service = ServiceBuilder::new()
            .layer(DeadlineLayer::new(seconds(5)).unwrap().shape(Http))
            .layer(RetryLayer::new().shape(Http))
            .layer(AttemptTimeoutLayer::new().shape(Http))
            .service(model.clone());
        let (result, took) = timed(ask(&service, Request::new(()))).await;
        let error = result.err().unwrap();
        assert_eq!((error.kind(), error.retry_after()), (Kind::RateLimited, Some(seconds(30))));
        assert_eq!((error.gave_up(), took), (Some(GaveUp::WaitPastDeadline), Duration::ZERO));
        assert_eq!(model.sends(), 1);
    })
    .await;
}

/// Whatever the shape: without a context nobody but the deadline itself knows of it.
#[tokio::test(start_paused = true)]
async fn a_wait_that_knows_no_deadline_is_cut_by_it() {
    guarded(async {
        let model = fake(|_, _: u32| limited::<u32>(seconds(30)));
        let service = DeadlineLayer::new(seconds(5)).unwrap().layer(RetryLayer::new().layer(model.clone()));
        let (result, took) = timed(ask(&service, 1)).await;
        assert_eq!((result.unwrap_err().kind(), took), (Kind::Timeout, seconds(5)));
        assert_eq!(model.sends(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_deadline_says_nothing_of_sends() {
    guarded(async {
        let model = fake(|_, _: Request<()>| failing::<Response<Paced>>(Kind::Server));
        let service = ServiceBuilder::new()
            .layer(DeadlineLayer::new(seconds(3000)).unwrap().shape(Http))
            .layer(RetryLayer::new().max_retries(9).seed(1).shape(Http))
            .service(model.clone());
        let error = ask(&service, Request::new(())).await.err().unwrap();
        assert_eq!((error.gave_up(), model.sends()), (Some(GaveUp::AttemptsSpent), 10), "as many as without it");
    })
    .await;
}

// Both.

/// A future may be kept long after it is done, and a model that nobody waits for goes on writing.
#[tokio::test(start_paused = true)]
async fn what_took_too_long_is_let_go_at_once_and_not_with_the_future() {
    guarded(async {
        let model = silent::<u32>();
        let deadline = DeadlineLayer::new(seconds(5)).unwrap().layer(model.clone());
        let attempt = AttemptTimeoutLayer::new().layer(model.clone());
        let mut future = pin!(attempt.clone().ready().await.unwrap().call(1));
        future.as_mut().await.unwrap_err();
        let mut called = deadline.clone();
        let mut other = pin!(called.ready().await.unwrap().call(1));
        other.as_mut().await.unwrap_err();
        assert_eq!((model.sends(), model.live()), (2, 0));
        let mut cx = Cx::from_waker(Waker::noop());
        assert!(future.poll(&mut cx).is_pending() && other.poll(&mut cx).is_pending(), "asked again, they stay quiet");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_inside_is_never_a_timeout() {
    guarded(async {
        let model = fake(|_, n: u32| match n {
            0 => panic!("a bug in the model's client"),
            n => Now(Ok(n)),
        });
        let service = ServiceBuilder::new()
            .layer(DeadlineLayer::new(seconds(5)).unwrap())
            .layer(AttemptTimeoutLayer::new())
            .service(model.clone());
        let (result, took) = timed(tokio::spawn(service.clone().oneshot(0))).await;
        assert!(result.unwrap_err().is_panic());
        assert_eq!((took, model.live()), (Duration::ZERO, 0));
        assert_eq!(ask(&service, 1).await.unwrap(), 1);

        let broken = service_fn(|_: u32| async {
            sleep(seconds(1)).await;
            panic!("later")
        });
        let broken = ServiceBuilder::new()
            .layer(DeadlineLayer::new(seconds(5)).unwrap())
            .layer(AttemptTimeoutLayer::new())
            .map_response(|never: std::convert::Infallible| never)
            .service(broken);
        let (result, took) = timed(tokio::spawn(broken.oneshot(0))).await;
        assert!(result.unwrap_err().is_panic());
        assert_eq!(took, seconds(1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_takes_its_work_along() {
    guarded(async {
        let model = silent();
        let service = ServiceBuilder::new()
            .layer(DeadlineLayer::new(seconds(50)).unwrap())
            .layer(AttemptTimeoutLayer::new())
            .service(ConcurrencyLimit::new(model.clone(), 1));
        for _ in 0..3 {
            tokio::time::timeout(seconds(1), ask(&service, 1)).await.unwrap_err();
            assert_eq!(model.live(), 0);
        }
        assert_eq!(model.sends(), 3);
    })
    .await;
}

fn after(wait: u64) -> Instant {
    Instant::now() + seconds(wait)
}

fn answer(_: u32) -> Response<Paced> {
    Response::new(paced([]))
}
