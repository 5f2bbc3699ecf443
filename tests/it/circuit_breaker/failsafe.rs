//! Policies of the `failsafe` crate.
use super::*;
use ::failsafe::{backoff, failure_policy};
use seawall::circuit_breaker::FailsafePolicy;

#[tokio::test(start_paused = true)]
async fn its_policies_open_a_circuit_for_as_long_as_they_say() {
    guarded(async {
        let waits = || backoff::exponential(seconds(100), seconds(1000));
        let policy = FailsafePolicy::new(move || failure_policy::consecutive_failures(3, waits()));
        let service = CircuitBreakerLayer::new().policy(policy).layer(model());
        for _ in 0..2 {
            for _ in 0..3 {
                assert_eq!(kind(tell(&service, Fail(Kind::Server)).await), Kind::Server);
            }
            assert_eq!(seen(&tell(&service, Fine).await), Some((Kind::CircuitOpen, Some(seconds(100)))));
            advance(seconds(100)).await;
            let _ = tell(&service, Fail(Kind::Server)).await;
            let again = tell(&service, Fine).await.unwrap_err().retry_after().unwrap();
            assert!(again > seconds(100), "its own backoff: {again:?}");
            advance(again).await;
            tell(&service, Fine).await.unwrap(); // revived: it starts anew
        }
    })
    .await;
}
