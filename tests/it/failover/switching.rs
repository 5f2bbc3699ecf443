use super::*;
use crate::{
    ask,
    fake::{Never, Now, failing, limited},
    guarded, seconds, timed,
};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use seawall::{
    Http,
    classify::{Answers, Classify, ClassifyLayer},
    failover::{Failover, List, On, Policy, Route},
    timeout::AttemptTimeoutLayer,
};
use std::{
    convert::Infallible,
    future::{Ready, ready},
};

fn made(kind: Kind) -> Error {
    if kind.is_refusal() { Error::refusal(kind) } else { Error::provider(kind) }
}

/// The kinds that switch under a policy.
fn switching(policy: Policy) -> Vec<Kind> {
    Kind::ALL.iter().copied().filter(|&kind| policy.switches(&made(kind))).collect()
}

#[test]
fn only_refusals_of_ours_switch_until_more_is_asked_for() {
    let refusals = [Kind::CircuitOpen, Kind::CoolingDown, Kind::LocalLimit];
    let with = |kinds: &[Kind]| [kinds, &refusals].concat();
    assert_eq!(switching(Policy::default()), refusals);
    assert_eq!(switching(Policy::default().on_429()), with(&[Kind::RateLimited]));
    let failures = [Kind::Overloaded, Kind::Server, Kind::Timeout, Kind::Transport];
    assert_eq!(switching(Policy::default().on_failure()), with(&failures));
    for on in On::ALL {
        assert_eq!(switching(Policy::default().on([*on])), with(&[on.kind()]));
    }
    assert_eq!(switching(Policy::default().on([On::Server]).on([On::Timeout])), with(&[Kind::Server, Kind::Timeout]));
}

#[test]
fn an_overload_that_came_as_a_429_switches_with_the_rate_limits() {
    let overload = Error::provider(Kind::Overloaded).with_status(429);
    assert!(Policy::default().on_429().switches(&overload));
    assert!(!Policy::default().on_failure().switches(&overload));
    assert!(!Policy::default().on_429().switches(&Error::provider(Kind::Overloaded).with_status(529)));
}

#[test]
fn nothing_switches_once_content_was_delivered() {
    let policy = Policy::default().on_429().on(On::ALL.iter().copied());
    assert!(Kind::ALL.iter().all(|&kind| !policy.switches(&made(kind).delivered())));
}

