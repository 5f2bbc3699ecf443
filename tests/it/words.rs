//! What every layer is built of.
use crate::{guarded, seconds};
use bytes::Bytes;
use futures_core::Stream;
use http::{HeaderValue, Request, Response, header::ACCEPT};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Empty};
use seawall::{
    Bare, Call, Context, Ending, Error, Gate, Guard, Held, Http, InCall, Invalid, Kind, Note, Outcome, Replay, Rng,
    Secret, Seen, Shape, Show, Sink, Trail, Usage, What,
    classify::{Answers, Classify, ClassifyLayer},
    retry::{Retry, RetryLayer},
    timeout::{AttemptFuture, AttemptTimeout, AttemptTimeoutLayer, Deadline, DeadlineFuture, DeadlineLayer, Idle},
};
use std::{
    collections::VecDeque,
    error::Error as StdError,
    mem::size_of,
    pin::{Pin, pin},
    sync::{Arc, Mutex},
    task::{Context as Cx, Poll, Waker},
    time::Duration,
};
use tokio::time::{Instant, advance};

// Ending.

/// A guard that writes down what it is told.
struct Diary(Arc<Mutex<Vec<String>>>);

fn diary() -> (Diary, impl Fn() -> Vec<String>) {
    let pages: Arc<Mutex<Vec<String>>> = Arc::default();
    let read = Arc::clone(&pages);
    (Diary(pages), move || read.lock().unwrap().drain(..).collect())
}

impl Diary {
    fn write(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }
}

impl Guard for Diary {
    fn progress(self: Pin<&mut Self>, seen: Seen) {
        self.write(format!("{seen:?}"));
    }

    fn end(self: Pin<&mut Self>, outcome: Outcome<'_>) {
        self.write(match outcome {
            Outcome::Failed(error) => format!("failed: {:?}", error.kind()),
            _ => "whole".to_owned(),
        });
    }
}

impl Drop for Diary {
    fn drop(&mut self) {
        self.write("dropped");
    }
}

/// A guard whose time is over at once.
struct Impatient;

