//! Probes: how many, how they end, and that they are always given back.
use super::*;
use std::{
    future::Future,
    pin::pin,
    task::{Context as Cx, Waker},
};
use tokio::task::yield_now;

async fn opened(layer: CircuitBreakerLayer, model: &Fake<Say, ()>) -> CircuitBreaker<Fake<Say, ()>> {
    let service = layer.layer(model.clone());
    let _ = tell(&service, Fail(Kind::Server)).await;
    advance(seconds(5)).await;
    service
}

/// Case 6, and case 38 of the calls.
#[tokio::test(start_paused = true)]
async fn of_many_callers_exactly_as_many_as_there_are_probes_get_through() {
    guarded(async {
        for probes in [1, 3] {
            let model = model();
            let service = opened(brittle(&Gate::new()).probes(probes).unwrap(), &model).await;
            let calls: Vec<_> = (0..50).map(|_| start(&service, FineAfter(2))).collect();
            tokio::time::sleep(seconds(1)).await;
            assert_eq!(model.sends() - 1, u32::from(probes));
            let (mut through, mut refused) = (0, 0);
            for call in calls {
                match call.await.unwrap() {
                    Ok(()) => through += 1,
                    Err(error) => {
                        assert_eq!((error.kind(), error.retry_after()), (Kind::CircuitOpen, Some(seconds(1))));
                        assert_eq!(error.root().map(Error::kind), Some(Kind::Server));
                        refused += 1;
                    }
                }
            }
            assert_eq!((through, refused), (probes, 50 - probes));
            tell(&service, Fine).await.unwrap();
        }
    })
    .await;
}

/// Case 6, on threads that share a clock that stands still: a probe's lease is not over before all have asked.
#[tokio::test(start_paused = true)]
async fn ten_threads_at_the_moment_of_half_open_let_exactly_so_many_through() {
    for probes in [1, 3] {
        for _ in 0..50 {
            let model = model();
            let service = opened(brittle(&Gate::new()).probes(probes).unwrap(), &model).await;
            let (clock, gathered) = (tokio::runtime::Handle::current(), std::sync::Barrier::new(10));
            let ask = |service: CircuitBreaker<_>| {
                let _entered = clock.enter();
                gathered.wait();
                let mut call = pin!(tell(&service, Silent));
                let _ = call.as_mut().poll(&mut Cx::from_waker(Waker::noop()));
                gathered.wait(); // who got through holds on until all have asked
            };
            std::thread::scope(|scope| {
                for _ in 0..10 {
                    let (ask, service) = (&ask, service.clone());
                    scope.spawn(move || ask(service));
                }
            });
            assert_eq!((model.sends() - 1, model.live()), (u32::from(probes), 0));
        }
    }
}

/// Case 4, second half: a failed probe opens with a fresh timer, and all of several must pass.
#[tokio::test(start_paused = true)]
async fn every_probe_must_pass_and_one_that_fails_opens_again() {
    guarded(async {
        let gate = Gate::new();
        let model = model();
        let service = opened(brittle(&gate).probes(3).unwrap(), &model).await;
        for _ in 0..2 {
            tell(&service, Fine).await.unwrap();
            assert_eq!((gate.circuit(None), gate.opens_in(None)), (CircuitState::HalfOpen, None));
        }
        assert_eq!(kind(tell(&service, Fail(Kind::Timeout)).await), Kind::Timeout);
        let error = tell(&service, Fine).await.unwrap_err();
        let wait = error.retry_after().unwrap();
        assert!(wait >= seconds(5) && wait <= seconds(10), "{wait:?}");
        assert_eq!((error.root().map(Error::kind), gate.circuit(None)), (Some(Kind::Timeout), CircuitState::Open));
        advance(wait).await;
        for _ in 0..3 {
            assert_eq!(gate.circuit(None), CircuitState::HalfOpen);
            tell(&service, Fine).await.unwrap();
        }
        assert_eq!(gate.circuit(None), CircuitState::Closed);
    })
    .await;
}

