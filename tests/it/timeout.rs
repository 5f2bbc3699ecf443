use crate::{ask, fake::*, guarded, seconds, timed};
use bytes::Bytes;
use http::{Request, Response, header::ACCEPT};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use seawall::{
    Context, Error, Event, Http, Kind, Phase, Shape, Sink,
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
use tower::{Service, ServiceBuilder, ServiceExt, limit::ConcurrencyLimit, service_fn};

const PATIENCE: Duration = Duration::from_secs(600);

/// A body whose frames come after pauses; `None` ends it without an end of its own, in silence.
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
        let Event::TimedOut { phase, limit } = event else { return };
        told.lock().unwrap().push((*phase, *limit));
    });
    (sink, heard)
}

/// A stand-in for any layer between the two: asks again once, and tells in its error what failed before.
#[derive(Clone)]
struct Twice<S>(S);

impl<S> Service<Request<()>> for Twice<S>
where
    S: Service<Request<()>, Error = Error> + Clone + 'static,
    S::Response: 'static,
{
    type Response = S::Response;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, Error>>>>;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<()>) -> Self::Future {
        let first = self.0.call(request.clone());
        let mut inner = self.0.clone();
        Box::pin(async move {
            let Err(error) = first.await else { panic!("the first attempt fails") };
            let mut trail = seawall::Trail::default();
            trail.push(error, Duration::ZERO);
            let second = inner.ready().await?.call(request).await;
            second.map_err(|error| error.after(trail))
        })
    }
}

// The attempt.

#[tokio::test(start_paused = true)]
async fn a_silent_model_is_given_up_after_ten_minutes_and_a_silent_stream_after_one() {
    guarded(async {
        let model = silent();
        let service = AttemptTimeoutLayer::new().shape(Http).named(model.clone());
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
