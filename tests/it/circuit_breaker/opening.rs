//! When a circuit opens, for how long, and what it says.
use super::*;
use seawall::Phase;
use tower::{Service, ServiceExt, limit::ConcurrencyLimit};

/// Case 1.
#[tokio::test(start_paused = true)]
async fn after_a_long_healthy_past_half_a_window_of_failures_opens() {
    guarded(async {
        let policy = Window::calls(100).unwrap().consecutive(u32::MAX).unwrap();
        let service = CircuitBreakerLayer::new().policy(policy).layer(model());
        for _ in 0..5000 {
            tell(&service, Fine).await.unwrap();
        }
        for _ in 0..50 {
            assert_eq!(kind(tell(&service, Fail(Kind::Server)).await), Kind::Server);
        }
        assert_eq!(kind(tell(&service, Fine).await), Kind::CircuitOpen);
    })
    .await;
}

/// Cases 2 and 12.
#[tokio::test(start_paused = true)]
async fn it_opens_at_exactly_the_minimum_of_calls_and_is_not_blind_at_first() {
    guarded(async {
        for policy in [Window::default(), Window::calls(100).unwrap(), Window::time(seconds(600)).unwrap()] {
            let policy = policy.consecutive(u32::MAX).unwrap();
            let gate = Gate::new();
            let service = CircuitBreakerLayer::new().gate(&gate).policy(policy).layer(model());
            for _ in 0..3 {
                for n in 1..=10 {
                    assert_eq!(gate.circuit(None), CircuitState::Closed, "before call {n}");
                    assert_eq!(kind(tell(&service, Fail(Kind::Server)).await), Kind::Server);
                }
                assert_eq!(gate.circuit(None), CircuitState::Open);
                advance(seconds(60)).await;
                tell(&service, Fine).await.unwrap();
            }
        }
    })
    .await;
}

/// Case 8. For case 39 of the calls: no layer reads the clock on the wall, as `floors` holds, and tokio's only goes forward.
#[tokio::test(start_paused = true)]
async fn an_hour_later_it_lets_a_probe_through() {
    guarded(async {
        let service = brittle(&Gate::new()).layer(model());
        let _ = tell(&service, Fail(Kind::Server)).await;
        assert_eq!(kind(tell(&service, Fine).await), Kind::CircuitOpen);
        advance(seconds(3600) - seconds(1)).await;
        tell(&service, Fine).await.unwrap();
    })
    .await;
}

/// Case 39 of the calls: a clock that steps back neither forgets failures nor keeps them for longer.
#[test]
fn a_window_counts_on_where_time_steps_back() {
    for mut window in [Window::calls(20).unwrap(), Window::time(seconds(60)).unwrap()] {
        let start = Instant::now() + seconds(7200);
        for n in 0..9 {
            assert_eq!(window.failure(start - seconds(800 * (n % 3)), None), None);
        }
        assert!(window.failure(start - seconds(7200), None).is_some());
    }
    let (mut window, start) = (Window::time(seconds(60)).unwrap().consecutive(u32::MAX).unwrap(), Instant::now());
    for later in [3600, 0, 3600] {
        assert_eq!(window.failure(start + seconds(later), None), None);
    }
    for _ in 0..9 {
        assert_eq!(window.failure(start + seconds(3661), None), None, "what is older than a minute is gone");
    }
}

