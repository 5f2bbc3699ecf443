//! Streams through a whole stack.
use crate::{fake::*, guarded, paced::*, seconds, timed};
use bytes::Bytes;
use http::{Response, header::CONTENT_TYPE};
use http_body::{Body, Frame};
use seawall::{
    CircuitState, Error, Gate, Invalid, Kind, Phase, Sink, Stack, What,
    chat::{Chat, Item, Reply, Request},
    circuit_breaker::Window,
    failover::{On, Route},
    provider::OpenAi,
    recovery::Recovery,
};
use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context as Cx, Poll, ready},
    time::Duration,
};
use tokio::time::{Sleep, sleep};
use tower::service_fn;

type Model = Fake<Request, Reply>;

fn question() -> Request {
    Request::new("m").user("Count.").stream()
}

fn model(steps: impl Fn(u32) -> Vec<Step> + Send + Sync + 'static) -> Model {
    fake(move |n, _| Now(Ok(paced(steps(n)))))
}

fn whole() -> Vec<Step> {
    vec![text("Bl"), Wait(1), text("ue."), end()]
}

fn cut() -> Vec<Step> {
    vec![text("Bl"), Wait(1)]
}

/// A token each second, for so long.
fn ticking(seconds: u64) -> Vec<Step> {
    (0..seconds).flat_map(|_| [token(), Wait(1)]).chain([end()]).collect()
}

// What becomes of a cut.

