//! Circuits that are told apart by a key.
use super::*;
use seawall::KeyBy;

/// A request with the model that it is for.
type Asked = (&'static str, Say);

fn keyed(gate: &Gate, keys: usize) -> CircuitBreaker<Fake<Asked, ()>, KeyBy<Bare, fn(&Asked) -> Option<&str>>> {
    let key: fn(&Asked) -> Option<&str> = |asked| Some(asked.0);
    let model = fake(|_, (_, say): Asked| match say {
        Fail(kind) => failing(kind),
        Told(kind, wait) => Now(Err(Error::provider(kind).with_retry_after(seconds(wait)))),
        _ => Now(Ok(())),
    });
    brittle(gate).keys(keys).unwrap().shape(KeyBy::new(Bare, key)).layer(model)
}

#[tokio::test(start_paused = true)]
async fn a_key_has_a_circuit_of_its_own_and_one_account_for_all() {
    guarded(async {
        let gate = Gate::new();
        let service = keyed(&gate, 64);
        let _ = ask(&service, ("large", Fail(Kind::Server))).await;
        assert_eq!(kind(ask(&service, ("large", Fine)).await), Kind::CircuitOpen);
        ask(&service, ("small", Fine)).await.unwrap();
        assert_eq!(
            (gate.circuit(Some("large")), gate.circuit(Some("small"))),
            (CircuitState::Open, CircuitState::Closed)
        );
        let _ = ask(&service, ("small", Told(Kind::RateLimited, 30))).await;
        assert_eq!(kind(ask(&service, ("tiny", Fine)).await), Kind::CoolingDown);
        advance(seconds(30)).await;
        ask(&service, ("large", Fine)).await.unwrap();
        assert_eq!(gate.circuit(Some("large")), CircuitState::Closed);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn keys_beyond_the_bound_share_a_circuit_until_there_is_room() {
    guarded(async {
        let gate = Gate::new();
        let service = keyed(&gate, 2);
        for model in ["a", "b"] {
            let _ = ask(&service, (model, Fail(Kind::Server))).await;
        }
        ask(&service, ("c", Fine)).await.unwrap();
        let _ = ask(&service, ("c", Fail(Kind::Server))).await;
        assert_eq!(kind(ask(&service, ("d", Fine)).await), Kind::CircuitOpen, "c and d have no room of their own");
        assert_eq!(
            [None, Some("c"), Some("d")].map(|key| gate.circuit(key)),
            [CircuitState::Closed; 3],
            "nor a place in the gate"
        );
        advance(seconds(61)).await; // nothing was heard of a and b for longer than the cap
        ask(&service, ("e", Fine)).await.unwrap();
        assert_eq!(gate.circuit(Some("a")), CircuitState::Closed, "forgotten");
        let _ = ask(&service, ("e", Fail(Kind::Server))).await;
        assert_eq!(gate.circuit(Some("e")), CircuitState::Open);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_circuit_that_counts_failures_is_not_forgotten_for_a_new_key() {
    guarded(async {
        let gate = Gate::new();
        let key: fn(&Asked) -> Option<&str> = |asked| Some(asked.0);
        let policy = Window::default().consecutive(3).unwrap();
        let model = fake(|_, _: Asked| failing::<()>(Kind::Server));
        let service = brittle(&gate).policy(policy).keys(1).unwrap().shape(KeyBy::new(Bare, key)).layer(model);
        for _ in 0..3 {
            let _ = ask(&service, ("a", Fine)).await;
            let _ = ask(&service, ("b", Fine)).await;
        }
        assert_eq!(gate.circuit(Some("a")), CircuitState::Open);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_gate_does_not_stay_closed_by_a_breaker_that_is_gone() {
    guarded(async {
        let gate = Gate::new();
        let service = brittle(&gate).layer(model());
        let _ = tell(&service, Fail(Kind::Server)).await;
        assert_eq!(gate.circuit(None), CircuitState::Open);
        drop(service);
        assert_eq!((gate.circuit(None), gate.opens_in(None)), (CircuitState::Closed, None));
    })
    .await;
}