impl Guard for Impatient {
    fn poll_expired(self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Error> {
        Poll::Ready(Error::provider(Kind::Timeout))
    }
}

/// Frames of a body, or items of a stream; `announced` ones say with the last that they are over.
struct Parts<T> {
    left: VecDeque<Poll<Result<T, Error>>>,
    announced: bool,
    _dropped: Diary,
}

impl<T> Parts<T> {
    fn next(&mut self) -> Poll<Option<Result<T, Error>>> {
        match self.left.pop_front() {
            Some(part) => part.map(Some),
            None => Poll::Ready(None),
        }
    }
}

type Frames = Parts<Bytes>;

fn frames(announced: bool, left: impl IntoIterator<Item = Poll<Result<Bytes, Error>>>) -> Frames {
    Parts { left: left.into_iter().collect(), announced, _dropped: diary().0 }
}

fn data(text: &'static str) -> Poll<Result<Bytes, Error>> {
    Poll::Ready(Ok(Bytes::from_static(text.as_bytes())))
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        self.next().map(|part| part.map(|result| result.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.announced && self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.len() as u64)
    }
}

fn held<B: Body<Error = Error>, G: Guard>(body: B, guard: G) -> Held<B, G> {
    Http.hold(Response::new(body), guard).into_body()
}

fn poll<B: Body<Data = Bytes, Error = Error>>(body: Pin<&mut B>) -> Poll<Option<Result<Bytes, Error>>> {
    let frame = body.poll_frame(&mut Cx::from_waker(Waker::noop()));
    frame.map(|frame| frame.map(|result| result.map(|frame| frame.into_data().unwrap())))
}

#[test]
fn an_empty_body_is_over_with_its_head() {
    let (guard, read) = diary();
    let body = held(Empty::<Bytes>::new().map_err(|never| match never {}), guard);
    assert_eq!(read(), ["whole", "dropped"]);
    assert!(body.is_end_stream());
}

#[test]
fn a_body_that_announces_its_end_is_over_with_its_last_frame() {
    let (guard, read) = diary();
    let mut body = pin!(held(frames(true, [data("a"), data("b")]), guard));
    assert!(poll(body.as_mut()).is_ready());
    assert_eq!((read(), body.is_end_stream()), (vec!["Content".to_owned()], false));
    assert_eq!(body.size_hint().exact(), Some(1));
    assert!(poll(body.as_mut()).is_ready());
    assert_eq!(read(), ["End", "whole", "dropped"], "hyper asks for nothing behind it");
    assert!(body.is_end_stream());
    assert!(matches!(poll(body), Poll::Ready(None)));
}

#[test]
fn a_body_without_an_announced_end_is_over_with_the_none_behind_it() {
    let (guard, read) = diary();
    let mut body = pin!(held(frames(false, [data("a")]), guard));
    assert!(poll(body.as_mut()).is_ready());
    assert_eq!(read(), ["Content"]);
    assert!(matches!(poll(body), Poll::Ready(None)));
    assert_eq!(read(), ["whole", "dropped"]);
}

#[test]
fn a_body_that_ends_without_a_frame_is_still_asked_for_its_end() {
    let (guard, read) = diary();
    let mut body = pin!(held(frames(true, [Poll::Pending]), guard));
    assert!(poll(body.as_mut()).is_pending());
    assert!(!body.is_end_stream(), "or nobody would ask, and the guard would never know");
    assert!(matches!(poll(body.as_mut()), Poll::Ready(None)));
    assert_eq!((read(), body.is_end_stream()), (vec!["whole".to_owned(), "dropped".to_owned()], true));
}

#[test]
fn a_body_that_fails_is_over_and_lets_its_source_go() {
    let (guard, read) = diary();
    let (source, released) = diary();
    let failure = Poll::Ready(Err(Error::provider(Kind::Transport)));
    let body = Frames { _dropped: source, ..frames(false, [data("a"), failure, data("never read")]) };
    let mut body = pin!(held(body, guard));
    assert!(poll(body.as_mut()).is_ready());
    assert!(matches!(poll(body.as_mut()), Poll::Ready(Some(Err(error))) if error.kind() == Kind::Transport));
    assert_eq!(read(), ["Content", "failed: Transport", "dropped"]);
    assert_eq!(released(), ["dropped"], "not with the response, which may be kept");
    assert!(matches!(poll(body.as_mut()), Poll::Ready(None)));
    assert!(body.is_end_stream());
}

#[test]
fn a_body_that_is_dropped_halfway_is_never_said_to_have_ended() {
    let (guard, read) = diary();
    let mut body = Box::pin(held(frames(true, [data("a"), data("b")]), guard));
    assert!(poll(body.as_mut()).is_ready());
    drop(body);
    assert_eq!(read(), ["Content", "dropped"]);
}

#[test]
fn an_impatient_guard_ends_what_has_nothing_to_give() {
    let mut body = pin!(held(frames(false, [data("a"), Poll::Pending, data("late")]), Impatient));
    assert!(matches!(poll(body.as_mut()), Poll::Ready(Some(Ok(_)))), "what has come is read first");
    let Poll::Ready(Some(Err(error))) = poll(body.as_mut()) else { panic!("no error") };
    assert_eq!((error.kind(), error.is_delivered(), error.is_retryable()), (Kind::Timeout, true, false));
    assert!(matches!(poll(body), Poll::Ready(None)));
}

#[test]
fn guards_in_each_other_all_hear_of_the_end() {
    let ((inner, inner_read), (outer, outer_read)) = (diary(), diary());
    let body = pin!(held(held(frames(true, [data("a")]), inner), outer));
    assert!(poll(body).is_ready());
    assert_eq!(inner_read(), ["End", "whole", "dropped"]);
    assert_eq!(outer_read(), ["End", "whole", "dropped"]);
}

#[test]
fn a_bare_answer_is_over_with_its_head() {
    let (guard, read) = diary();
    assert_eq!(Bare.hold(7, guard), 7);
    assert_eq!(read(), ["whole", "dropped"]);
}

struct Item(Seen);

impl Show for Item {
    fn show(&self) -> Seen {
        self.0
    }
}

impl Stream for Parts<Item> {
    type Item = Result<Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        self.next()
    }
}

