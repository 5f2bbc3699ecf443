//! What the limit tells a listener.
use super::{calls, limit, model};
use crate::{ask, guarded, seconds};
use seawall::{Bare, Call, Context, InCall, Sink, What, concurrency_limit::ConcurrencyLimitLayer};
use std::sync::{Arc, Mutex};
use tokio::{task::yield_now, time::sleep};
use tower::{Layer, ServiceExt};

/// What a listener is told, in its order; a wait with its seconds.
fn told(layer: ConcurrencyLimitLayer) -> (ConcurrencyLimitLayer, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let told = lines.clone();
    let sink = Sink::new(move |event| {
        told.lock().unwrap().push(match event.what {
            What::PermitTaken => "taken".to_owned(),
            What::PermitReturned => "returned".to_owned(),
            What::QueueEntered => "entered".to_owned(),
            What::QueueLeft { waited } => format!("left {}", waited.as_secs()),
            _ => unreachable!(),
        });
    });
    (layer.sink(sink), lines)
}

#[tokio::test(start_paused = true)]
async fn a_listener_is_told_of_each_permit_and_each_wait() {
    guarded(async {
        let (layer, lines) = told(limit(1));
        let service = layer.layer(model());
        let take = || std::mem::take(&mut *lines.lock().unwrap());
        ask(&service, 1).await.unwrap();
        assert_eq!(take(), ["taken", "returned"]);

        let (first, second) = (tokio::spawn(service.clone().oneshot(3)), tokio::spawn(service.clone().oneshot(1)));
        let leaves = tokio::spawn(service.clone().oneshot(1));
        sleep(seconds(2)).await;
        leaves.abort();
        first.await.unwrap().unwrap();
        second.await.unwrap().unwrap();
        assert_eq!(take(), ["taken", "entered", "entered", "left 2", "returned", "left 3", "taken", "returned"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_listener_hears_nothing_without_a_limit_nor_of_a_call_that_is_refused_at_once() {
    guarded(async {
        let (layer, lines) = told(ConcurrencyLimitLayer::unlimited());
        ask(&layer.layer(model()), 1).await.unwrap();
        assert_eq!(*lines.lock().unwrap(), [""; 0]);

        let (layer, lines) = told(limit(1));
        let service = layer.shape(InCall(Bare)).layer(calls());
        let held = tokio::spawn(service.clone().oneshot(Call { context: Context::default(), request: 5 }));
        yield_now().await;
        let context = Context::default().with_others(true);
        ask(&service, Call { context, request: 1 }).await.unwrap_err();
        held.await.unwrap().unwrap();
        assert_eq!(*lines.lock().unwrap(), ["taken", "returned"]);
    })
    .await;
}
