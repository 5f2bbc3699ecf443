//! One call, one send, and a typed end whatever comes back: in process and over real sockets.
#[cfg(feature = "reqwest")]
mod leaving;
mod odd;
mod streams;
#[cfg(feature = "reqwest")]
mod wire;

#[cfg(feature = "reqwest")]
pub use wire::direct;

use crate::{ask, fake::*, guarded, seconds, timed};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use seawall::{
    Context, Ending, Error, Guard, Http, Kind, Note, Origin, Outcome, Phase, Replay, Seen, Shape, Trail, Usage,
    chat::{self, Answer, Chat, Item, Message, Reply},
    provider::{Client, OpenAi},
};
use std::{
    collections::VecDeque,
    convert::Infallible,
    future::{Future, ready},
    io,
    pin::{Pin, pin},
    rc::Rc,
    sync::{Arc, Mutex},
    task::{Context as Cx, Poll, Waker},
};
use tower::{Service, ServiceExt, limit::ConcurrencyLimit, service_fn};

const KEY: &str = "sk-proj-4f9aAbC123";
const ANSWER: &str = r#"{"id":"1","model":"m-1","choices":[{"message":{"content":"Blue."},"finish_reason":"stop"}],
    "usage":{"prompt_tokens":9,"completion_tokens":2}}"#;

type Asked = Request<Full<Bytes>>;

fn question() -> chat::Request {
    chat::Request::new("gpt-4o-mini").user("What colour is the sea?")
}

fn openai() -> OpenAi {
    OpenAi::new(KEY)
}

/// A body of prepared frames, which tells how many were taken.
#[derive(Clone, Default)]
struct Frames {
    frames: VecDeque<Result<Bytes, Broken>>,
    endless: bool,
    stalls: bool,
    taken: Arc<Mutex<usize>>,
}

/// What a transport says of a body that broke off.
#[derive(Clone, Debug)]
enum Broken {
    Cut,
    Strange,
    Ours(fn() -> Error),
}

impl From<Broken> for Box<dyn std::error::Error + Send + Sync> {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Cut => io::Error::from(io::ErrorKind::ConnectionReset).into(),
            Broken::Strange => "the cable was bitten through".into(),
            Broken::Ours(error) => error().into(),
        }
    }
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if self.stalls && self.frames.is_empty() {
            return Poll::Pending;
        }
        *self.taken.lock().unwrap() += 1;
        let endless = self.endless.then(|| Ok(Bytes::from_static(&[b' '; 1024])));
        Poll::Ready(self.frames.pop_front().or(endless).map(|frame| frame.map(Frame::data)))
    }
}

fn frames(frames: impl IntoIterator<Item = Result<&'static str, Broken>>) -> Frames {
    let frames = frames.into_iter().map(|frame| frame.map(|text| Bytes::from_static(text.as_bytes()))).collect();
    Frames { frames, ..Frames::default() }
}

/// A server in process that gives one answer, whoever asks.
fn server(
    status: u16,
    body: Frames,
) -> impl Service<Asked, Response = Response<Frames>, Error = Infallible, Future: Send> + Clone {
    service_fn(move |_: Asked| {
        let mut response = Response::new(body.clone());
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        ready(Ok(response))
    })
}

async fn answered(status: u16, body: Frames) -> Result<Reply, Error> {
    ask(&openai().over(server(status, body)), question()).await
}

#[tokio::test]
async fn an_answer_in_pieces_is_one_reply() {
    let (one, two) = ANSWER.split_at(40);
    let reply = answered(200, frames([Ok(one), Ok(""), Ok(two)])).await.unwrap();
    assert_eq!((reply.text().as_ref(), reply.model()), ("Blue.", Some("m-1")));
    assert_eq!(reply.usage(), Some(Usage::new(9, 2)));
}

#[tokio::test]
async fn the_context_goes_on_to_the_service_below() {
    let sent = service_fn(async |request: Asked| {
        let context = Http.context(&request).map(|context| context.sends_left);
        assert_eq!((context, Http.streams(&request)), (Some(3), false));
        Ok::<_, Infallible>(Response::new(ANSWER.to_owned()))
    });
    let mut request = question();
    Chat.set_context(&mut request, Context::default().with_sends_left(3));
    assert!(ask(&openai().over(sent), request).await.is_ok());
}

