use super::*;
use crate::{
    ask,
    fake::{After, Now, failing},
    guarded, seconds,
};
use seawall::{
    Sink,
    failover::{Failover, Route},
};
use std::time::Duration;
use tokio::{task::yield_now, time::Instant};
use tower::{ServiceExt as _, limit::ConcurrencyLimit};

#[tokio::test(start_paused = true)]
async fn a_call_dropped_at_any_time_leaves_nothing_behind() {
    guarded(async {
        for tenths in 0..60 {
            let slow =
                || fake(|_, _: u64| After(Duration::from_millis(1050), Err::<(), _>(Error::provider(Kind::Server))));
            let models = [slow(), slow(), slow()];
            let limits = models.each_ref().map(|model| ConcurrencyLimit::new(model.clone(), 1));
            let held = limits[1].clone().ready_oneshot().await.unwrap(); // passed by after a second
            let routes = limits.iter().map(|limit| Route::new(limit.clone()));
            let service = Failover::list(routes.collect()).unwrap().on_failure();
            let call = tokio::spawn(service.clone().oneshot(1));
            tokio::time::sleep(Duration::from_millis(tenths * 100)).await;
            call.abort();
            let _ = call.await;
            drop(held);
            assert_eq!(models.each_ref().map(|model| model.live()), [0; 3], "after {tenths} tenths of a second");
            let asked = models.each_ref().map(|model| model.sends());
            for limit in limits {
                drop(limit.ready_oneshot().await.unwrap());
            }
            yield_now().await;
            assert_eq!(asked, models.each_ref().map(|model| model.sends()), "nobody goes on");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_the_last_route_held_goes_with_the_answer_and_not_with_the_future() {
    guarded(async {
        let model = fake(|_, _: u64| failing::<()>(Kind::Auth));
        let limit = ConcurrencyLimit::new(model.clone(), 1);
        let mut future = Box::pin(Failover::new(limit.clone()).then(limit.clone()).oneshot(1));
        (&mut future).await.unwrap_err();
        drop(limit.ready_oneshot().await.unwrap());
        drop(future);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_a_route_or_a_map_reaches_the_caller_and_harms_no_other_call() {
    guarded(async {
        let model = fake(|n, _: u64| if n == 0 { panic!("in the route") } else { Now(Ok(n)) });
        let second = fake(|_, _: u64| Now(Ok(0)));
        let limit = ConcurrencyLimit::new(model.clone(), 1);
        let service = Failover::new(limit.clone()).then(second.clone()).on_failure();
        let panicked = tokio::spawn(service.clone().oneshot(1)).await.unwrap_err();
        assert!(panicked.is_panic());
        assert_eq!((ask(&service, 1).await.unwrap(), second.sends()), (1, 0), "it is not taken for a failure");

        let service = Failover::new(limit.clone())
            .map(|n: u64| if n == 7 { panic!("in the map") } else { n })
            .then(second.clone());
        assert!(tokio::spawn(service.clone().oneshot(7)).await.unwrap_err().is_panic());
        assert_eq!((ask(&service, 8).await.unwrap(), model.live()), (2, 0));
        drop(limit.ready_oneshot().await.unwrap());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_listener_may_ask_the_failover_itself() {
    guarded(async {
        type Own = Failover<seawall::failover::List<Fake<u64, u64>>>;
        let own: Arc<Mutex<Option<Own>>> = Arc::default();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let sink = Sink::new({
            let (own, asked) = (own.clone(), asked.clone());
            move |_| {
                let service = own.lock().unwrap().clone().unwrap();
                let n = asked.lock().unwrap().len() as u64;
                if n < 3 {
                    asked.lock().unwrap().push(n);
                    let mut nested = Box::pin(service.oneshot(n));
                    let cx = &mut Cx::from_waker(std::task::Waker::noop());
                    assert!(nested.as_mut().poll(cx).is_ready());
                }
            }
        });
        let fails = fake(|_, _: u64| failing(Kind::Server));
        let routes = vec![Route::new(fails.clone()), Route::new(fake(|_, n: u64| Now(Ok(n))))];
        let service = Failover::list(routes).unwrap().on_failure().sink(sink);
        *own.lock().unwrap() = Some(service.clone());
        assert_eq!(ask(&service, 9).await.unwrap(), 9);
        assert_eq!((asked.lock().unwrap().len(), fails.sends()), (3, 4));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn waits_without_an_end_are_no_trouble() {
    guarded(async {
        let gate = Gate::new();
        gate.cool_down(Duration::MAX);
        let limits =
            fake(|_, _: u64| Now(Err::<(), _>(Error::provider(Kind::RateLimited).with_retry_after(Duration::MAX))));
        let service =
            Failover::new(limits.clone()).gate(&gate).then(limits).on_429().ready_within(Duration::MAX).unwrap();
        let error = ask(&service, 1).await.unwrap_err();
        assert_eq!((error.kind(), error.sends()), (Kind::RateLimited, 2));
        assert!(error.retry_after().unwrap() > seconds(86_400));
        let far = Instant::now() + seconds(86_400 * 365);
        let (model, _) = seeing(|_| Now(Ok(1)));
        let service = Failover::new(model).ready_within(Duration::MAX).unwrap().shape(InCall(Bare));
        ask(&service, call(Context::default().with_deadline(far))).await.unwrap();
    })
    .await;
}