#[tokio::test(start_paused = true)]
async fn after_the_first_content_nothing_is_asked_again_and_the_reader_gets_what_came_and_the_error() {
    guarded(async {
        let (a, b) = (model(|_| vec![token(), token(), token(), Wait(1)]), model(|_| whole()));
        let stack = Stack::chat(a.clone()).then(b.clone()).on_failure().build().unwrap();
        let mut reply = stack.ask(question()).await.unwrap();
        for _ in 0..3 {
            assert_eq!(reply.next().await.unwrap().unwrap(), Item::Text("x".into()));
        }
        let error = reply.next().await.unwrap().unwrap_err();
        assert_eq!((error.kind(), error.is_delivered(), error.is_retryable()), (Kind::Transport, true, false));
        assert!(reply.next().await.is_none());
        assert_eq!((reply.text().as_ref(), a.sends(), b.sends()), ("xxx", 1, 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn where_it_is_read_first_a_cut_starts_over_and_the_reader_sees_one_whole_answer() {
    guarded(async {
        let lone = model(|n| if n == 0 { cut() } else { whole() });
        let stack = Stack::chat(lone.clone()).recovery(Recovery::BufferThenRestart).build().unwrap();
        let reply = stack.ask(question()).await.unwrap();
        let kinds: Vec<_> = reply.trail().attempts().iter().map(seawall::Attempt::kind).collect();
        assert_eq!((reply.is_stream(), kinds, lone.sends()), (true, vec![Kind::Transport], 2));
        assert_eq!(reply.collect().await.unwrap().message().text(), "Blue.");

        let (a, b) = (model(|_| cut()), model(|_| whole()));
        let routes = Stack::chat(a.clone()).recovery(Recovery::BufferThenRestart).then(b.clone());
        let stack = routes.on([On::Transport]).seed(1).build().unwrap();
        let reply = stack.ask(question()).await.unwrap();
        let routes: Vec<_> = reply.trail().attempts().iter().map(|attempt| attempt.route().unwrap()).collect();
        assert_eq!((routes, a.sends(), b.sends()), (vec!["1", "1"], 2, 1), "one retry beside another route");
        assert_eq!(reply.collect().await.unwrap().message().text(), "Blue.");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_list_of_routes_starts_over_too() {
    guarded(async {
        let routes = vec![Route::new(model(|_| cut())), Route::new(model(|_| whole()))];
        let stack = Stack::list(Chat, routes).on_failure().max_retries(0);
        let stack = stack.first_byte(seconds(5)).first_token(seconds(10)).idle(seconds(5));
        let stack = stack.recovery(Recovery::BufferThenRestart).build().unwrap();
        let answer = stack.ask(question()).await.unwrap().collect().await.unwrap();
        assert_eq!(answer.message().text(), "Blue.");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_stall_that_is_read_first_ends_by_the_idle_limit_and_starts_over_elsewhere() {
    guarded(async {
        let streams = Streams::default();
        let given = streams.clone();
        let a = fake(move |_, _: Request| Now(Ok(given.reply([token(), Stall]))));
        let b = model(|_| whole());
        let stack = Stack::chat(a.clone()).recovery(Recovery::BufferThenRestart).idle(seconds(20)).then(b);
        let (reply, took) = timed(stack.on_failure().build().unwrap().ask(question())).await;
        assert_eq!((took, a.sends(), streams.live()), (seconds(21), 1, 0));
        assert_eq!(reply.unwrap().trail().attempts()[0].kind(), Kind::Timeout);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn when_every_route_breaks_off_the_first_error_stays_visible_behind_the_last() {
    guarded(async {
        let refuses: Model = fake(|_, _| failing(Kind::InvalidRequest));
        let stack = Stack::chat(model(|_| cut())).recovery(Recovery::BufferThenRestart).then(refuses).on_failure();
        let error = stack.max_retries(0).build().unwrap().ask(question()).await.unwrap_err();
        assert_eq!((error.kind(), error.sends()), (Kind::InvalidRequest, 2));
        let root = error.root().unwrap();
        assert_eq!((root.kind(), root.phase(), root.route()), (Kind::Transport, Some(Phase::Body), Some("1")));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_was_read_to_its_end_holds_no_permit_while_its_reader_is_slow() {
    guarded(async {
        let stack = Stack::chat(model(|_| whole())).concurrency(1).recovery(Recovery::BufferThenRestart);
        let stack = stack.build().unwrap();
        let unread = stack.ask(question()).await.unwrap();
        let (second, took) = timed(stack.ask(question())).await;
        assert_eq!((second.is_ok(), took, unread.is_stream()), (true, seconds(1), true));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_circuit_counts_a_cut_and_the_attempt_ends_with_it() {
    guarded(async {
        let ends = Arc::<Mutex<Vec<_>>>::default();
        let told = ends.clone();
        let sink = Sink::new(move |event| match event.what {
            What::AttemptEnded { .. } => told.lock().unwrap().push("attempt"),
            What::OperationEnded { .. } => told.lock().unwrap().push("operation"),
            _ => {}
        });
        let gate = Gate::new();
        let model = model(|n| if n < 2 { cut() } else { whole() });
        let stack = Stack::chat(model).gate(&gate).circuit(Window::default().consecutive(2).unwrap()).sink(sink);
        let stack = stack.recovery(Recovery::BufferThenRestart).max_retries(1).build().unwrap();
        assert_eq!(stack.ask(question()).await.unwrap_err().kind(), Kind::Transport);
        assert_eq!(gate.circuit(Some("m")), CircuitState::Open);
        assert_eq!(ends.lock().unwrap().split_off(0), ["attempt", "attempt", "operation"]);
        let reply = stack.ask(question()).await.unwrap();
        assert_eq!(gate.circuit(Some("m")), CircuitState::Closed);
        assert_eq!(*ends.lock().unwrap(), ["attempt"], "the operation goes on to the end that its reader sees");
        reply.collect().await.unwrap();
        assert_eq!(ends.lock().unwrap().last(), Some(&"operation"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_what_is_read_first_and_the_error_tells_the_attempts_before() {
    guarded(async {
        let model = model(|n| if n == 0 { cut() } else { ticking(100) });
        let stack = Stack::chat(model).recovery(Recovery::BufferThenRestart).deadline(seconds(30)).build().unwrap();
        let (result, took) = timed(stack.ask(question())).await;
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.phase(), error.sends()), (Kind::Timeout, Some(Phase::Total), 2));
        assert_eq!(
            (error.trail().attempts()[0].kind(), error.route(), took),
            (Kind::Transport, Some("1"), seconds(30))
        );
    })
    .await;
}

#[test]
fn what_cannot_take_effect_on_a_stream_is_not_built() {
    fn refused<T>(built: Result<T, Invalid>) -> Invalid {
        built.err().unwrap()
    }
    let one = || Stack::chat(model(|_| whole()));
    let two = || one().then(model(|_| whole()));
    let buffered = Recovery::BufferThenRestart;
    let cases = [
        (refused(one().recovery(buffered).max_retries(0).build()), "recovery", "recovery"),
        (refused(one().recovery(buffered).sends(1).build()), "recovery", "recovery"),
        (refused(two().recovery(buffered).max_retries(0).build()), "recovery", "recovery"),
        (refused(one().recovery(buffered).deadline(seconds(9)).idle(seconds(9)).build()), "timeout", "idle"),
        (refused(one().first_token(Duration::ZERO).build()), "timeout", "first_token"),
        (refused(one().first_token(seconds(9)).deadline(seconds(9)).build()), "timeout", "first_token"),
        (refused(one().first_byte(seconds(9)).first_token(seconds(9)).build()), "timeout", "first_byte"),
        (refused(one().first_byte(seconds(9)).deadline(seconds(9)).build()), "timeout", "first_byte"),
    ];
    for (invalid, layer, setting) in cases {
        assert_eq!((invalid.layer(), invalid.setting()), (Some(layer), setting), "{invalid}");
    }
    assert!(one().deadline(seconds(9)).idle(seconds(9)).build().is_ok(), "a stream outlives the deadline");
    assert!(two().recovery(buffered).max_retries(0).on_failure().build().is_ok());
    assert!(one().key_by(|_: &Request| None).recovery(buffered).first_token(seconds(5)).build().is_ok());
    let printed = format!("{:?}", one().recovery(buffered).first_token(seconds(5)).build().unwrap());
    assert!(printed.contains("retry > recovery (BufferThenRestart) > concurrency_limit (none)"), "{printed}");
    assert!(printed.contains("timeout (attempt: first token 5s)"), "{printed}");
}

// Limits by phase.

/// Event-stream text that comes after pauses; the last one stays.
struct Line {
    text: &'static str,
    every: u64,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Body for Line {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let every = seconds(self.every);
        ready!(self.pause.get_or_insert_with(|| Box::pin(sleep(every))).as_mut().poll(cx));
        self.pause = None;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(self.text.as_bytes())))))
    }
}

/// A server whose head comes after so long, and then a comment every so many seconds.
fn commenting(
    head: u64,
    every: u64,
) -> impl tower::Service<
    http::Request<http_body_util::Full<Bytes>>,
    Response = Response<Line>,
    Error = Infallible,
    Future: Send,
> + Clone {
    service_fn(move |_| async move {
        sleep(seconds(head)).await;
        let body = Line { text: ": ping\n\n", every, pause: None };
        Ok(Response::builder().header(CONTENT_TYPE, "text/event-stream").body(body).unwrap())
    })
}

#[tokio::test(start_paused = true)]
async fn comments_do_not_stand_for_the_first_token_but_do_break_the_silence() {
    guarded(async {
        let client = OpenAi::without_key().over(commenting(0, 1)).idle(seconds(5)).unwrap();
        let stack = || Stack::chat(client.clone()).max_retries(0);
        let (result, took) = timed(stack().first_token(seconds(10)).build().unwrap().ask(question())).await;
        let error = result.err().unwrap();
        assert_eq!((error.kind(), error.phase(), took), (Kind::Timeout, Some(Phase::FirstToken), seconds(10)));
        assert!(!error.is_delivered() && error.is_retryable());
        let (result, took) = timed(stack().build().unwrap().ask(question())).await;
        assert_eq!((result.err().unwrap().phase(), took), (Some(Phase::FirstToken), seconds(600)), "as a whole reply");

        // Behind the first token as well.
        let alive = || (0..20).flat_map(|_| [Give(Ok(Item::Alive)), Wait(1)]);
        let steps = move |_| [token()].into_iter().chain(alive()).chain([token(), end()]).collect();
        let stack = Stack::chat(model(steps)).idle(seconds(5)).build().unwrap();
        let answer = stack.ask(question()).await.unwrap().collect().await.unwrap();
        assert_eq!(answer.message().text(), "xx");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn silence_before_the_head_ends_by_the_first_byte_whatever_the_other_limits() {
    guarded(async {
        let (slow, other) = (OpenAi::without_key().over(commenting(3000, 1)), model(|_| whole()));
        for (limit, waited) in [(Some(15), 15), (None, 60)] {
            let mut stack = Stack::chat(slow.clone()).idle(seconds(5));
            if let Some(limit) = limit {
                stack = stack.first_byte(seconds(limit));
            }
            let (result, took) = timed(stack.max_retries(0).build().unwrap().ask(question())).await;
            let error = result.err().unwrap();
            assert_eq!((error.phase(), took), (Some(Phase::FirstByte), seconds(waited)));
        }
        let stack = Stack::chat(slow).first_byte(seconds(15)).then(other).on_failure().build().unwrap();
        let (result, took) = timed(stack.ask(question())).await;
        assert_eq!((result.unwrap().trail().sends(), took), (1, seconds(15)), "one send, and then the other route");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_token_a_second_for_twenty_minutes_passes_with_the_defaults_and_with_a_deadline() {
    guarded(async {
        for deadline in [None, Some(seconds(30))] {
            let mut stack = Stack::chat(model(|_| ticking(1200)));
            if let Some(deadline) = deadline {
                stack = stack.deadline(deadline);
            }
            let reply = stack.build().unwrap().ask(question()).await.unwrap();
            let (answer, took) = timed(reply.collect()).await;
            assert_eq!((answer.unwrap().message().text().len(), took), (1200, seconds(1200)));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_stall_behind_content_is_a_timeout_of_the_same_kind_and_lets_go_at_once() {
    guarded(async {
        let streams = Streams::default();
        let given = streams.clone();
        let model =
            fake(move |n, _: Request| Now(Ok(given.reply(if n == 0 { vec![token(), Stall] } else { whole() }))));
        let stack = Stack::chat(model.clone()).concurrency(1).build().unwrap();
        let mut reply = stack.ask(question()).await.unwrap();
        assert!(reply.next().await.unwrap().is_ok());
        let (last, took) = timed(reply.next()).await;
        let error: Error = last.unwrap().unwrap_err();
        assert_eq!((error.kind(), error.phase(), took), (Kind::Timeout, Some(Phase::Idle), seconds(60)));
        assert!(error.is_delivered() && !error.is_retryable());
        assert_eq!((reply.text().as_ref(), streams.live(), model.sends()), ("x", 0, 1));
        // With the reply still there.
        let answer = stack.ask(question()).await.unwrap().collect().await.unwrap();
        assert_eq!(answer.message().text(), "Blue.");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn readers_who_leave_give_back_their_permits() {
    guarded(async {
        let stack = Stack::chat(model(|_| ticking(100))).concurrency(1).build().unwrap();
        for n in 0..100 {
            let mut reply = stack.ask(question()).await.unwrap();
            for _ in 0..n % 3 {
                reply.next().await.unwrap().unwrap();
            }
        }
        let (reply, took) = timed(stack.ask(question())).await;
        assert!(reply.is_ok() && took.is_zero());
    })
    .await;
}
