//! People who move the circuit, and who listen to it.
use super::*;
use std::sync::OnceLock;

#[tokio::test(start_paused = true)]
async fn kept_open_it_refuses_and_names_no_wait() {
    guarded(async {
        let gate = Gate::new();
        let service = brittle(&gate).layer(model());
        gate.force_circuit_open();
        for _ in 0..2 {
            let error = tell(&service, Fine).await.unwrap_err();
            assert_eq!((error.kind(), error.retry_after(), error.is_retryable()), (Kind::CircuitOpen, None, false));
            advance(seconds(900)).await;
        }
        gate.release_circuit();
        tell(&service, Fine).await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn kept_closed_it_admits_everybody_and_counts_nothing_but_cools_down() {
    guarded(async {
        let gate = Gate::new();
        let service = brittle(&gate).layer(model());
        let _ = tell(&service, Fail(Kind::Server)).await;
        gate.force_circuit_closed();
        for _ in 0..20 {
            assert_eq!(kind(tell(&service, Fail(Kind::Server)).await), Kind::Server);
        }
        let _ = tell(&service, Told(Kind::RateLimited, 3)).await;
        assert_eq!(kind(tell(&service, Fine).await), Kind::CoolingDown);
        advance(seconds(3)).await;
        gate.release_circuit();
        tell(&service, Fine).await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn with_each_move_of_the_hand_it_starts_anew() {
    guarded(async {
        let gate = Gate::new();
        let layer = CircuitBreakerLayer::new().gate(&gate).seed(1).policy(Window::default().consecutive(2).unwrap());
        let service = layer.layer(model());
        let _ = tell(&service, Fail(Kind::Server)).await;
        gate.release_circuit();
        let _ = tell(&service, Fail(Kind::Server)).await;
        assert_eq!(gate.circuit(None), CircuitState::Closed, "the failure before counts no more");
        let late = start(&service, FailAfter(1));
        tokio::task::yield_now().await;
        gate.force_circuit_closed();
        gate.release_circuit();
        let _ = late.await.unwrap();
        let _ = tell(&service, Fail(Kind::Server)).await;
        assert_eq!(gate.circuit(None), CircuitState::Closed, "nor does what was let through before");
        let _ = tell(&service, Fail(Kind::Server)).await;
        assert_eq!(gate.circuit(None), CircuitState::Open);
        gate.release_circuit();
        assert_eq!(gate.circuit(None), CircuitState::Closed);
        tell(&service, Fine).await.unwrap();
    })
    .await;
}

/// Case 14.
#[tokio::test(start_paused = true)]
async fn a_listener_that_reads_and_moves_the_gate_does_not_block() {
    guarded(async {
        let gate = Gate::new();
        let states = Arc::<Mutex<Vec<CircuitState>>>::default();
        let service = Arc::<OnceLock<CircuitBreaker<Fake<Say, ()>>>>::default();
        let sink = Sink::new({
            let (gate, states, service) = (gate.clone(), Arc::clone(&states), Arc::clone(&service));
            move |event| {
                states.lock().unwrap().push(gate.circuit(None));
                assert_eq!(gate.opens_in(None).is_some(), !matches!(event.what, What::CircuitClosed { .. }));
                // Asks through the very circuit, whose call is dropped at once.
                let mut own = service.get().unwrap().clone();
                drop(tower::Service::call(&mut ready(&mut own), Fine));
                if let What::CircuitClosed { .. } = event.what {
                    gate.force_circuit_open();
                    gate.release_circuit();
                }
            }
        });
        service.set(brittle(&gate).sink(sink).layer(model())).ok().unwrap();
        let service = service.get().unwrap();
        let _ = tell(service, Fail(Kind::Server)).await;
        advance(seconds(5)).await;
        tell(service, Fine).await.unwrap();
        tell(service, Fine).await.unwrap();
        assert_eq!(*states.lock().unwrap(), [CircuitState::Open, CircuitState::HalfOpen, CircuitState::Closed]);
    })
    .await;
}

fn ready<S: tower::Service<Say>>(service: &mut S) -> &mut S {
    let cx = &mut std::task::Context::from_waker(std::task::Waker::noop());
    assert!(service.poll_ready(cx).is_ready());
    service
}

#[tokio::test(start_paused = true)]
async fn changes_are_told_to_who_watches() {
    guarded(async {
        let gate = Gate::new();
        let service = brittle(&gate).layer(model());
        let mut changes = gate.changes();
        let mut changed = |state| {
            assert!(changes.has_changed().unwrap());
            changes.mark_unchanged();
            assert_eq!(gate.circuit(None), state);
        };
        let _ = tell(&service, Fail(Kind::Server)).await;
        changed(CircuitState::Open);
        advance(seconds(5)).await;
        let probe = start(&service, FineAfter(1));
        tokio::task::yield_now().await;
        changed(CircuitState::HalfOpen);
        probe.await.unwrap().unwrap();
        changed(CircuitState::Closed);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_gate_prints_what_it_says() {
    let gate = Gate::new();
    assert_eq!(format!("{gate:?}"), "Gate { forced: None, circuits: {None: Closed}, cools_for: None }");
    gate.open_circuit(Some("large"), seconds(5));
    gate.cool_down(seconds(20));
    let told = "Gate { forced: None, circuits: {None: Closed, Some(\"large\"): Open}, cools_for: Some(20s) }";
    assert_eq!(format!("{gate:?}"), told);
    gate.force_circuit_open();
    let told = "Gate { forced: Some(Open), circuits: {None: Closed}, cools_for: Some(20s) }";
    assert_eq!(format!("{gate:?}"), told);
}
