//! Delays, ours and those of others.
use super::*;
use backoff::backoff::{Constant, Stop};
use seawall::{
    Rng,
    retry::{Backoff, BackoffSchedule, Schedule, TowerSchedule},
};
use tower::retry::backoff::{ExponentialBackoffMaker, MakeBackoff};

/// tower's jitter drops the share of whole seconds, so this has none.
const BASE: Duration = Duration::from_millis(900);

/// The gaps between the attempts of one call.
async fn gaps<P: Schedule>(layer: &RetryLayer<seawall::Bare, P>) -> Vec<Duration> {
    let (model, asked) = always(|| failing(Kind::Server));
    ask(&layer.layer(model), 1).await.unwrap_err();
    asked.gaps()
}

#[tokio::test(start_paused = true)]
async fn the_first_attempt_waits_for_nothing_and_each_retry_for_its_own_delay() {
    guarded(async {
        let (model, asked) = always(|| failing(Kind::Server));
        let layer = RetryLayer::new().max_retries(3).schedule(|retry: u32| seconds(10 + u64::from(retry)));
        ask(&layer.layer(model), 1).await.unwrap_err();
        assert_eq!(asked.after(), [0, 11, 11 + 12, 11 + 12 + 13].map(seconds));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn two_calls_never_share_jitter_and_a_seed_replays_the_run() {
    guarded(async {
        let run = || async {
            let layer = RetryLayer::new().max_retries(1).seed(7);
            let mut waits = Vec::new();
            for _ in 0..5 {
                waits.extend(gaps(&layer.clone()).await);
            }
            waits
        };
        let (first, second) = (run().await, run().await);
        assert_eq!(first, second);
        let mut apart = first;
        apart.sort();
        apart.dedup();
        assert_eq!(apart.len(), 5);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_jitter_goes_over_the_cap_and_none_is_lost_at_the_cap() {
    guarded(async {
        let layer = RetryLayer::new().max_retries(40).seed(3).schedule(Backoff::new(seconds(1), seconds(2)).unwrap());
        let layer = layer.budget(&seawall::retry::Budget::with_reserve(0.0, 1000, 0).unwrap());
        let waits = gaps(&layer).await;
        assert!(waits.len() == 40 && waits.iter().all(|&wait| wait <= seconds(2)), "{waits:?}");
        let at_the_cap = &waits[2..];
        assert!(at_the_cap.iter().any(|&wait| wait < seconds(1)) && at_the_cap.iter().any(|&wait| wait > seconds(1)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn towers_backoff_plugs_in_and_its_calls_share_no_jitter() {
    guarded(async {
        let maker = ExponentialBackoffMaker::new(BASE, seconds(8), 0.5, Rng::seeded(7)).unwrap();
        let layer = RetryLayer::new().schedule(TowerSchedule::new(move || maker.clone().make_backoff()));
        let (first, second) = (gaps(&layer).await, gaps(&layer).await);
        for waits in [&first, &second] {
            assert!(waits[0] >= BASE && waits[0] <= BASE * 3 / 2, "every call starts anew: {waits:?}");
            assert!(waits[1] >= BASE * 2 && waits[1] <= BASE * 3, "{waits:?}");
        }
        assert_ne!(first, second);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_backoff_crate_plugs_in_and_its_stop_ends_the_call() {
    guarded(async {
        let constant = RetryLayer::new().schedule(BackoffSchedule::new(|| Constant::new(seconds(4))));
        assert_eq!(gaps(&constant).await, [seconds(4); 2]);
        let (model, _) = always(|| failing(Kind::Server));
        let stop = RetryLayer::new().schedule(BackoffSchedule::new(|| Stop {}));
        let error = ask(&stop.layer(model.clone()), 1).await.unwrap_err();
        assert_eq!((model.sends(), error.gave_up()), (1, Some(GaveUp::AttemptsSpent)));
        let exponential = RetryLayer::new().schedule(BackoffSchedule::new(backoff::ExponentialBackoff::default));
        for _ in 0..2 {
            let first = gaps(&exponential).await[0];
            assert!((Duration::from_millis(249)..=Duration::from_millis(751)).contains(&first), "{first:?}");
        }
    })
    .await;
}

/// Waits for nothing until it is reset, and then ever longer.
struct FromReset(u32);

impl backoff::backoff::Backoff for FromReset {
    fn reset(&mut self) {
        self.0 = 1;
    }

    fn next_backoff(&mut self) -> Option<Duration> {
        self.0 *= 2;
        Some(seconds(self.0.into()))
    }
}

#[tokio::test(start_paused = true)]
async fn each_call_resets_a_backoff_of_its_own() {
    guarded(async {
        let layer = RetryLayer::new().schedule(BackoffSchedule::new(|| FromReset(0)));
        for _ in 0..2 {
            assert_eq!(gaps(&layer).await, [2, 4].map(seconds));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_delay_over_the_cap_ends_the_call_and_is_not_shortened() {
    guarded(async {
        let schedule = |retry: u32| seconds(retry.into());
        let (model, _) = always(|| failing(Kind::Server));
        let error = ask(&RetryLayer::new().schedule(schedule).max_wait(seconds(1)).unwrap().layer(model.clone()), 1)
            .await
            .unwrap_err();
        assert_eq!((model.sends(), error.gave_up()), (2, Some(GaveUp::WaitOverCap(seconds(1)))));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn jitter_on_top_of_a_told_wait_stays_below_the_cap_too() {
    guarded(async {
        let tenth = Duration::from_millis(100);
        let layer = RetryLayer::new().max_retries(20).schedule(every_second).max_wait(tenth).unwrap();
        let (model, asked) = always(move || limited(tenth));
        ask(&layer.layer(model), 1).await.unwrap_err();
        let gaps = asked.gaps();
        assert!(gaps.len() == 20 && gaps.iter().all(|gap| (tenth..=tenth * 2).contains(gap)), "{gaps:?}");
    })
    .await;
}

#[test]
fn a_setting_that_makes_no_sense_cannot_be_built() {
    assert!(Backoff::new(Duration::ZERO, seconds(1)).is_err());
    assert!(Backoff::new(seconds(2), seconds(1)).is_err());
    let invalid = RetryLayer::new().max_wait(Duration::ZERO).unwrap_err();
    assert!(invalid.to_string().contains("max_retries(0)"), "{invalid}");
}