#[tokio::test]
async fn a_body_that_breaks_off_is_never_a_success() {
    for cut in 0..ANSWER.len() {
        let error = answered(200, frames([Ok(&ANSWER[..cut]), Err(Broken::Cut)])).await.unwrap_err();
        assert_eq!((error.kind(), error.phase(), error.sends()), (Kind::Transport, Some(Phase::Body), 1));
        assert!(error.is_retryable() && !error.is_delivered());
        let ended = answered(200, frames([Ok(&ANSWER[..cut])])).await.unwrap_err();
        assert_eq!((ended.kind(), ended.is_retryable()), (Kind::Transport, true), "{}", &ANSWER[..cut]);
    }
    let error = answered(200, frames([Ok("{"), Err(Broken::Strange)])).await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (Kind::Transport, Some(Phase::Body)), "however it is told");
    // All of it had come, but the server did not say that this was all.
    let error = answered(200, frames([Ok(ANSWER), Err(Broken::Cut)])).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Transport);
}

#[tokio::test]
async fn a_refusal_whose_body_breaks_off_keeps_its_status() {
    let error = answered(429, frames([Ok(r#"{"error":{"#), Err(Broken::Cut)])).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (Kind::RateLimited, Some(429)));
}

#[tokio::test(start_paused = true)]
async fn an_error_whose_body_never_ends_is_judged_after_five_seconds() {
    guarded(async {
        let mut body = frames([Ok(r#"{"error":{"#)]);
        body.stalls = true;
        let (result, took) = timed(answered(429, body)).await;
        assert_eq!((result.unwrap_err().kind(), took), (Kind::RateLimited, seconds(5)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_falls_silent_ends_by_its_idle_limit_and_not_sooner() {
    guarded(async {
        let mut body = frames([Ok(r#"{"choices":"#)]);
        body.stalls = true;
        let (result, took) = timed(answered(200, body.clone())).await;
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.phase(), took), (Kind::Timeout, Some(Phase::Idle), seconds(60)));
        assert!(error.is_retryable() && error.sends() == 1);
        let respond = move |_: Asked| ready(Ok::<_, Infallible>(Response::new(body.clone())));
        let client = openai().over(service_fn(respond)).idle(seconds(5)).unwrap();
        assert_eq!(timed(ask(&client, question())).await.1, seconds(5));
        assert_eq!(client.idle(std::time::Duration::ZERO).unwrap_err().setting(), "idle");
    })
    .await;
}

#[tokio::test]
async fn a_guard_below_cannot_mark_as_delivered_what_nobody_got() {
    let idle = || Error::provider(Kind::Timeout).with_phase(Phase::Idle).delivered();
    let error = answered(200, frames([Ok("{"), Err(Broken::Ours(idle))])).await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Some(Phase::Idle)));
    assert!(!error.is_delivered() && error.is_retryable());
}

#[tokio::test]
async fn a_success_that_is_none_is_an_error() {
    let envelope = r#"{"error":{"message":"The server had an error","type":"server_error","code":null}}"#;
    let both = r#"{"choices":[{"message":{"content":""}}],"error":{"message":"Upstream failed","code":502}}"#;
    for body in [envelope, both, "", " \n", "<html><body>Bad gateway</body></html>", "{}", "null", "[]", "OK"] {
        let error = answered(200, frames([Ok(body)])).await.unwrap_err();
        assert_eq!((error.origin(), error.sends()), (Origin::Provider, 1), "{body}");
        assert_eq!(error.provider_name(), Some("openai"), "{body}");
    }
}

#[tokio::test]
async fn an_error_is_judged_by_the_first_64_kib_of_its_body() {
    let mut body = frames([]);
    body.endless = true;
    let taken = body.taken.clone();
    let error = answered(500, body).await.unwrap_err();
    assert_eq!((error.kind(), *taken.lock().unwrap()), (Kind::Server, 65));
}

#[tokio::test]
async fn an_answer_over_the_limit_is_an_error_that_names_the_setting() {
    let mut body = frames([]);
    body.endless = true;
    let client = openai().over(server(200, body.clone())).reply_limit(10 * 1024);
    let error = ask(&client, question()).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable(), *body.taken.lock().unwrap()), (Kind::Unknown, false, 11));
    assert!(error.message().unwrap().contains("reply_limit"));

    let whole = openai().over(server(200, frames([Ok(ANSWER)]))).reply_limit(ANSWER.len());
    assert!(ask(&whole, question()).await.is_ok(), "the limit itself is allowed");
    let announced = service_fn(async |_: Asked| Ok::<_, Infallible>(Response::new(ANSWER.to_owned())));
    let error = ask(&openai().over(announced).reply_limit(9), question()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unknown, "a length that says so is believed");
}

/// Says how long it will be, and says no more.
struct Announced;

impl Body for Announced {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(1 << 40)
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_announces_too_much_is_not_waited_for() {
    guarded(async {
        let server = service_fn(async |_: Asked| Ok::<_, Infallible>(Response::new(Announced)));
        let (result, took) = timed(ask(&openai().over(server), question())).await;
        assert_eq!((result.unwrap_err().kind(), took), (Kind::Unknown, seconds(0)));
    })
    .await;
}

#[tokio::test]
async fn a_request_that_cannot_be_said_sends_nothing_and_keeps_no_permit() {
    let inner = ConcurrencyLimit::new(server(200, frames([Ok(ANSWER)])), 1);
    let mut idle = openai().over(inner);
    let other = idle.clone();
    let error = idle.ready().await.unwrap().call(chat::Request::new("m")).await.unwrap_err();
    assert_eq!((error.kind(), error.origin(), error.sends()), (Kind::InvalidRequest, Origin::Local, 0));
    assert_eq!(
        error.to_string(),
        "openai: invalid request: messages: there are none: add one with `user`, nothing sent"
    );
    let reply = tokio::time::timeout(seconds(2), other.oneshot(question())).await.expect("the permit is stuck");
    assert!(reply.is_ok());
}

/// A service that fails before anything can be sent.
#[derive(Clone)]
struct Unready;

impl Service<Asked> for Unready {
    type Response = Response<String>;
    type Error = io::Error;
    type Future = std::future::Ready<Result<Response<String>, io::Error>>;

    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::ErrorKind::ConnectionRefused.into()))
    }

    fn call(&mut self, _: Asked) -> Self::Future {
        panic!("called without being ready")
    }
}

#[tokio::test]
async fn a_service_that_is_not_ready_fails_as_itself_with_nothing_sent() {
    let error = ask(&openai().over(Unready), question()).await.unwrap_err();
    assert_eq!((error.kind(), error.sends(), error.provider_name()), (Kind::Transport, 0, Some("openai")));
}

#[tokio::test]
async fn an_error_of_a_layer_below_is_handed_on_as_it_is() {
    let full = service_fn(async |_: Asked| {
        let refusal = Error::refusal(Kind::LocalLimit).with_retry_after(seconds(2));
        Err::<Response<String>, Error>(refusal)
    });
    let error = ask(&openai().over(full), question()).await.unwrap_err();
    assert_eq!(error.to_string(), "openai: local limit is full, holds for 2s, nothing sent");
    let proxy = service_fn(async |_: Asked| {
        Err::<Response<String>, Error>(Error::provider(Kind::Overloaded).with_provider("proxy"))
    });
    let error = ask(&openai().over(proxy), question()).await.unwrap_err();
    assert_eq!(error.provider_name(), Some("proxy"), "who knows better is not overruled");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_call_drops_what_is_below() {
    guarded(async {
        let silent = fake::<Asked, Response<String>>(|_, _| Never);
        let client = openai().over(silent.clone());
        let call = tokio::time::timeout(seconds(1), client.oneshot(question()));
        let (gone, took) = timed(call).await;
        assert!(gone.is_err());
        assert_eq!((took, silent.sends(), silent.live()), (seconds(1), 1, 0));
    })
    .await;
}

#[test]
fn neither_send_nor_static_is_asked_of_the_service_below() {
    let answer = Rc::new(ANSWER.to_owned());
    let borrowed = &answer;
    let client = openai().over(service_fn(async move |_: Asked| {
        let answer = Rc::clone(borrowed);
        Ok::<_, Infallible>(Response::new(String::clone(&answer)))
    }));
    let mut call = pin!(client.oneshot(question()));
    let polled = call.as_mut().poll(&mut Cx::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Ok(_))));
}

#[test]
fn a_call_polled_after_its_end_stays_quiet() {
    let mut client = openai().over(server(200, frames([Ok(ANSWER)])));
    let mut call = pin!(client.call(question()));
    let cx = &mut Cx::from_waker(Waker::noop());
    assert!(call.as_mut().poll(cx).is_ready());
    assert!(call.as_mut().poll(cx).is_pending());
}

#[test]
fn clients_and_replies_may_go_anywhere() {
    fn anywhere<T: Send + Sync + 'static>() {}
    fn cloned<T: Clone>() {}
    anywhere::<Client<OpenAi, seawall::sim::InProcess>>();
    anywhere::<Reply>();
    anywhere::<chat::Request>();
    cloned::<Client<OpenAi, seawall::sim::InProcess>>();
}

// What layers do to requests and replies of a chat.

/// Writes down what a guard is told.
#[derive(Clone, Default)]
struct Witness(Arc<Mutex<Vec<String>>>);

impl Guard for Witness {
    fn progress(self: Pin<&mut Self>, seen: Seen) {
        self.0.lock().unwrap().push(format!("{seen:?}"));
    }

    fn end(self: Pin<&mut Self>, outcome: Outcome<'_>) {
        let word = if matches!(outcome, Outcome::Whole) { "whole" } else { "failed" };
        self.0.lock().unwrap().push(word.to_owned());
    }
}

/// A stream of what is at hand.
struct Items(VecDeque<Result<Item, Error>>);

impl futures_core::Stream for Items {
    type Item = Result<Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop_front())
    }
}

fn stream(items: impl IntoIterator<Item = Result<Item, Error>>) -> Reply {
    Reply::stream(Items(items.into_iter().collect()))
}

fn text(text: &str) -> Result<Item, Error> {
    Ok(Item::Text(text.into()))
}

#[test]
fn a_whole_reply_tells_its_guard_the_usage_once_and_is_over() {
    let witness = Witness::default();
    let answer = Answer::new(Message::assistant("Blue.")).with_usage(Usage::new(9, 2));
    let reply = Chat.hold(Reply::whole(answer), witness.clone());
    assert_eq!(reply.text(), "Blue.");
    let told = witness.0.lock().unwrap().clone();
    assert_eq!(told, [format!("{:?}", Seen::Usage(Usage::new(9, 2))), "whole".to_owned()]);
}

#[tokio::test]
async fn a_stream_fills_the_reply_and_keeps_its_guards_to_the_end() {
    let witness = Witness::default();
    let items = [text("Bl"), Ok(Item::Alive), text("ue."), Ok(Item::Usage(Usage::new(9, 2))), Ok(Item::End)];
    let mut reply = Chat.hold(stream(items), witness.clone());
    assert!(reply.is_stream());
    assert_eq!(reply.next().await.unwrap().unwrap(), Item::Text("Bl".into()));
    assert_eq!(reply.next().await.unwrap().unwrap(), Item::Text("ue.".into()), "a sign of life is hidden");
    assert_eq!(reply.text(), "Blue.");
    let answer = reply.collect().await.unwrap();
    assert_eq!((answer.message(), answer.usage()), (&Message::assistant("Blue."), Some(Usage::new(9, 2))));
    let told = witness.0.lock().unwrap().clone();
    assert_eq!((told.len(), told[1].as_str(), told[5].as_str()), (6, "Alive", "whole"));
}

#[tokio::test]
async fn a_stream_that_just_ends_was_cut() {
    let witness = Witness::default();
    let mut reply = Chat.hold(stream([text("Bl")]), witness.clone());
    assert!(reply.next().await.unwrap().is_ok());
    let error = reply.next().await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.is_delivered(), error.is_retryable()), (Kind::Transport, true, false));
    assert!(reply.next().await.is_none());
    assert_eq!(reply.text(), "Bl", "the part stays");
    assert_eq!(witness.0.lock().unwrap().last().unwrap(), "failed");
    let error = reply.collect().await.unwrap_err();
    assert!(error.is_delivered(), "a part is never handed out as the whole");
}

#[tokio::test]
async fn an_error_within_a_stream_counts_as_delivered() {
    let error = stream([text("Bl"), Err(Error::provider(Kind::Overloaded))]).collect().await.unwrap_err();
    assert_eq!((error.kind(), error.is_delivered(), error.is_retryable()), (Kind::Overloaded, true, false));
}

#[test]
fn the_shape_repeats_requests_and_notes_what_failed_before() {
    let request = question().with_context(Context::default().with_sends_left(2));
    let again = Chat.again(&request).unwrap();
    assert!(std::ptr::eq(again.messages(), request.messages()));
    assert_eq!(Chat.context(&again).unwrap().sends_left, 2);
    let mut reply = Reply::whole(Answer::default());
    for kind in [Kind::Server, Kind::Overloaded] {
        let mut trail = Trail::default();
        trail.push(Error::provider(kind), seconds(1));
        Chat.note(&mut reply, trail);
    }
    let kinds: Vec<_> = reply.trail().attempts().iter().map(|attempt| attempt.kind()).collect();
    assert_eq!(kinds, [Kind::Overloaded, Kind::Server], "the outer layer lived through its part before");
}

#[tokio::test]
async fn headers_reach_the_judge() {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", "7".parse().unwrap());
    let limited = service_fn(move |_: Asked| {
        let mut response = Response::new(r#"{"error":{"code":"rate_limit_exceeded","message":"Slow"}}"#.to_owned());
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        *response.headers_mut() = headers.clone();
        ready(Ok::<_, Infallible>(response))
    });
    let error = ask(&openai().over(limited), question()).await.unwrap_err();
    assert_eq!((error.kind(), error.retry_after()), (Kind::RateLimited, Some(seconds(7))));
}