#[test]
fn a_stream_shows_its_guard_every_item_and_is_over_with_the_protocols_own_ending() {
    let (guard, read) = diary();
    let items = [Seen::Alive, Seen::Content, Seen::Usage(Usage::new(3, 4)), Seen::End, Seen::Content];
    let left = items.map(|seen| Poll::Ready(Ok(Item(seen)))).into();
    let mut stream = pin!(Held::new(Parts { left, announced: false, _dropped: diary().0 }, guard));
    let cx = &mut Cx::from_waker(Waker::noop());
    for _ in 0..4 {
        assert!(matches!(stream.as_mut().poll_next(cx), Poll::Ready(Some(Ok(_)))));
    }
    let pages = read();
    assert_eq!(pages[..2], ["Alive", "Content"]);
    assert!(pages[2].contains("output: 4"), "{}", pages[2]);
    assert_eq!(pages[3..], ["End", "whole", "dropped"]);
    assert!(matches!(stream.poll_next(cx), Poll::Ready(None)), "what comes after it is not read");
}

// Gate.

#[tokio::test(start_paused = true)]
async fn a_gate_opens_when_its_time_has_come() {
    guarded(async {
        let gate = Gate::default();
        assert_eq!(gate.opens_in(None), None);
        gate.cool_down(seconds(10));
        advance(seconds(4)).await;
        assert_eq!(gate.opens_in(None), Some(seconds(6)));
        advance(seconds(6)).await;
        assert_eq!(gate.opens_in(None), None);
        gate.open_circuit(None, Duration::MAX);
        advance(seconds(1_000_000)).await;
        assert!(gate.opens_in(None).is_some(), "far is not never, and not now");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_longer_closure_stays() {
    let gate = Gate::default();
    gate.cool_down(seconds(60));
    gate.cool_down(seconds(5));
    assert_eq!(gate.opens_in(None), Some(seconds(60)));
    gate.open_circuit(None, seconds(90));
    assert_eq!(gate.opens_in(None), Some(seconds(90)));
}

#[tokio::test(start_paused = true)]
async fn a_circuit_that_closes_does_not_end_a_cool_down_and_a_hand_does() {
    let gate = Gate::default();
    gate.cool_down(seconds(20));
    gate.open_circuit(None, seconds(30));
    gate.close_circuit(None);
    assert_eq!(gate.opens_in(None), Some(seconds(20)));
    gate.same_quota().end_cool_down();
    assert_eq!(gate.opens_in(None), None);
}

#[tokio::test(start_paused = true)]
async fn routes_of_one_account_cool_down_together_and_have_circuits_of_their_own() {
    let first = Gate::default();
    let second = first.same_quota();
    first.open_circuit(None, seconds(30));
    assert_eq!(second.opens_in(None), None);
    second.cool_down(seconds(40));
    assert_eq!((first.opens_in(None), second.opens_in(None)), (Some(seconds(40)), Some(seconds(40))));
    assert_eq!(first.clone().opens_in(None), first.opens_in(None), "a clone is the same gate");
}

// Context and Shape.

#[tokio::test(start_paused = true)]
async fn a_context_counts_down() {
    let context = Context::default();
    assert_eq!((context.left(), context.sends_left, context.others), (None, 6, false));
    let context = context.with_timeout(seconds(30)).with_sends_left(2).with_others(true).with_wait_at_most(seconds(1));
    advance(seconds(10)).await;
    assert_eq!(context.left(), Some(seconds(20)));
    advance(seconds(30)).await;
    assert_eq!(context.left(), Some(Duration::ZERO));
    assert_eq!((context.sends_left, context.others, context.wait_at_most), (2, true, seconds(1)));
    assert!(Context::default().with_timeout(Duration::MAX).left() > Some(seconds(86_400 * 365)));
}

#[test]
fn http_carries_the_context_in_its_extensions_and_a_copy_takes_it_along() {
    let mut request = Request::new("body");
    assert!(Http.context(&request).is_none());
    let deadline = Instant::now();
    Http.set_context(&mut request, Context::default().with_deadline(deadline).with_sends_left(3));
    let copy = Http.again(&request).unwrap();
    let context = Http.context(&copy).unwrap();
    assert_eq!((context.deadline, context.sends_left, *copy.body()), (Some(deadline), 3, "body"));
}

#[test]
fn http_streams_where_it_accepts_events() {
    let accepts = |values: &[&'static str]| {
        let mut request = Request::new(());
        for value in values {
            request.headers_mut().append(ACCEPT, HeaderValue::from_static(value));
        }
        Http.streams(&request)
    };
    assert!(!accepts(&[]) && !accepts(&["application/json"]));
    assert!(accepts(&["text/event-stream"]));
    assert!(accepts(&["application/json", "text/event-stream; q=0.9"]));
    assert!(accepts(&["application/json, text/event-stream"]));
    assert!(accepts(&["Text/Event-Stream"]), "media types know no case");
}

fn trail(kind: Kind) -> Trail {
    let mut trail = Trail::default();
    trail.push(Error::provider(kind), seconds(1));
    trail
}

#[test]
fn http_tells_of_the_failures_before_a_success_in_the_order_they_were_lived_through() {
    let mut response = Response::new(());
    InCall(Http).note(&mut response, trail(Kind::Server));
    Http.note(&mut response, trail(Kind::Overloaded));
    let told: &Trail = response.extensions().get().unwrap();
    let kinds: Vec<_> = told.attempts().iter().map(|attempt| attempt.kind()).collect();
    assert_eq!(kinds, [Kind::Overloaded, Kind::Server], "the outer layer's came first");
    assert_eq!((told.sends(), told.waited()), (2, seconds(2)));
}

#[test]
fn in_a_call_the_context_rides_beside_the_request() {
    let shape = InCall(Http);
    let mut request = Request::new(());
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    let mut call = Call { context: Context::default(), request };
    shape.set_context(&mut call, Context::default().with_sends_left(1));
    assert_eq!(shape.context(&call).unwrap().sends_left, 1);
    assert!(shape.streams(&call));
    assert!(Http.context(&call.request).is_none(), "the leaf hands it on, not the layers");
    assert_eq!(shape.again(&call).unwrap().context.sends_left, 1);

    let (guard, read) = diary();
    let response = shape.hold(Response::new(frames(true, [data("a")])), guard);
    drop(response);
    assert_eq!(read(), ["dropped"], "it rode in the body");
}

#[test]
fn bare_knows_nothing_and_repeats_what_can_be_cloned() {
    assert!(Bare.context(&7).is_none() && !Bare.streams(&7));
    assert_eq!(Bare.again(&7), Some(7));
    struct NotClone;
    assert!(Bare.context(&NotClone).is_none(), "who never repeats asks for no copy");
}

// The small ones.

#[test]
fn a_secret_never_shows() {
    let secret = Secret::from("sk-live-123");
    assert!(!format!("{secret:?} {:#?}", Some(secret.clone())).contains("123"));
    assert_eq!(secret.expose(), "sk-live-123");
}

#[test]
fn an_invalid_setting_says_which_and_what_to_change() {
    let invalid = Invalid::new("cap", "a cap of 1s is under the base of 2s; raise it");
    assert_eq!(invalid.to_string(), "cap: a cap of 1s is under the base of 2s; raise it");
    assert_eq!(invalid.setting(), "cap");
    let boxed: Box<dyn StdError + Send + Sync> = invalid.into();
    assert!(boxed.source().is_none());
    let zero = DeadlineLayer::new(Duration::ZERO).unwrap_err();
    assert_eq!(zero.to_string(), "deadline: zero would end everything before it began; set a longer time");
}

#[test]
fn a_sink_tells_on_which_route_it_happened() {
    let (diary, read) = diary();
    let sink = Sink::new(move |event| diary.write(format!("{:?}", event.route)));
    let first = sink.route("first");
    first.emit(What::CircuitClosed { key: None });
    sink.emit(What::CircuitClosed { key: None });
    assert_eq!(read(), [r#"Some("first")"#, "None"]);
}

#[tokio::test(start_paused = true)]
async fn circuits_of_one_gate_are_told_apart_by_key_and_moved_by_hand() {
    use seawall::CircuitState::{Closed, HalfOpen, Open};
    let gate = Gate::new();
    let mut changes = gate.changes();
    gate.open_circuit(Some("large"), seconds(5));
    assert_eq!((gate.opens_in(Some("large")), gate.opens_in(Some("small"))), (Some(seconds(5)), None));
    assert_eq!((gate.circuit(Some("large")), gate.circuit(Some("small"))), (Open, Closed));
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
    advance(seconds(5)).await;
    assert_eq!((gate.opens_in(Some("large")), gate.circuit(Some("large"))), (None, HalfOpen));
    gate.close_circuit(Some("large"));
    assert_eq!(gate.circuit(Some("large")), Closed);
    gate.force_circuit_open();
    assert_eq!((gate.opens_in(Some("small")), gate.circuit(None)), (Some(Duration::MAX), Open));
    gate.force_circuit_closed();
    gate.open_circuit(None, seconds(5));
    assert_eq!((gate.opens_in(None), gate.circuit(None)), (None, Closed));
    gate.cool_down(seconds(3));
    assert_eq!(gate.opens_in(None), Some(seconds(3)), "a hand on the circuit ends no cool-down");
    gate.release_circuit();
    assert_eq!(gate.circuit(None), Closed);
    assert!(changes.has_changed().unwrap());
}

#[test]
fn a_sink_hears_events_and_shows_nothing_of_its_listener() {
    let (diary, read) = diary();
    let sink = Sink::new(move |event| diary.write(format!("{event:?}")));
    sink.emit(What::TimedOut { phase: seawall::Phase::Idle, limit: seconds(60) });
    assert_eq!(read(), ["Event { route: None, what: TimedOut { phase: Idle, limit: 60s } }"]);
    assert_eq!(format!("{sink:?}"), "Sink(…)");
}

#[test]
fn an_error_is_one_pointer_wide_and_goes_everywhere() {
    fn anywhere<T: Send + Sync + 'static>() {}
    fn shared<T: Clone + Send + Sync + std::fmt::Debug>() {}
    anywhere::<Error>();
    anywhere::<Idle>();
    anywhere::<AttemptFuture<std::future::Ready<()>, Http>>();
    anywhere::<DeadlineFuture<(), (), ()>>();
    shared::<(Context, Call<()>, Gate, Trail, Sink, Secret)>();
    shared::<(Bare, Http, InCall<Http>, Rng, Usage, Invalid)>();
    shared::<(AttemptTimeoutLayer, AttemptTimeoutLayer<Http>, AttemptTimeout<(), InCall<Http>>)>();
    shared::<(ClassifyLayer<Answers>, Classify<(), Answers>, RetryLayer<Http>, Retry<()>)>();
    shared::<(DeadlineLayer, DeadlineLayer<Http>, Deadline<()>)>();
    assert_eq!(size_of::<Error>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Error>>(), size_of::<usize>());
}

/// Neither a service nor a request need be `Send` or live for ever.
#[test]
fn layers_ask_for_neither_send_nor_static() {
    use std::{future::Future, rc::Rc};
    use tower::{Layer, Service};
    let name = String::from("model");
    let (name, layer) = (&*name, DeadlineLayer::new(seconds(1)).unwrap());
    let model = tower::service_fn(move |n: Rc<u32>| std::future::ready(Ok::<_, Error>(Rc::new((name, n)))));
    let mut service = layer.layer(RetryLayer::new().layer(AttemptTimeoutLayer::new().layer(model)));
    let cx = &mut Cx::from_waker(Waker::noop());
    assert!(Service::<Rc<u32>>::poll_ready(&mut service, cx).is_ready());
    assert!(matches!(pin!(service.call(Rc::new(7))).poll(cx), Poll::Ready(Ok(answer)) if *answer.1 == 7));
}