#[test]
fn a_configuration_cannot_name_what_no_route_escapes() {
    let named: Vec<_> = Kind::ALL.iter().filter_map(|&kind| On::try_from(kind).ok()).collect();
    assert_eq!(named, On::ALL);
    let said = |kind: Kind| On::try_from(kind).unwrap_err().to_string();
    assert_eq!(said(Kind::RateLimited), "on: rate_limited: it is asked for with `on_429`");
    assert!(said(Kind::ContextLength).contains("`larger`"));
    for kind in [Kind::Auth, Kind::Credit, Kind::InvalidRequest, Kind::Deadline] {
        assert!(said(kind).contains("hide a mistake"), "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_route_is_followed_by_the_next_at_once() {
    guarded(async {
        let first = fake(|_, _: u64| failing(Kind::Server));
        let second = fake(|_, _: u64| limited(seconds(9)));
        let service = Failover::new(first.clone()).then(second.clone()).then(named("third")).on_429().on([On::Server]);
        assert_eq!(ask(&service, 1).await.unwrap(), "third");
        assert_eq!((first.sends(), second.sends()), (1, 1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_was_not_asked_for_ends_the_call() {
    guarded(async {
        for kind in [Kind::RateLimited, Kind::Timeout, Kind::Auth, Kind::InvalidRequest] {
            let second = named("second");
            let service = Failover::new(fake(move |_, _: u64| failing(kind))).then(second.clone()).on([On::Server]);
            let error = ask(&service, 1).await.unwrap_err();
            assert_eq!((error.kind(), error.route(), error.gave_up()), (kind, Some("1"), None));
            assert_eq!((error.root().is_none(), second.sends()), (true, 0));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_begun_is_not_followed_by_another() {
    guarded(async {
        let second = named("second");
        let cut = fake(|_, _: u64| Now(Err(Error::provider(Kind::Transport).delivered())));
        let service = Failover::new(cut).then(second.clone()).on_failure();
        assert!(ask(&service, 1).await.unwrap_err().is_delivered());
        assert_eq!(second.sends(), 0);
    })
    .await;
}

/// Asks a failover over two providers, whose answers are classified; the second one is well.
async fn over_http(
    answer: Canned,
    policy: impl FnOnce(Failover<List<Classify<Canned, Answers>>>) -> Failover<List<Classify<Canned, Answers>>>,
) -> Result<(), Error> {
    let routes = [answer, Canned(200, "{}")].map(|canned| Route::new(ClassifyLayer::http().layer(canned)));
    ask(&policy(Failover::list(routes.into()).unwrap()).shape(Http), Request::new(())).await.map(drop)
}

/// Case calls 9.
#[tokio::test(start_paused = true)]
async fn a_529_is_an_overload_and_the_next_route_answers() {
    guarded(async {
        let overloaded = Canned(529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#);
        over_http(overloaded, |service| service.on([On::Overloaded])).await.unwrap();
        over_http(overloaded, Failover::on_failure).await.unwrap();
        let error = over_http(overloaded, Failover::on_429).await.unwrap_err();
        assert_eq!((error.kind(), error.status(), error.route()), (Kind::Overloaded, Some(529), Some("1")));
    })
    .await;
}

/// Case layers 35.
#[tokio::test(start_paused = true)]
async fn an_empty_account_fails_over_only_where_that_was_named() {
    guarded(async {
        for body in [
            r#"{"error":{"type":"insufficient_quota","message":"x"}}"#,
            r#"{"error":{"code":"insufficient_quota","message":"x"}}"#,
        ] {
            let empty = Canned(429, body);
            let all_else = |service: Failover<_>| service.on_429().on_failure();
            let error = over_http(empty, all_else).await.unwrap_err();
            assert_eq!((error.kind(), error.sends()), (Kind::QuotaExhausted, 1), "{body}");
            over_http(empty, |service| service.on([On::QuotaExhausted])).await.unwrap();
        }
    })
    .await;
}

/// Case calls 27.
#[tokio::test(start_paused = true)]
async fn a_silent_route_is_asked_once_where_another_is_open() {
    guarded(async {
        let patient = AttemptTimeoutLayer::new().whole(seconds(30)).unwrap().shape(InCall(Bare));
        let silent = fake(|_, _: Call<u64>| Never);
        let deadline = Context::default().with_timeout(seconds(40));
        let route = |model: &Fake<Call<u64>, u64>| retrying(patient.clone().layer(model.clone()));

        let (well, _) = seeing(|_| Now(Ok(2)));
        let service = Failover::new(route(&silent)).then(route(&well)).on([On::Timeout]).shape(InCall(Bare));
        let (answer, took) = timed(ask(&service, call(deadline))).await;
        assert_eq!((answer.unwrap(), took, silent.sends()), (2, seconds(30), 1));

        let deaf = fake(|_, _: Call<u64>| Never);
        let deadline = Context::default().with_timeout(seconds(40));
        let service = Failover::new(route(&silent)).then(route(&deaf)).on([On::Timeout]).shape(InCall(Bare));
        let (answer, took) = timed(ask(&service, call(deadline))).await;
        let error = answer.unwrap_err();
        assert_eq!((error.kind(), error.sends(), took), (Kind::Timeout, 2, seconds(40)));
        assert_eq!((silent.sends(), deaf.sends()), (2, 1), "one of the earlier call");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_context_overflow_goes_to_larger_routes_only() {
    guarded(async {
        let overflow = || fake(|_, _: u64| failing::<&'static str>(Kind::ContextLength));
        let (small, middle, large) = (overflow(), named("middle"), named("large"));
        let service = Failover::new(small.clone()).then(middle.clone()).then(large.clone()).larger();
        assert_eq!(ask(&service, 1).await.unwrap(), "large");
        assert_eq!((small.sends(), middle.sends(), large.sends()), (1, 0, 1));

        let lone = Failover::new(overflow()).then(middle.clone()).on_failure().on_429();
        let error = ask(&lone, 1).await.unwrap_err();
        assert_eq!((error.kind(), error.gave_up(), middle.sends()), (Kind::ContextLength, None, 0));

        let failing_over = Failover::new(overflow())
            .then(fake(|_, _: u64| failing(Kind::Server)))
            .larger()
            .then(middle.clone())
            .then(large.clone())
            .larger()
            .on_failure();
        assert_eq!(ask(&failing_over, 1).await.unwrap(), "large", "after the overflow no smaller one is asked");

        let ordinary = Failover::new(fake(|_, _: u64| failing(Kind::Server))).then(large.clone()).larger().on_failure();
        assert_eq!(ask(&ordinary, 1).await.unwrap(), "large", "in its turn it is asked like any");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_closed_larger_route_is_asked_as_the_last() {
    guarded(async {
        let gate = Gate::new();
        gate.open_circuit(None, seconds(9));
        let large = named("large");
        let service = Failover::new(fake(|_, _: u64| failing::<&'static str>(Kind::ContextLength)))
            .then(gated(large.clone(), &gate))
            .gate(&gate)
            .larger();
        let error = ask(&service, 1).await.unwrap_err();
        assert_eq!((error.kind(), error.retry_after(), large.sends()), (Kind::CircuitOpen, Some(seconds(9)), 0));
        assert_eq!(error.root().unwrap().kind(), Kind::ContextLength);
    })
    .await;
}

#[test]
fn a_list_says_what_is_wrong_with_it() {
    let said = |routes: Vec<Route<()>>| Failover::list(routes).unwrap_err().to_string();
    assert_eq!(said(Vec::new()), "routes: there are none; give at least one");
    assert!(said(vec![Route::new(()).larger(), Route::new(())]).starts_with("larger: has no effect on the first"));
    assert!(said((0..65).map(|_| Route::new(())).collect()).starts_with("routes: 65 are more than 64"));
    assert!(Failover::list((0..64).map(|_| Route::new(())).collect()).is_ok());
    let zero = Failover::new(()).ready_within(seconds(0)).unwrap_err();
    assert!(zero.to_string().starts_with("ready_within: zero"), "{zero}");
}

#[tokio::test(start_paused = true)]
async fn the_last_of_sixty_four_routes_is_asked() {
    guarded(async {
        let down = fake(|_, _: u64| failing(Kind::Server));
        let mut routes: Vec<_> = (0..63).map(|_| Route::new(down.clone())).collect();
        routes.push(Route::new(named("last")));
        assert_eq!(ask(&Failover::list(routes).unwrap().on_failure(), 1).await.unwrap(), "last");
        assert_eq!(down.sends(), 63);

        let all: Vec<_> = (0..64).map(|_| Route::new(down.clone())).collect();
        let error = ask(&Failover::list(all).unwrap().on_failure(), 1).await.unwrap_err();
        assert_eq!((error.sends(), error.route(), down.sends()), (64, Some("64"), 63 + 64));
    })
    .await;
}

#[derive(Clone, Copy)]
struct Canned(u16, &'static str);

impl Service<Request<()>> for Canned {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        ready(Ok(Response::builder().status(self.0).body(Full::from(self.1)).unwrap()))
    }
}
