//! Retries, in virtual time.
mod budget;
mod keep_last;
mod limits;
mod properties;
mod replay;
mod schedules;

use crate::{
    ask,
    fake::{Answer, Fake, Now, failing, fake, limited},
    guarded, seconds, timed,
};
use seawall::{Error, GaveUp, Http, Kind, Sink, Trail, What, retry::RetryLayer};
use std::{
    future::{Future, Ready, ready},
    sync::{Arc, Mutex},
    task::{Context as Cx, Poll, Waker},
    time::Duration,
};
use tokio::time::Instant;
use tower::{Layer, Service, ServiceBuilder, ServiceExt as _, limit::ConcurrencyLimit};

/// When a model was asked, counted from the first time.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<Instant>>>);

impl Asked {
    fn now(&self) {
        self.0.lock().unwrap().push(Instant::now());
    }

    fn after(&self) -> Vec<Duration> {
        let asked = self.0.lock().unwrap();
        asked.iter().map(|at| *at - asked[0]).collect()
    }

    fn gaps(&self) -> Vec<Duration> {
        self.after().windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

/// A model that gives the same answer for ever, and when it was asked.
fn always(answer: impl Fn() -> Answer<u32> + Send + Sync + 'static) -> (Fake<u32, u32>, Asked) {
    let asked = Asked::default();
    let log = asked.clone();
    let model = fake(move |_, _| {
        log.now();
        answer()
    });
    (model, asked)
}

/// A model that fails so often, and then answers.
fn fails(times: u32, kind: Kind) -> Fake<u32, u32> {
    fake(move |n, _| if n < times { failing(kind) } else { Now(Ok(n)) })
}

/// What a sink was told, in words.
fn told() -> (Sink, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let log = told.clone();
    let sink = Sink::new(move |event| {
        log.lock().unwrap().push(match event.what {
            What::Retrying { error, retry, wait } => format!("{} {retry} {wait:?}", error.kind().as_str()),
            What::GaveUp { error, reason } => format!("gave up after {} sends: {reason}", error.sends()),
            _ => String::new(),
        });
    });
    (sink, told)
}

fn every_second(_: u32) -> Duration {
    seconds(1)
}

#[tokio::test(start_paused = true)]
async fn two_failures_are_survived_and_a_third_is_not() {
    guarded(async {
        let model = fails(2, Kind::Server);
        let (answer, waited) = timed(ask(&RetryLayer::new().layer(model.clone()), 1)).await;
        assert_eq!((answer.unwrap(), model.sends()), (2, 3));
        assert!(waited <= seconds(3), "ceilings of one and two seconds");

        let model = fails(3, Kind::Server);
        let error = ask(&RetryLayer::new().layer(model.clone()), 1).await.unwrap_err();
        assert_eq!((error.kind(), error.gave_up()), (Kind::Server, Some(GaveUp::AttemptsSpent)));
        assert_eq!((error.sends(), error.trail().attempts().len(), model.sends()), (3, 2, 3));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_not_retryable_is_sent_once_even_through_nested_retries() {
    guarded(async {
        for kind in Kind::ALL.iter().copied().filter(|&kind| !Error::provider(kind).is_retryable()) {
            let model = fails(9, kind);
            let service =
                ServiceBuilder::new().layer(RetryLayer::new()).layer(RetryLayer::new()).service(model.clone());
            let (result, waited) = timed(ask(&service, 1)).await;
            let error = result.unwrap_err();
            assert_eq!((error.kind(), error.gave_up(), model.sends(), waited), (kind, None, 1, Duration::ZERO));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_empty_account_and_a_long_prompt_keep_their_kind_to_the_outermost_caller() {
    guarded(async {
        for kind in [Kind::QuotaExhausted, Kind::ContextLength] {
            let model = fake(move |_, _: u32| Now::<u32>(Err(Error::provider(kind).with_status(429))));
            let service = RetryLayer::new().layer(RetryLayer::new().layer(model.clone()));
            let error = ask(&service, 1).await.unwrap_err();
            assert_eq!((error.kind(), error.sends(), model.sends()), (kind, 1, 1));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_retried_once_content_was_delivered() {
    guarded(async {
        let (model, _) = always(|| Now(Err(Error::provider(Kind::Transport).delivered())));
        let error = ask(&RetryLayer::new().layer(model.clone()), 1).await.unwrap_err();
        assert_eq!((error.gave_up(), model.sends()), (None, 1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_told_wait_is_kept_in_full_with_jitter_on_top() {
    guarded(async {
        let (model, asked) = always(|| limited(seconds(3)));
        ask(&RetryLayer::new().layer(model), 1).await.unwrap_err();
        assert!(asked.gaps().iter().all(|gap| (seconds(3)..=seconds(4)).contains(gap)), "{:?}", asked.gaps());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_names_no_wait_waits_by_the_schedule() {
    guarded(async {
        let (model, asked) = always(|| failing(Kind::RateLimited));
        ask(&RetryLayer::new().schedule(every_second).layer(model), 1).await.unwrap_err();
        assert_eq!(asked.gaps(), [seconds(1); 2]);
        let (model, asked) = always(|| limited(Duration::ZERO));
        ask(&RetryLayer::new().schedule(every_second).layer(model), 1).await.unwrap_err();
        assert_eq!(asked.gaps(), [seconds(1); 2], "no time at all is no wait");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_names_its_wait_is_waited_out_and_spends_no_attempt() {
    guarded(async {
        let cooling = || Now(Err(Error::refusal(Kind::CoolingDown).with_retry_after(seconds(5))));
        let model = fake(move |n, _| match n {
            0..=4 => cooling(),
            5..=6 => failing(Kind::Server),
            n => Now(Ok(n)),
        });
        let (answer, waited) = timed(ask(&RetryLayer::new().layer(model.clone()), 1)).await;
        assert_eq!(answer.unwrap(), 7);
        assert!((seconds(25)..=seconds(33)).contains(&waited), "{waited:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn refusals_are_waited_out_for_a_minute_at_most() {
    guarded(async {
        let (model, asked) = always(|| Now(Err(Error::refusal(Kind::CircuitOpen).with_retry_after(seconds(10)))));
        let (result, waited) = timed(ask(&RetryLayer::new().layer(model.clone()), 1)).await;
        let error = result.unwrap_err();
        assert_eq!((error.sends(), error.gave_up()), (0, Some(GaveUp::PatienceSpent(seconds(60)))));
        assert!(waited <= seconds(61) && asked.gaps().iter().all(|&gap| gap >= seconds(10)), "{waited:?}");
        assert_eq!(error.retry_after(), Some(seconds(10)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_names_no_wait_is_not_hammered() {
    guarded(async {
        for kind in Kind::ALL.iter().copied().filter(|kind| kind.is_refusal()) {
            let (model, _) = always(move || Now(Err(Error::refusal(kind))));
            let (result, waited) = timed(ask(&RetryLayer::new().layer(model.clone()), 1)).await;
            assert_eq!((result.unwrap_err().gave_up(), model.sends(), waited), (None, 1, Duration::ZERO));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_error_and_the_answer_tell_every_attempt_and_its_wait() {
    guarded(async {
        let model = fake(|n, _: http::Request<()>| match n {
            0 => failing(Kind::Server),
            1 => limited(seconds(2)),
            _ => Now(Ok(http::Response::new(()))),
        });
        let service = RetryLayer::new().schedule(every_second).shape(Http).layer(model);
        let response = ask(&service, http::Request::new(())).await.unwrap();
        let trail = response.extensions().get::<Trail>().unwrap();
        let attempts: Vec<_> = trail.attempts().iter().map(|attempt| (attempt.kind(), attempt.sends())).collect();
        assert_eq!(attempts, [(Kind::Server, 1), (Kind::RateLimited, 1)]);
        assert!(trail.attempts()[0].waited() == seconds(1) && trail.attempts()[1].waited() >= seconds(2));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_first_success_leaves_no_trail() {
    guarded(async {
        let model = fake(|_, _: http::Request<()>| Now(Ok(http::Response::new(()))));
        let response = ask(&RetryLayer::new().shape(Http).layer(model), http::Request::new(())).await.unwrap();
        assert!(response.extensions().get::<Trail>().is_none());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn events_tell_each_wait_and_why_the_call_was_given_up() {
    guarded(async {
        let (sink, told) = told();
        let model = fake(|n, _: u32| match n {
            1 => Now::<u32>(Err(Error::refusal(Kind::LocalLimit).with_retry_after(seconds(1)))),
            _ => failing(Kind::Server),
        });
        let layer = RetryLayer::new().schedule(every_second).max_retries(2).sink(sink);
        ask(&layer.layer(model), 1).await.unwrap_err();
        let told = told.lock().unwrap();
        assert!(told[0] == "server 1 1s" && told[1].starts_with("local_limit 0 1."), "{told:?}");
        assert_eq!(told[2..], ["server 2 1s", "gave up after 3 sends: all attempts are spent"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_sink_may_call_back_into_the_budget() {
    guarded(async {
        let (budget, model) = (seawall::retry::Budget::default(), fails(4, Kind::Server));
        let drawing = RetryLayer::new().budget(&budget).layer(model.clone());
        let layer = RetryLayer::new().budget(&budget).sink(Sink::new(move |_| {
            let mut call = Box::pin(drawing.clone().oneshot(1));
            assert!(call.as_mut().poll(&mut Cx::from_waker(Waker::noop())).is_pending(), "it failed, drew and waits");
        }));
        ask(&layer.layer(model.clone()), 1).await.unwrap();
        assert_eq!(model.sends(), 5, "three of the call, and one of each that the sink began");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn every_attempt_is_made_ready_first_under_limits_and_buffers() {
    guarded(async {
        let model = fails(4, Kind::Transport);
        let layer = RetryLayer::new().max_retries(4);
        ask(&layer.layer(ConcurrencyLimit::new(model.clone(), 1)), 1).await.unwrap();
        assert_eq!(model.sends(), 5, "the fake panics on a call that was not made ready");
        let model = fails(4, Kind::Transport);
        let limited =
            ServiceBuilder::new().layer(layer.clone()).concurrency_limit(1).layer(layer).service(model.clone());
        ask(&limited, 1).await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_waiting_call_holds_no_permit() {
    guarded(async {
        let model = fake(|_, wait: u32| if wait > 0 { limited(seconds(10)) } else { Now(Ok(0)) });
        let service = RetryLayer::new().layer(ConcurrencyLimit::new(model, 1));
        let waiting = tokio::spawn(timed({
            let service = service.clone();
            async move { ask(&service, 1).await }
        }));
        tokio::time::sleep(seconds(1)).await;
        let (answer, took) = timed(ask(&service, 0)).await;
        assert_eq!((answer.unwrap(), took), (0, Duration::ZERO));
        assert!(waiting.await.unwrap().0.is_err());
    })
    .await;
}

/// Ready once, and broken from then on.
#[derive(Clone)]
struct Breaks(Arc<Mutex<u32>>);

impl Service<u32> for Breaks {
    type Response = u32;
    type Error = Error;
    type Future = Ready<Result<u32, Error>>;

    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        let mut asked = self.0.lock().unwrap();
        *asked += 1;
        Poll::Ready(if *asked > 1 { Err(Error::provider(Kind::Unknown).with_sends(0)) } else { Ok(()) })
    }

    fn call(&mut self, _: u32) -> Self::Future {
        ready(Err(Error::provider(Kind::Server)))
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_breaks_while_it_waits_ends_the_call_with_its_trail() {
    guarded(async {
        let error = ask(&RetryLayer::new().layer(Breaks(Arc::default())), 1).await.unwrap_err();
        assert_eq!((error.kind(), error.sends(), error.trail().attempts().len()), (Kind::Unknown, 1, 1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_at_any_moment_leaves_nothing_behind() {
    guarded(async {
        let model = fake(|_, _: u32| Answer::<u32>::After(seconds(1), Err(Error::provider(Kind::Server))));
        let service = RetryLayer::new().schedule(every_second).layer(ConcurrencyLimit::new(model.clone(), 1));
        for tenths in 0..60 {
            let limit = Duration::from_millis(tenths * 100);
            let _ = tokio::time::timeout(limit, ask(&service, 1)).await;
            let sends = model.sends();
            tokio::time::sleep(seconds(10)).await;
            assert_eq!((model.live(), model.sends()), (0, sends), "dropped after {limit:?}");
        }
        assert!(ask(&service, 1).await.is_err(), "the one permit is back");
    })
    .await;
}
