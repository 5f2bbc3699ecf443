//! The cool-down of an account, and that it leaves the circuit alone.
use super::*;
use seawall::retry::RetryLayer;

/// Case 36, first half, and case 18 of the calls.
#[tokio::test(start_paused = true)]
async fn a_rate_limit_closes_the_route_to_everyone_for_exactly_what_was_told() {
    guarded(async {
        let (sink, told) = events();
        let gate = Gate::new();
        let model = model();
        let service = brittle(&gate).sink(sink).layer(model.clone());
        let _ = tell(&service, Told(Kind::RateLimited, 42)).await;
        assert_eq!(seen(&tell(&service, Fine).await), Some((Kind::CoolingDown, Some(seconds(42)))));
        assert_eq!((gate.circuit(None), gate.opens_in(None)), (CircuitState::Closed, Some(seconds(42))));
        advance(seconds(41)).await;
        assert_eq!(seen(&tell(&service, Fine).await), Some((Kind::CoolingDown, Some(seconds(1)))));
        assert_eq!(model.sends(), 1, "nobody asked meanwhile");
        advance(seconds(1)).await;
        tell(&service, Fine).await.unwrap();
        assert_eq!(take(&told), ["cooling rate_limited 42s"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn without_a_told_wait_the_steps_double_and_a_success_ends_them() {
    guarded(async {
        let service = brittle(&Gate::new()).layer(model());
        let step = async |say, wait: u64| {
            let _ = tell(&service, say).await;
            assert_eq!(seen(&tell(&service, Fine).await), Some((Kind::CoolingDown, Some(seconds(wait)))));
            advance(seconds(wait)).await;
        };
        for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
            step(Fail(Kind::RateLimited), wait).await;
        }
        tell(&service, Fine).await.unwrap();
        step(Told(Kind::RateLimited, 0), 1).await; // zero tells nothing
        let _ = tell(&service, Fail(Kind::InvalidRequest)).await; // says nothing of limits
        step(Fail(Kind::RateLimited), 2).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn who_was_limited_together_is_one_step() {
    guarded(async {
        let gate = Gate::new();
        let limited = fake(|_, _: Say| -> Answer<()> { After(seconds(1), Err(Error::provider(Kind::RateLimited))) });
        let service = brittle(&gate).layer(limited);
        for step in [1, 2, 4] {
            let calls: Vec<_> = (0..20).map(|_| start(&service, Fine)).collect();
            for call in calls {
                assert_eq!(kind(call.await.unwrap()), Kind::RateLimited);
            }
            assert_eq!(gate.cools_for(), Some(seconds(step)));
            advance(seconds(step)).await;
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_told_wait_is_never_shortened() {
    guarded(async {
        let gate = Gate::new();
        let service = brittle(&gate).layer(model());
        let start = |say| start(&service, say);
        let calls = [
            start(ToldAfter(1, Kind::RateLimited, 90)),
            start(ToldAfter(2, Kind::RateLimited, 3)),
            start(FineAfter(3)),
        ];
        for call in calls {
            let _ = call.await.unwrap();
        }
        assert_eq!(gate.cools_for(), Some(seconds(88)), "neither by a shorter one nor by a success");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_names_a_wait_closes_the_account_to_nobody() {
    guarded(async {
        let gate = Gate::new();
        let service = CircuitBreakerLayer::new().gate(&gate).layer(model());
        for kind in [Kind::Overloaded, Kind::Server] {
            let _ = tell(&service, Told(kind, 7)).await;
            tell(&service, Fine).await.unwrap();
        }
        assert_eq!((gate.circuit(None), gate.cools_for()), (CircuitState::Closed, None));
    })
    .await;
}

/// Case 20 of the calls.
#[tokio::test(start_paused = true)]
async fn routes_of_one_account_cool_down_together_and_keep_their_own_circuits() {
    guarded(async {
        let (here, away) = (Gate::new(), Gate::new());
        let there = here.same_quota();
        let model = model();
        let services = [&here, &there, &away].map(|gate| brittle(gate).layer(model.clone()));
        let _ = tell(&services[0], Told(Kind::RateLimited, 2)).await;
        assert_eq!(seen(&tell(&services[1], Fine).await), Some((Kind::CoolingDown, Some(seconds(2)))));
        tell(&services[2], Fine).await.unwrap();
        assert_eq!(model.sends(), 2, "no attempt before the wait is over");
        advance(seconds(2)).await;
        let _ = tell(&services[0], Fail(Kind::Server)).await;
        assert_eq!(kind(tell(&services[0], Fine).await), Kind::CircuitOpen);
        tell(&services[1], Fine).await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_hundred_calls_wait_out_one_rate_limit() {
    guarded(async {
        let limited = fake(|n, _: Say| -> Answer<()> {
            if n == 0 { limited(seconds(5)) } else { Now(Ok(())) }
        });
        let service = RetryLayer::new().seed(1).layer(brittle(&Gate::new()).layer(limited.clone()));
        let calls: Vec<_> = (0..100).map(|_| start(&service, Fine)).collect();
        for call in calls {
            call.await.unwrap().unwrap();
        }
        assert_eq!(limited.sends(), 101, "one was limited, and nobody after it");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_cool_down_asked_for_by_hand_is_kept() {
    guarded(async {
        let gate = Gate::new();
        let service = brittle(&gate).layer(model());
        gate.cool_down(seconds(20));
        assert_eq!(seen(&tell(&service, Fine).await), Some((Kind::CoolingDown, Some(seconds(20)))));
    })
    .await;
}

/// A request that fits no bucket says nothing of the others.
#[tokio::test(start_paused = true)]
async fn a_request_that_no_wait_helps_cools_nobody_down() {
    guarded(async {
        let gate = Gate::new();
        let too_large = || Error::provider(Kind::RateLimited).with_retryable(false);
        let model = fake(move |_, _: u32| Now(Err::<(), _>(too_large())));
        let service = CircuitBreakerLayer::new().gate(&gate).layer(model);
        ask(&service, 1).await.unwrap_err();
        assert_eq!(gate.cools_for(), None);
    })
    .await;
}