/// Case 7, and case 36 of the calls.
#[tokio::test(start_paused = true)]
async fn a_probe_that_says_nothing_makes_way_for_the_next() {
    guarded(async {
        for &neutral in Kind::ALL {
            if [Kind::Overloaded, Kind::Server, Kind::Timeout, Kind::Transport].contains(&neutral) {
                continue;
            }
            let gate = Gate::new();
            let model = model();
            let service = opened(brittle(&gate), &model).await;
            for _ in 0..3 {
                assert_eq!(kind(tell(&service, Fail(neutral)).await), neutral);
                assert_eq!(gate.circuit(None), CircuitState::HalfOpen, "{neutral:?}");
                advance(gate.cools_for().unwrap_or_default()).await; // and not until a lease is over
                assert_eq!(gate.opens_in(None), None, "{neutral:?}: a failover may ask");
            }
            tell(&service, Fine).await.unwrap();
            assert_eq!(gate.circuit(None), CircuitState::Closed);
        }
    })
    .await;
}

/// Case 5.
#[tokio::test(start_paused = true)]
async fn a_probe_that_is_dropped_or_panics_is_given_back() {
    guarded(async {
        let gate = Gate::new();
        let model = model();
        let service = opened(brittle(&gate), &model).await;
        for _ in 0..3 {
            let probe = start(&service, Silent);
            yield_now().await;
            assert_eq!(kind(tell(&service, Fine).await), Kind::CircuitOpen);
            assert_eq!(gate.opens_in(None), Some(seconds(1)), "a failover need not ask");
            probe.abort();
            let _ = probe.await;
            assert_eq!((gate.opens_in(None), gate.circuit(None)), (None, CircuitState::HalfOpen));
        }
        assert_eq!(model.live(), 0);
        tell(&service, Fine).await.unwrap();

        let panics = brittle(&gate).layer(fake(|n, _: Say| -> Answer<()> {
            assert_ne!(n, 1, "boom");
            if n == 0 { failing(Kind::Server) } else { Now(Ok(())) }
        }));
        let _ = tell(&panics, Fine).await;
        advance(seconds(60)).await;
        let probe = start(&panics, Fine);
        assert!(probe.await.unwrap_err().is_panic());
        tell(&panics, Fine).await.unwrap();
    })
    .await;
}

/// Case 5: one that never ends holds its place no longer than the circuit was open.
#[tokio::test(start_paused = true)]
async fn a_probe_that_takes_too_long_makes_way_and_still_counts_if_nothing_has_changed() {
    guarded(async {
        for (late, ends) in [(FineAfter(7), CircuitState::Closed), (FailAfter(7), CircuitState::Open)] {
            let gate = Gate::new();
            let model = model();
            let service = opened(brittle(&gate), &model).await;
            let slow = start(&service, late);
            yield_now().await;
            assert_eq!(kind(tell(&service, Fine).await), Kind::CircuitOpen);
            advance(seconds(5)).await;
            let next = start(&service, Silent);
            yield_now().await;
            assert_eq!(model.live(), 2, "another may go");
            assert_eq!(kind(tell(&service, Fine).await), Kind::CircuitOpen);
            let _ = slow.await.unwrap();
            assert_eq!(gate.circuit(None), ends);
            next.abort();
            let _ = next.await;
            assert_eq!(gate.circuit(None), ends);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_retry_outside_waits_for_the_probe_and_is_answered() {
    guarded(async {
        let model = model();
        let service = opened(brittle(&Gate::new()), &model).await;
        let probe = start(&service, FineAfter(3));
        yield_now().await;
        let retrying = seawall::retry::RetryLayer::new().seed(1).layer(service.clone());
        let (result, took) = timed(tell(&retrying, Fine)).await;
        result.unwrap();
        assert!(took >= seconds(3) && took <= seconds(5), "{took:?}");
        probe.await.unwrap().unwrap();
    })
    .await;
}
