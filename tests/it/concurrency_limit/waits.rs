//! How long a call waits, and what it holds meanwhile.
use super::*;
use seawall::{GaveUp, retry::RetryLayer, timeout::DeadlineLayer};

fn call(context: Context) -> Call<u32> {
    Call { context, request: 0 }
}

/// A limit of one that a call of ten seconds has filled.
async fn full()
-> (impl Service<Call<u32>, Response = u32, Error = Error, Future: Send> + Clone + Send, Fake<Call<u32>, u32>) {
    let model = calls();
    let service = in_call(1).layer(model.clone());
    tokio::spawn(service.clone().oneshot(Call { context: Context::default(), request: 10 }));
    yield_now().await;
    assert_eq!(model.live(), 1);
    (service, model)
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_at_the_deadline_with_nothing_sent() {
    guarded(async {
        let (service, model) = full().await;
        let (result, took) = timed(ask(&service, call(Context::default().with_timeout(seconds(3))))).await;
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.scope(), took), (Kind::Deadline, Some(Scope::Concurrency), seconds(3)));
        assert_eq!((error.sends(), error.is_retryable(), model.sends()), (0, false, 1));
        assert_eq!(error.to_string(), "deadline passed (concurrency), nothing sent");
        let (answer, took) = timed(ask(&service, call(Context::default().with_timeout(seconds(8))))).await;
        assert_eq!((answer.unwrap(), took), (0, seconds(7)), "in time");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn while_others_are_open_a_call_waits_at_most_as_long_as_it_says_and_goes_on() {
    guarded(async {
        let (service, model) = full().await;
        let beside = |wait| Context::default().with_others(true).with_wait_at_most(seconds(wait));
        for (context, wait) in [(beside(0), 0), (beside(2), 2), (beside(1).with_timeout(seconds(9)), 1)] {
            let (result, took) = timed(ask(&service, call(context))).await;
            let error = result.unwrap_err();
            assert_eq!((error.kind(), error.scope()), (Kind::LocalLimit, Some(Scope::Concurrency)));
            assert_eq!((error.failover(), error.retry_after()), (seawall::Failover::Always, None));
            assert_eq!((error.is_retryable(), error.sends(), took), (false, 0, seconds(wait)));
        }
        let due = beside(5).with_timeout(seconds(1));
        assert_eq!(ask(&service, call(due)).await.unwrap_err().kind(), Kind::Deadline, "then no other route helps");
        assert_eq!(model.sends(), 1);
        let (answer, took) = timed(ask(&service, call(beside(9)))).await;
        assert_eq!((answer.unwrap(), took), (0, seconds(6)), "long enough");
        let (answer, took) = timed(ask(&service, call(beside(0)))).await;
        assert_eq!((answer.unwrap(), took), (0, Duration::ZERO), "a free permit is no wait");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn alone_and_without_a_deadline_a_call_waits_for_its_turn() {
    guarded(async {
        let (service, _) = full().await;
        let patient = Context::default().with_wait_at_most(seconds(1));
        let (answer, took) = timed(ask(&service, call(patient))).await;
        assert_eq!((answer.unwrap(), took), (0, seconds(10)), "there is nowhere to switch to");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_time_is_over_when_it_comes_is_refused_at_once() {
    guarded(async {
        let (service, model) = full().await;
        let (result, took) = timed(ask(&service, call(Context::default().with_timeout(Duration::ZERO)))).await;
        assert_eq!((result.unwrap_err().kind(), took, model.sends()), (Kind::Deadline, Duration::ZERO, 1));
    })
    .await;
}

/// The task was busy elsewhere: its turn came, and so did its deadline.
#[tokio::test(start_paused = true)]
async fn a_turn_that_comes_after_the_deadline_sends_nothing_and_passes_on() {
    guarded(async {
        let (service, model) = full().await;
        let mut late = pin!(ask(&service, call(Context::default().with_timeout(seconds(11)))));
        assert!(std::future::poll_fn(|cx| Poll::Ready(late.as_mut().poll(cx))).await.is_pending());
        let next = tokio::spawn(timed(service.clone().oneshot(call(Context::default()))));
        sleep(seconds(12)).await;
        assert!(!next.is_finished(), "the turn is the first one's");
        let error = late.await.unwrap_err();
        assert_eq!((error.kind(), error.sends(), model.sends()), (Kind::Deadline, 0, 1));
        assert_eq!(next.await.unwrap().0.unwrap(), 0);
    })
    .await;
}

/// A task that has run for long gets no more answers from tokio's timers, and a deadline further out has ended.
#[tokio::test(start_paused = true)]
async fn a_wait_is_over_by_the_clock_before_its_timer_has_fired() {
    guarded(async {
        let (service, _) = full().await;
        let mut asked = pin!(ask(&service, call(Context::default().with_timeout(seconds(5)))));
        assert!(tokio::time::timeout(seconds(4), asked.as_mut()).await.is_err());
        tokio::time::advance(seconds(1)).await;
        std::future::poll_fn(|cx| {
            while tokio::task::coop::poll_proceed(cx).map(|progress| progress.made_progress()).is_ready() {}
            let Poll::Ready(Err(error)) = asked.as_mut().poll(cx) else { panic!("it is over") };
            assert_eq!(error.kind(), Kind::Deadline);
            Poll::Ready(())
        })
        .await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_outer_deadline_leaves_the_last_word_to_the_limit_that_was_full() {
    guarded(async {
        let (service, _) = full().await;
        let service = DeadlineLayer::new(seconds(3)).unwrap().shape(InCall(Bare)).layer(service);
        let (result, took) = timed(ask(&service, call(Context::default()))).await;
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.scope(), took), (Kind::Deadline, Some(Scope::Concurrency), seconds(3)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_retry_does_not_hammer_a_full_limit_and_holds_no_permit_between_attempts() {
    guarded(async {
        let (service, model) = full().await;
        let retry = RetryLayer::new().shape(InCall(Bare)).layer(service);
        let error = ask(&retry, call(Context::default().with_others(true))).await.unwrap_err();
        assert_eq!((error.kind(), error.gave_up(), model.sends()), (Kind::LocalLimit, None::<GaveUp>, 1));

        let model = fake(|n, _: u32| if n == 0 { failing(Kind::Server) } else { Now(Ok(n)) });
        let service = limit(1).layer(model);
        let retry = RetryLayer::new().schedule(|_| seconds(10)).layer(service.clone());
        let waiting = tokio::spawn(retry.oneshot(0));
        sleep(seconds(5)).await;
        let (answer, took) = timed(ask(&service, 0)).await;
        assert_eq!((answer.unwrap(), took), (1, Duration::ZERO));
        assert_eq!(waiting.await.unwrap().unwrap(), 2);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_keeps_no_readiness_from_others() {
    guarded(async {
        let inner = TowerLimit::new(model(), 2);
        let service = limit(1).layer(inner.clone());
        let held = tokio::spawn(service.clone().oneshot(10));
        yield_now().await;
        let mut idle = service.clone();
        let waiting = tokio::spawn(idle.ready().await.unwrap().call(0));
        yield_now().await;
        let (answer, took) = timed(ask(&inner, 0)).await;
        assert_eq!((answer.unwrap(), took), (0, Duration::ZERO), "neither the waiter nor its idle service holds it");
        held.await.unwrap().unwrap();
        assert_eq!(waiting.await.unwrap().unwrap(), 0);
    })
    .await;
}

/// The permit comes first, and then the readiness, which is waited for no longer than the permit.
#[tokio::test(start_paused = true)]
async fn a_service_that_is_not_ready_in_time_ends_the_wait_too() {
    guarded(async {
        let beside = Context::default().with_others(true).with_wait_at_most(seconds(7));
        let due = Context::default().with_timeout(seconds(9));
        for (context, kind, wait) in [(due, Kind::Deadline, 9), (beside, Kind::LocalLimit, 7)] {
            let inner = TowerLimit::new(model(), 2);
            let service = in_call(1).layer(inner.clone().map_request(|call: Call<u32>| call.request));
            let held = tokio::spawn(service.clone().oneshot(Call { context: Context::default(), request: 5 }));
            yield_now().await;
            let waiting = tokio::spawn(timed(service.clone().oneshot(call(context))));
            yield_now().await;
            // One takes the second permit within, the other the first one when that comes free.
            let busy = [tokio::spawn(inner.clone().oneshot(20)), tokio::spawn(inner.clone().oneshot(20))];
            let (result, took) = waiting.await.unwrap();
            let error = result.unwrap_err();
            assert_eq!((error.kind(), error.sends(), took), (kind, 0, seconds(wait)));
            let (answer, took) = timed(ask(&service, call(Context::default()))).await;
            assert_eq!((answer.unwrap(), took), (0, seconds(20 - wait)), "its permit is back");
            held.await.unwrap().unwrap();
            for busy in busy {
                busy.await.unwrap().unwrap();
            }
        }
    })
    .await;
}
