use super::*;
use crate::{
    ask,
    fake::{Now, failing, limited},
    guarded, seconds, timed,
};
use seawall::{
    KeyBy, chat,
    failover::{Failover, Route},
};
use std::time::Duration;
use tower::ServiceExt as _;

#[tokio::test(start_paused = true)]
async fn a_closed_route_is_skipped_unasked_until_its_time_is_over() {
    guarded(async {
        let gate = Gate::new();
        let (first, second) = (named("first"), named("second"));
        let service = Failover::new(first.clone()).gate(&gate).then(second.clone());
        gate.cool_down(seconds(5));
        assert_eq!(ask(&service, 1).await.unwrap(), "second");
        tokio::time::sleep(seconds(5)).await;
        assert_eq!(ask(&service, 1).await.unwrap(), "first", "an elapsed gate counts as ready");
        gate.open_circuit(None, seconds(5));
        assert_eq!(ask(&service, 1).await.unwrap(), "second");
        gate.close_circuit(None);
        assert_eq!(ask(&service, 1).await.unwrap(), "first");
        assert_eq!((first.sends(), second.sends()), (2, 2));
    })
    .await;
}

/// Case calls 35.
#[tokio::test(start_paused = true)]
async fn a_closed_route_gets_none_of_a_hundred_calls_at_once_or_in_a_row() {
    guarded(async {
        let gate = Gate::new();
        let first = fake(|n, _: u64| if n == 0 { limited::<&'static str>(seconds(60)) } else { Now(Ok("first")) });
        let service = Failover::new(gated(first.clone(), &gate)).gate(&gate).then(named("second")).on_429();
        ask(&service, 1).await.unwrap();
        for n in 0..50 {
            assert_eq!(ask(&service, n).await.unwrap(), "second");
            tokio::time::sleep(seconds(1)).await;
        }
        let crowd: Vec<_> = (0..50).map(|n| tokio::spawn(service.clone().oneshot(n))).collect();
        for call in crowd {
            assert_eq!(call.await.unwrap().unwrap(), "second");
        }
        assert_eq!(first.sends(), 1);
        tokio::time::sleep(seconds(10)).await;
        assert_eq!(ask(&service, 1).await.unwrap(), "first");
    })
    .await;
}

/// Case calls 20.
#[tokio::test(start_paused = true)]
async fn routes_of_one_account_wait_together() {
    guarded(async {
        let gate = Gate::new();
        let sibling = gate.same_quota();
        let start = tokio::time::Instant::now();
        let model = || {
            fake(move |_, _: Call<u64>| match start.elapsed() {
                early if early < seconds(2) => limited(seconds(2) - early),
                _ => Now(Ok(7)),
            })
        };
        let (first, second) = (model(), model());
        let service = Failover::new(gated(first.clone(), &gate))
            .gate(&gate)
            .then(gated(second.clone(), &sibling))
            .gate(&sibling)
            .on_429()
            .shape(InCall(Bare));
        let (answer, took) = timed(ask(&retrying(service), call(Context::default()))).await;
        assert_eq!(answer.unwrap(), 7);
        assert!(took >= seconds(2) && took < seconds(3), "{took:?}");
        assert_eq!((first.sends(), second.sends()), (2, 0), "nobody asked before the two seconds were over");
    })
    .await;
}

/// Case calls 28.
#[tokio::test(start_paused = true)]
async fn where_all_cool_down_an_outer_retry_waits_for_the_first() {
    guarded(async {
        for (waits, expected) in [([1, 1], "first"), ([4, 1], "second"), ([1, 4], "first")] {
            let gates = [Gate::new(), Gate::new()];
            gates.iter().zip(waits).for_each(|(gate, wait)| gate.cool_down(seconds(wait)));
            let route = |name, gate| gated(fake(move |_, _: Call<u64>| Now(Ok(name))), gate);
            let service = Failover::new(route("first", &gates[0]))
                .gate(&gates[0])
                .then(route("second", &gates[1]))
                .gate(&gates[1])
                .shape(InCall(Bare));
            let error = ask(&service, call(Context::default())).await.unwrap_err();
            assert_eq!((error.kind(), error.retry_after(), error.sends()), (Kind::CoolingDown, Some(seconds(1)), 0));
            let deadline = Context::default().with_timeout(seconds(5));
            let (answer, took) = timed(ask(&retrying(service), call(deadline))).await;
            assert_eq!(answer.unwrap(), expected);
            assert!(took >= seconds(1) && took < seconds(2), "{took:?}");
        }
    })
    .await;
}

/// All gates closed: the route that opens first is asked, as the last one.
#[tokio::test(start_paused = true)]
async fn where_all_are_closed_a_retry_inside_waits_for_the_first_to_open() {
    guarded(async {
        let gates = [Gate::new(), Gate::new()];
        let (slow, _) = seeing(|n| if n == 0 { limited(seconds(30)) } else { Now(Ok(1)) });
        let (fast, seen) = seeing(|n| if n == 0 { limited(seconds(4)) } else { Now(Ok(2)) });
        let service = Failover::new(retrying(gated(slow.clone(), &gates[0])))
            .gate(&gates[0])
            .then(retrying(gated(fast.clone(), &gates[1])))
            .gate(&gates[1])
            .on_429()
            .shape(InCall(Bare));
        let calls =
            async { tokio::join!(ask(&service, call(Context::default())), ask(&service, call(Context::default()))) };
        let ((first, second), took) = timed(calls).await;
        assert_eq!((first.unwrap(), second.unwrap()), (2, 2));
        assert!(took >= seconds(4) && took < seconds(6), "{took:?}");
        assert_eq!((slow.sends(), fast.sends()), (1, 3));
        assert!(seen.lock().unwrap().iter().all(|context| !context.others), "the last one is alone");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_route_that_opens_first_is_the_last_one_asked() {
    guarded(async {
        let gates = [Gate::new(), Gate::new(), Gate::new()];
        gates.iter().zip([9, 3, 5]).for_each(|(gate, wait)| gate.cool_down(seconds(wait)));
        let models = [(); 3].map(|()| fake(|_, _: u64| failing::<()>(Kind::Server)));
        let routes = gates.iter().zip(&models).map(|(gate, model)| Route::new(gated(model.clone(), gate)).gate(gate));
        let service = Failover::list(routes.collect()).unwrap().on_failure();
        let error = ask(&service, 1).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.route(), error.retry_after()),
            (Kind::CoolingDown, Some("2"), Some(seconds(3)))
        );
        assert!(error.trail().is_empty() && error.root().is_none() && models.iter().all(|model| model.sends() == 0));

        gates[0].force_circuit_closed();
        tokio::time::sleep(seconds(9)).await;
        gates[1].cool_down(seconds(9));
        let error = ask(&service, 1).await.unwrap_err();
        assert_eq!(
            labels(&error),
            [(Kind::Server, "1"), (Kind::Server, "3")],
            "a closed one comes after the open ones"
        );
        assert_eq!((error.kind(), error.route(), error.sends()), (Kind::CoolingDown, Some("2"), 2));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_route_that_a_hand_keeps_closed_is_asked_last_of_all() {
    guarded(async {
        let gates = [Gate::new(), Gate::new()];
        gates[0].force_circuit_open();
        gates[1].cool_down(seconds(3600));
        let (first, second) = (named("first"), named("second"));
        let service = Failover::new(first.clone()).gate(&gates[0]).then(second.clone()).gate(&gates[1]);
        assert_eq!(ask(&service, 1).await.unwrap(), "second");
        gates[1].force_circuit_open();
        assert_eq!(ask(&service, 1).await.unwrap(), "first", "its own layers refuse, and say why");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_gate_is_asked_with_the_key_of_what_the_route_would_be_sent() {
    guarded(async {
        let gate = Gate::new();
        let model = |name| fake(move |_, request: chat::Request| Now(Ok((name, request.model_name().to_owned()))));
        let shape = KeyBy::new(Bare, |request: &chat::Request| Some(request.model_name()));
        let service = Failover::new(model("first")).model("large").gate(&gate).then(model("second")).shape(shape);
        let asked = || async { ask(&service, chat::Request::new("small")).await.unwrap() };
        gate.open_circuit(Some("small"), seconds(9));
        assert_eq!(asked().await, ("first", "large".to_owned()), "this route never asks the small one");
        gate.open_circuit(Some("large"), seconds(9));
        assert_eq!(asked().await, ("second", "small".to_owned()));
        gate.close_circuit(Some("large"));
        assert_eq!(asked().await.0, "first");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn routes_are_told_whether_another_is_open() {
    guarded(async {
        let gates = [Gate::new(), Gate::new(), Gate::new()];
        let fails = || seeing(|_| failing(Kind::Server));
        let [(a, in_a), (b, in_b), (c, in_c)] = [fails(), fails(), fails()];
        let routes = [a, b, c].into_iter().zip(&gates).map(|(model, gate)| Route::new(model).gate(gate));
        let service = Failover::list(routes.collect()).unwrap().on_failure().shape(InCall(Bare));
        let others = || [&in_a, &in_b, &in_c].map(|seen| seen.lock().unwrap().pop().map(|context| context.others));

        ask(&service, call(Context::default())).await.unwrap_err();
        assert_eq!(others(), [Some(true), Some(true), Some(false)]);
        gates[2].cool_down(seconds(9));
        ask(&service, call(Context::default())).await.unwrap_err();
        assert_eq!(others(), [Some(true), Some(false), Some(false)], "what is closed is no way on, but asked at last");
        ask(&service, call(Context::default().with_others(true))).await.unwrap_err();
        assert_eq!(others(), [Some(true); 3], "a failover around this one has an open route");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn sends_are_handed_down_less_what_was_spent() {
    guarded(async {
        let fails = || seeing(|_| failing(Kind::Server));
        let [(a, in_a), (b, in_b)] = [fails(), fails()];
        let service = Failover::new(retrying(a.clone())).then(retrying(b.clone())).on_failure().shape(InCall(Bare));
        let error = ask(&service, call(Context::default())).await.unwrap_err();
        assert_eq!((a.sends(), b.sends(), error.sends()), (2, 3, 5), "one retry beside others, two alone");
        let first = |seen: &Mutex<Vec<Context>>| seen.lock().unwrap().first().map(|context| context.sends_left);
        assert_eq!((first(&in_a), first(&in_b)), (Some(6), Some(4)));
        assert_eq!(labels(&error).len(), 4);

        let error = ask(&service, call(Context::default().with_sends_left(3))).await.unwrap_err();
        assert_eq!((a.sends(), b.sends(), error.sends()), (4, 4, 3));
        let error = ask(&service, call(Context::default().with_sends_left(2))).await.unwrap_err();
        assert_eq!((a.sends(), b.sends(), error.sends()), (6, 4, 2));
        assert_eq!((error.route(), error.gave_up()), (Some("1"), Some(seawall::GaveUp::SendsSpent)));
        let error = ask(&service, call(Context::default().with_sends_left(0))).await.unwrap_err();
        assert_eq!((error.kind(), error.sends(), a.sends()), (Kind::SendsExhausted, 0, 6));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_short_wait_beats_a_switch_where_that_was_asked_for() {
    guarded(async {
        let limited_once = || seeing(|n| if n == 0 { limited(Duration::from_millis(400)) } else { Now(Ok(1)) });
        let (first, seen) = limited_once();
        let (second, _) = seeing(|_| Now(Ok(2)));
        let service = Failover::new(retrying(first)).then(retrying(second.clone())).on_429().shape(InCall(Bare));
        let patient = service.wait_at_most(Duration::from_millis(500));
        assert_eq!(ask(&patient, call(Context::default())).await.unwrap(), 1);
        assert_eq!((second.sends(), seen.lock().unwrap()[0].wait_at_most), (0, Duration::from_millis(500)));

        let (first, seen) = limited_once();
        let service = Failover::new(retrying(first)).then(retrying(second.clone())).on_429().shape(InCall(Bare));
        assert_eq!(ask(&service, call(Context::default())).await.unwrap(), 2);
        ask(&service, call(Context::default().with_wait_at_most(seconds(1)))).await.unwrap();
        let told: Vec<_> = seen.lock().unwrap().iter().map(|context| context.wait_at_most).collect();
        assert_eq!(told, [seconds(0), seconds(1)], "the call's own word stays");
    })
    .await;
}
