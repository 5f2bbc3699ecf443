use super::*;
use crate::{
    ask,
    fake::{After, Now, failing, limited},
    guarded, seconds,
};
use http::{Request, Response};
use seawall::{
    Attempt, GaveUp, Http, Sink, Trail, What,
    failover::{Failover, On, Route},
};
use std::{error::Error as _, time::Duration};

fn fails(kind: Kind) -> Fake<u64, ()> {
    fake(move |_, _| failing(kind))
}

#[tokio::test(start_paused = true)]
async fn the_error_is_that_of_the_last_route_and_its_root_that_of_the_first() {
    guarded(async {
        let first = fake(|_, _: u64| {
            let source = std::io::Error::other("reset");
            Now(Err::<(), _>(Error::provider(Kind::Transport).with_provider("x").with_source(source)))
        });
        let service =
            Failover::new(first).name("openai").then(fails(Kind::Server)).then(fails(Kind::Auth)).on_failure();
        let error = ask(&service, 1).await.unwrap_err();
        assert_eq!((error.kind(), error.sends(), error.route()), (Kind::Auth, 3, Some("3")));
        assert_eq!(labels(&error), [(Kind::Transport, "openai"), (Kind::Server, "2")]);
        assert_eq!(error.trail().attempts()[0].provider_name(), Some("x"));
        let root = error.root().unwrap();
        assert_eq!((root.kind(), root.route(), root.sends()), (Kind::Transport, Some("openai"), 1));
        assert_eq!(root.source().unwrap().to_string(), "reset", "with all it knew");
        assert_eq!(error.source().unwrap().to_string(), root.to_string());
        assert_eq!(error.gave_up(), None);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn every_attempt_of_a_route_has_its_name_and_sends_stay_exact() {
    guarded(async {
        let [(a, _), (b, _)] = [seeing(|_| failing(Kind::Server)), seeing(|_| failing(Kind::Overloaded))];
        let service = Failover::new(retrying(a)).name("a").then(retrying(b)).name("b").on_failure().shape(InCall(Bare));
        let error = ask(&service, call(Context::default())).await.unwrap_err();
        let of = |kind, name| vec![(kind, name); 2];
        assert_eq!(labels(&error), [of(Kind::Server, "a"), of(Kind::Overloaded, "b")].concat());
        assert_eq!((error.sends(), error.route()), (5, Some("b")));
        assert_eq!((error.root().unwrap().sends(), error.gave_up()), (2, Some(GaveUp::AttemptsSpent)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_success_tells_what_failed_before_it() {
    guarded(async {
        let fails = |kind| fake(move |_, _: Request<()>| failing::<Response<()>>(kind));
        let well = fake(|_, _: Request<()>| Now(Ok(Response::new(()))));
        let service = Failover::new(fails(Kind::Server))
            .then(fails(Kind::Timeout))
            .then(fails(Kind::Overloaded))
            .then(well.clone())
            .on_failure()
            .shape(Http);
        let answer = ask(&service, Request::new(())).await.unwrap();
        let trail: &Trail = answer.extensions().get().unwrap();
        let told: Vec<_> =
            trail.attempts().iter().map(|attempt: &Attempt| (attempt.kind(), attempt.route().unwrap())).collect();
        assert_eq!(told, [(Kind::Server, "1"), (Kind::Timeout, "2"), (Kind::Overloaded, "3")]);
        assert_eq!((trail.sends(), trail.waited()), (3, seconds(0)));

        let service = Failover::new(well).then(fails(Kind::Server)).shape(Http);
        assert!(ask(&service, Request::new(())).await.unwrap().extensions().get::<Trail>().is_none());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_wait_is_the_earliest_where_every_route_refused_or_named_one() {
    guarded(async {
        type Answers = Vec<Result<(), Error>>;
        let limited = |wait| Err(Error::provider(Kind::RateLimited).with_retry_after(seconds(wait)));
        let cooling = |wait| Err(Error::refusal(Kind::CoolingDown).with_retry_after(seconds(wait)));
        let plain = |kind: Kind| Err(if kind.is_refusal() { Error::refusal(kind) } else { Error::provider(kind) });
        let cases: [(Answers, Option<u64>); 8] = [
            (vec![limited(20), limited(30)], Some(20)),
            (vec![limited(30), limited(20)], Some(20)),
            (vec![limited(30), cooling(4), limited(20)], Some(4)),
            (vec![plain(Kind::LocalLimit), limited(20)], Some(20)),
            (vec![limited(20), plain(Kind::CircuitOpen)], Some(20)),
            (vec![plain(Kind::Server), limited(20)], Some(20)),
            (vec![limited(5), plain(Kind::Server)], None),
            (vec![limited(5), plain(Kind::Credit)], None),
        ];
        for (answers, expected) in cases {
            let said = format!("{answers:?}");
            let routes = answers.into_iter().map(|answer| {
                let answer = Mutex::new(Some(answer));
                Route::new(fake(move |_, _: u64| Now(answer.lock().unwrap().take().unwrap())))
            });
            let service = Failover::list(routes.collect()).unwrap().on_429().on_failure();
            assert_eq!(ask(&service, 1).await.unwrap_err().retry_after(), expected.map(seconds), "{said}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_route_that_knows_no_wait_leaves_the_word_to_the_last() {
    guarded(async {
        let service = Failover::new(fails(Kind::Server)).then(fake(|_, _: u64| limited(seconds(20)))).on_failure();
        assert_eq!(ask(&service, 1).await.unwrap_err().retry_after(), Some(seconds(20)));
        let limits = |wait| fake(move |_, _: u64| limited::<()>(seconds(wait)));
        let service = Failover::new(limits(5)).then(fails(Kind::Server)).then(limits(20)).on_429().on_failure();
        assert_eq!(ask(&service, 1).await.unwrap_err().retry_after(), Some(seconds(20)), "the second may be asked now");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn waits_are_counted_from_when_they_were_named() {
    guarded(async {
        let slow = fake(|_, _: u64| {
            After(seconds(3), Err::<(), _>(Error::provider(Kind::RateLimited).with_retry_after(seconds(10))))
        });
        let service = Failover::new(fake(|_, _: u64| limited(seconds(4)))).then(slow).on_429();
        assert_eq!(ask(&service, 1).await.unwrap_err().retry_after(), Some(seconds(1)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn routes_that_were_closed_and_not_asked_count_as_refusing() {
    guarded(async {
        let gates = [Gate::new(), Gate::new(), Gate::new()];
        gates[0].cool_down(seconds(9));
        let limits = fake(|_, _: u64| limited::<()>(seconds(30)));
        let service = Failover::new(limits.clone()).gate(&gates[0]).then(limits.clone()).gate(&gates[1]);
        let error = ask(&service, 1).await.unwrap_err();
        assert_eq!((error.route(), error.retry_after()), (Some("2"), Some(seconds(9))), "failover on 429 is off");

        let service = service.then(limits.clone()).gate(&gates[2]);
        assert_eq!(
            ask(&service, 1).await.unwrap_err().retry_after(),
            Some(seconds(30)),
            "the third might have answered"
        );

        gates[1].cool_down(seconds(20));
        gates[2].cool_down(seconds(12));
        let own = fake(|_, _: u64| {
            After(seconds(9), Err::<(), _>(Error::provider(Kind::RateLimited).with_retry_after(seconds(60))))
        });
        let service =
            Failover::new(own).gate(&gates[0]).then(limits.clone()).gate(&gates[1]).then(limits).gate(&gates[2]);
        let error = ask(&service.on_429(), 1).await.unwrap_err();
        assert_eq!(
            (error.route(), error.retry_after()),
            (Some("1"), Some(seconds(3))),
            "asked as the last; the third is next"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_switch_is_told_with_the_name_of_the_route_that_is_left() {
    guarded(async {
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = told.clone();
        let sink = Sink::new(move |event| {
            if let What::Switched { error } = event.what {
                log.lock().unwrap().push((
                    event.route.map(str::to_owned),
                    error.kind(),
                    error.route().map(str::to_owned),
                ));
            }
        });
        let service = Failover::new(fails(Kind::Server)).name("a").then(fails(Kind::Timeout)).then(fails(Kind::Server));
        ask(&service.on_failure().sink(sink), 1).await.unwrap_err();
        let of = |name: &str, kind| (Some(name.to_owned()), kind, Some(name.to_owned()));
        assert_eq!(*told.lock().unwrap(), [of("a", Kind::Server), of("2", Kind::Timeout)]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn routes_inside_routes_keep_the_names_they_know_best() {
    guarded(async {
        let inner = Failover::new(fails(Kind::Server)).name("eu").then(fails(Kind::Timeout)).name("us").on_failure();
        let service = Failover::new(inner).name("openai").then(fails(Kind::Auth)).name("anthropic").on([On::Timeout]);
        let error = ask(&service, 1).await.unwrap_err();
        assert_eq!(labels(&error), [(Kind::Server, "eu"), (Kind::Timeout, "us")]);
        assert_eq!((error.route(), error.sends(), error.root().unwrap().kind()), (Some("anthropic"), 3, Kind::Timeout));
        assert_eq!(error.root().unwrap().root().unwrap().route(), Some("eu"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn nested_failovers_share_one_count_of_sends() {
    guarded(async {
        let fails = || seeing(|_| failing(Kind::Server));
        let [(a, in_a), (b, in_b), (c, in_c), (d, _)] = [fails(), fails(), fails(), fails()];
        let inner = Failover::new(a).then(b).on_failure().shape(InCall(Bare));
        let service = Failover::new(inner).then(c).then(d.clone()).on_failure().shape(InCall(Bare));
        let error = ask(&service, call(Context::default().with_sends_left(3))).await.unwrap_err();
        let saw = [&in_a, &in_b, &in_c].map(|seen| seen.lock().unwrap().first().map(|at| (at.sends_left, at.others)));
        assert_eq!(saw, [Some((3, true)), Some((2, true)), Some((1, true))]);
        assert_eq!((error.sends(), d.sends(), error.gave_up()), (3, 0, Some(GaveUp::SendsSpent)));
        assert_eq!(Duration::ZERO, error.trail().waited());
    })
    .await;
}