/// Case 9.
#[tokio::test(start_paused = true)]
async fn a_call_that_its_own_deadline_drops_is_a_failure_and_one_that_its_caller_drops_is_not() {
    guarded(async {
        let layer = CircuitBreakerLayer::new().shape(InCall(Bare));
        let model = fake(|_, _: Call<Say>| Answer::<()>::Never);
        let call = |context| Call { context, request: Silent };
        let (by_deadline, by_caller) =
            (layer.layer(model.clone()), CircuitBreakerLayer::new().shape(InCall(Bare)).layer(model.clone()));
        let deadline = seawall::timeout::DeadlineLayer::new(seconds(5)).unwrap();
        let limited = deadline.shape(InCall(Bare)).layer(by_deadline.clone());
        for _ in 0..10 {
            let call = call(Context::default().with_timeout(seconds(6)));
            assert!(tokio::time::timeout(seconds(5), ask(&by_caller, call)).await.is_err());
        }
        for _ in 0..10 {
            assert_eq!(kind(ask(&limited, call(Context::default())).await), Kind::Timeout);
        }
        let error = ask(&by_deadline, call(Context::default())).await.unwrap_err();
        let root = error.root().unwrap();
        assert_eq!((error.kind(), root.kind(), root.phase()), (Kind::CircuitOpen, Kind::Timeout, Some(Phase::Total)));
        assert!(
            tokio::time::timeout(seconds(1), ask(&by_caller, call(Context::default()))).await.is_err(),
            "still closed"
        );
        assert_eq!((model.sends(), model.live()), (21, 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_ever_polled_was_not_sent_and_is_no_failure() {
    guarded(async {
        let gate = Gate::new();
        let mut service = brittle(&gate).shape(InCall(Bare)).layer(fake(|_, _: Call<Say>| Answer::<()>::Never));
        let context = Context::default().with_timeout(seconds(1));
        let unpolled = service.ready().await.unwrap().call(Call { context, request: Fine });
        advance(seconds(2)).await;
        drop(unpolled);
        assert_eq!(gate.circuit(None), CircuitState::Closed);
    })
    .await;
}

/// Case 10: what was ready while the circuit was open is what is asked when it no longer is.
#[tokio::test(start_paused = true)]
async fn an_instance_made_ready_while_open_is_the_one_that_is_called() {
    guarded(async {
        let model = model();
        let mut service = brittle(&Gate::new()).layer(model.clone());
        let _ = tell(&service, Fail(Kind::Server)).await;
        service.ready().await.unwrap();
        advance(seconds(60)).await;
        service.call(Fine).await.unwrap(); // the model panics where it was not made ready
        assert_eq!(model.sends(), 2);
    })
    .await;
}

/// Case 11.
#[tokio::test(start_paused = true)]
async fn refused_calls_give_back_the_permit() {
    guarded(async {
        let limited = ConcurrencyLimit::new(model(), 1);
        let gate = Gate::new();
        let mut service = brittle(&gate).layer(limited.clone());
        let _ = service.ready().await.unwrap().call(Fail(Kind::Server)).await;
        let refuse: [fn(&Gate); 3] = [|_| {}, |gate| gate.cool_down(seconds(999)), Gate::force_circuit_open];
        for close in refuse {
            close(&gate);
            let refused = service.ready().await.unwrap().call(Fine);
            tell(&limited, Fine).await.unwrap();
            assert!(refused.await.unwrap_err().is_refusal());
            tell(&limited, Fine).await.unwrap();
        }
    })
    .await;
}

/// Case 13.
#[tokio::test(start_paused = true)]
async fn the_refusal_says_for_how_long_and_because_of_what() {
    guarded(async {
        let gate = Gate::new();
        let service = brittle(&gate).layer(fake(|_, _: Say| -> Answer<()> {
            let error = Error::provider(Kind::Server).with_status(502).with_source(std::io::Error::other("secret"));
            Now(Err(error))
        }));
        let _ = tell(&service, Fine).await;
        let error = tell(&service, Fine).await.unwrap_err();
        let left = error.retry_after().unwrap();
        assert!(left >= seconds(5) / 2 && left <= seconds(5), "{left:?}");
        assert_eq!(Some(left), gate.opens_in(None));
        let root = error.root().unwrap();
        assert_eq!((root.kind(), root.status(), error.sends()), (Kind::Server, Some(502), 0));
        assert!(std::error::Error::source(root).is_none() && error.is_retryable());
        advance(left / 2).await;
        assert_eq!(tell(&service, Fine).await.unwrap_err().retry_after(), Some(left - left / 2));
    })
    .await;
}

/// Case 13: what the provider told is the least, above the cap too; told late, it still extends.
#[tokio::test(start_paused = true)]
async fn a_told_wait_extends_the_open_time() {
    guarded(async {
        let gate = Gate::new();
        let service = brittle(&gate).layer(model());
        let late = start(&service, ToldAfter(50, Kind::Overloaded, 300));
        tokio::task::yield_now().await;
        let _ = tell(&service, Told(Kind::Overloaded, 90)).await;
        let (refusal, wait) = seen(&tell(&service, Fine).await).unwrap();
        let wait = wait.unwrap();
        assert_eq!(refusal, Kind::CircuitOpen, "the longer of the two, and it knows why");
        assert!(wait >= seconds(90) && wait <= seconds(93), "{wait:?}");

        let _ = late.await.unwrap();
        assert_eq!(seen(&tell(&service, Fine).await), Some((Kind::CircuitOpen, Some(seconds(300)))));
        assert_eq!(gate.opens_in(None), Some(seconds(300)));
    })
    .await;
}

/// Case 32.
#[tokio::test(start_paused = true)]
async fn open_times_double_until_the_circuit_was_healthy() {
    guarded(async {
        let service = brittle(&Gate::new()).layer(model());
        let open = async |most: u64| {
            let _ = tell(&service, Fail(Kind::Server)).await;
            let wait = tell(&service, Fine).await.unwrap_err().retry_after().unwrap();
            assert!(wait >= seconds(most) / 2 && wait <= seconds(most), "{wait:?} of {most} s");
            advance(wait).await;
        };
        for most in [5, 10, 20, 40, 60, 60] {
            open(most).await; // each time by a failed probe
        }
        for _ in 0..10 {
            tell(&service, Fine).await.unwrap(); // the probe and nine more
        }
        open(60).await;
        for _ in 0..11 {
            tell(&service, Fine).await.unwrap(); // the probe and ten more
        }
        open(5).await;
        open(10).await;
        tell(&service, Fine).await.unwrap();
        advance(seconds(60)).await;
        open(5).await; // closed as long as the cap
    })
    .await;
}

/// Case 33, and every other outcome that says nothing of the provider's health.
#[tokio::test(start_paused = true)]
async fn only_failures_of_the_provider_count() {
    guarded(async {
        for &kind in Kind::ALL {
            let gate = Gate::new();
            let service = brittle(&gate).layer(fake(move |_, _: Say| -> Answer<()> {
                Now(Err(if kind.is_refusal() { Error::refusal(kind) } else { Error::provider(kind) }))
            }));
            for _ in 0..5 {
                let _ = tell(&service, Fine).await;
                advance(seconds(9)).await;
            }
            let against = [Kind::Overloaded, Kind::Server, Kind::Timeout, Kind::Transport].contains(&kind);
            assert_eq!(gate.circuit(None) != CircuitState::Closed, against, "{kind:?}");
        }
        let gate = Gate::new();
        let service =
            brittle(&gate).layer(fake(|_, _: Say| -> Answer<()> { Now(Err(Error::token_server(Kind::RateLimited))) }));
        let _ = tell(&service, Fine).await;
        assert_eq!(gate.opens_in(None), None, "a token server's limit is not the provider's");
    })
    .await;
}

/// Case 4, first half: what was sent before it opened counts for nothing afterwards.
#[tokio::test(start_paused = true)]
async fn late_outcomes_of_a_closed_circuit_neither_close_nor_open_it() {
    guarded(async {
        let (sink, told) = events();
        let gate = Gate::new();
        let service = brittle(&gate).sink(sink).layer(model());
        let start = |say| start(&service, say);
        let late = [start(FineAfter(70)), start(FailAfter(71)), start(FailAfter(90))];
        tokio::task::yield_now().await;
        let _ = tell(&service, Fail(Kind::Server)).await;
        advance(seconds(60)).await;
        let probe = start(FineAfter(20));
        tokio::time::sleep(seconds(15)).await;
        assert_eq!(gate.circuit(None), CircuitState::HalfOpen, "the probe is out, whatever came late");
        probe.await.unwrap().unwrap();
        assert_eq!(gate.circuit(None), CircuitState::Closed);
        for call in late {
            let _ = call.await;
        }
        assert_eq!(gate.circuit(None), CircuitState::Closed);
        assert_eq!(take(&told), ["opened server", "half-opened", "closed"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn slow_answers_open_and_the_refusal_says_so() {
    guarded(async {
        let policy = Window::calls(10).unwrap().min_calls(4).unwrap().slow_calls(seconds(30), 0.5).unwrap();
        let (sink, told) = events();
        let service = CircuitBreakerLayer::new().policy(policy).sink(sink).layer(model());
        for wait in [1, 29, 30, 30] {
            tell(&service, FineAfter(wait)).await.unwrap();
        }
        let error = tell(&service, Fine).await.unwrap_err();
        let root = error.root().unwrap();
        assert_eq!((root.kind(), root.code()), (Kind::Timeout, Some("slow_call")));
        advance(seconds(5)).await;
        tell(&service, FineAfter(31)).await.unwrap();
        assert_eq!(kind(tell(&service, Fine).await), Kind::CircuitOpen, "a slow probe");
        advance(seconds(10)).await;
        tell(&service, FineAfter(2)).await.unwrap();
        tell(&service, Fine).await.unwrap();
        assert_eq!(take(&told), ["opened timeout", "half-opened", "opened timeout", "half-opened", "closed"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn services_of_one_layer_share_their_circuit() {
    guarded(async {
        let layer = brittle(&Gate::new());
        let (one, other) = (layer.layer(model()), layer.clone().layer(model()));
        let _ = tell(&one, Fail(Kind::Server)).await;
        assert_eq!(kind(tell(&other, Fine).await), Kind::CircuitOpen);
    })
    .await;
}

#[test]
fn what_cannot_take_effect_cannot_be_set() {
    let layer = CircuitBreakerLayer::new;
    let second = seconds(1);
    for (setting, invalid) in [
        ("probes", layer().probes(0)),
        ("keys", layer().keys(0)),
        ("open_for", layer().open_for(Duration::ZERO, second)),
        ("open_for", layer().open_for(second, second / 2)),
    ] {
        let invalid = invalid.unwrap_err();
        assert!(invalid.setting() == setting && invalid.to_string().contains("; set"), "{invalid}");
    }
}
