//! The extra load of many calls together.
use super::*;
use seawall::retry::Budget;

/// What became of calls that come at `rate` a second for so many seconds, while the model fails: sends of each.
async fn outage(layer: &RetryLayer, rate: u64, time: u64, answer: fn() -> Answer<u32>) -> (u64, u64) {
    let (model, _) = always(answer);
    let service = layer.clone().layer(model.clone());
    let mut calls = Vec::new();
    for _ in 0..rate * time {
        let service = service.clone();
        calls.push(tokio::spawn(async move { ask(&service, 1).await }));
        tokio::time::sleep(Duration::from_micros(1_000_000 / rate)).await;
    }
    for call in calls {
        call.await.unwrap().unwrap_err();
    }
    (rate * time, model.sends().into())
}

#[tokio::test(start_paused = true)]
async fn a_minute_of_failure_costs_a_tenth_more_and_the_reserve() {
    guarded(async {
        let (calls, sends) = outage(&RetryLayer::new(), 20, 60, || failing(Kind::Server)).await;
        let (extra, share) = (sends - calls, calls / 10);
        assert!((share..=share + 10 + 61).contains(&extra), "{extra} retries for {calls} calls");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_healthy_hour_long_ago_pays_for_no_storm() {
    guarded(async {
        let layer = RetryLayer::new();
        let healthy = layer.clone().layer(fails(0, Kind::Server));
        for _ in 0..10_000 {
            ask(&healthy, 1).await.unwrap();
        }
        tokio::time::sleep(seconds(120)).await;
        let (calls, sends) = outage(&layer, 20, 10, || failing(Kind::Server)).await;
        assert!(sends - calls <= calls / 10 + 10 + 11, "{sends} sends for {calls} calls");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_spent_budget_ends_the_call_at_once_and_says_so() {
    guarded(async {
        let layer = RetryLayer::new().budget(&Budget::with_reserve(0.0, 1, 0).unwrap()).schedule(every_second);
        let (model, _) = always(|| failing(Kind::Server));
        let (result, waited) = timed(ask(&layer.layer(model.clone()), 1)).await;
        let error = result.unwrap_err();
        assert_eq!((error.gave_up(), model.sends(), waited), (Some(GaveUp::BudgetSpent), 2, seconds(1)));
        let (result, waited) = timed(ask(&layer.clone().layer(model.clone()), 1)).await;
        assert_eq!(
            (result.unwrap_err().gave_up(), waited),
            (Some(GaveUp::BudgetSpent), Duration::ZERO),
            "clones share"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_waited_what_it_was_told_draws_nothing() {
    guarded(async {
        let layer = RetryLayer::new().budget(&Budget::with_reserve(0.0, 0, 0).unwrap());
        let (calls, sends) = outage(&layer, 10, 10, || limited(seconds(1))).await;
        assert_eq!(sends, 3 * calls);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn layers_share_a_budget_that_was_handed_to_both() {
    guarded(async {
        let budget = Budget::with_reserve(0.0, 2, 0).unwrap();
        let layer = || RetryLayer::new().budget(&budget);
        let reason = |layer: RetryLayer| async move {
            ask(&layer.layer(fails(9, Kind::Server)), 1).await.unwrap_err().gave_up()
        };
        assert_eq!(reason(layer()).await, Some(GaveUp::AttemptsSpent));
        assert_eq!(reason(layer()).await, Some(GaveUp::BudgetSpent));
        assert_eq!(reason(RetryLayer::new()).await, Some(GaveUp::AttemptsSpent), "and no other");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn calls_that_were_never_sent_pay_for_no_retry() {
    guarded(async {
        let budget = Budget::with_reserve(1.0, 0, 0).unwrap();
        let refusing = RetryLayer::new()
            .budget(&budget)
            .layer(fake(|_, _: u32| Now::<u32>(Err(Error::refusal(Kind::LocalLimit)))));
        for _ in 0..10 {
            ask(&refusing, 1).await.unwrap_err();
        }
        let model = fails(9, Kind::Server);
        ask(&RetryLayer::new().budget(&budget).layer(model.clone()), 1).await.unwrap_err();
        assert_eq!(model.sends(), 2, "one of its own");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn answers_pay_for_retries_as_failures_do() {
    guarded(async {
        let budget = Budget::with_reserve(0.5, 0, 0).unwrap();
        let layer = RetryLayer::new().budget(&budget);
        let sound = layer.layer(fails(0, Kind::Server));
        for _ in 0..3 {
            ask(&sound, 1).await.unwrap();
        }
        let model = fails(9, Kind::Server);
        assert_eq!(ask(&layer.layer(model.clone()), 1).await.unwrap_err().gave_up(), Some(GaveUp::AttemptsSpent));
        assert_eq!(model.sends(), 3, "four calls pay for two retries");
    })
    .await;
}
