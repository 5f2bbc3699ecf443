use super::{Log, attempt, millis, routes};
use crate::{ask, fake::*, guarded, seconds};
use seawall::{Bare, Error, KeyBy, Kind, Sink, What, observe::ObserveLayer, retry::RetryLayer};
use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    task::{Context as Cx, Waker},
};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_on_one_route_and_passes_on_the_next_is_one_operation_and_two_attempts() {
    let log = Log::default();
    let bad = fake(|_, _| failing::<u32>(Kind::Server));
    let good = fake(|_, n: u32| Now(Ok(n)));
    let service = ServiceBuilder::new()
        .layer(ObserveLayer::operation().sink(log.sink()))
        .layer(RetryLayer::new())
        .service(routes(&log.sink(), [("a", bad), ("b", good)]));
    guarded(async { assert_eq!(ask(&service, 7).await.unwrap(), 7) }).await;
    assert_eq!(log.take(), ["attempt a None server ?", "attempt b None whole ?", "operation - None whole None ?"]);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_told_of_by_the_route_they_were_sent_to_and_so_are_their_errors() {
    let log = Log::default();
    let fails = || fake(|_, _: u32| failing::<u32>(Kind::Overloaded));
    let service = ServiceBuilder::new()
        .layer(ObserveLayer::operation().sink(log.sink()))
        .layer(RetryLayer::new())
        .service(routes(&log.sink(), [("a", fails()), ("b", fails()), ("c", fails())]));
    guarded(async {
        let error = ask(&service, 7).await.unwrap_err();
        let tried: Vec<_> = error.trail().attempts().iter().map(|attempt| attempt.route().unwrap()).collect();
        assert_eq!((tried, error.route(), error.sends()), (vec!["a", "b"], Some("c"), 3));
    })
    .await;
    let told = ["attempt a", "attempt b", "attempt c", "operation - None overloaded"];
    assert_eq!(told.map(|start| log.count(start)), [1; 4]);
}

#[tokio::test(start_paused = true)]
async fn what_was_refused_below_is_no_attempt() {
    let log = Log::default();
    let service = ServiceBuilder::new()
        .layer(ObserveLayer::operation().sink(log.sink()))
        .layer(attempt("a", &log.sink()))
        .service(service_fn(|_: u32| async { Err::<u32, _>(Error::refusal(Kind::LocalLimit)) }));
    let error = service.oneshot(7).await.unwrap_err();
    assert_eq!((error.route(), error.sends()), (Some("a"), 0));
    assert_eq!(log.take(), ["operation - None local_limit None ?"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_at_any_time_ends_once() {
    for tenths in 0..60 {
        let log = Log::default();
        let model = fake(|nth, n: u32| match nth {
            0 | 1 => After(millis(350), Err(Error::provider(Kind::Server))),
            _ => After(millis(350), Ok(n)),
        });
        let service = ServiceBuilder::new()
            .layer(ObserveLayer::operation().sink(log.sink()))
            .layer(RetryLayer::new().seed(3))
            .layer(attempt("a", &log.sink()))
            .service(model.clone());
        let call = tokio::spawn(service.oneshot(7));
        tokio::time::sleep(millis(100 * tenths)).await;
        call.abort();
        let finished = call.await.is_ok();
        let sent = model.sends() as usize;
        assert_eq!((log.count("attempt"), log.count("operation")), (sent, usize::from(sent > 0)), "{tenths}");
        let last = log.take().pop();
        assert_eq!(last.is_some_and(|last| last.starts_with("operation - None whole")), finished, "{tenths}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_never_polled_is_an_operation_that_was_left_and_no_attempt() {
    let log = Log::default();
    let mut service = ServiceBuilder::new()
        .layer(ObserveLayer::operation().sink(log.sink()))
        .layer(attempt("a", &log.sink()))
        .service(fake(|_, n: u32| Now(Ok(n))));
    drop(service.ready().await.unwrap().call(7));
    assert_eq!(log.take(), ["operation - None left None ?"]);
}

#[tokio::test(start_paused = true)]
async fn times_are_those_of_the_head_and_of_the_end() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let told = times.clone();
    let sink = Sink::new(move |event| match event.what {
        What::OperationEnded { head, took, .. } | What::AttemptEnded { head, took, .. } => {
            told.lock().unwrap().push((head, took));
        }
        _ => {}
    });
    let layer = ObserveLayer::operation().sink(sink);
    ask(&layer.layer(fake(|_, n: u32| After(seconds(3), Ok(n)))), 7).await.unwrap();
    let fails = layer.layer(fake(|_, _: u32| After::<u32>(seconds(2), Err(Error::provider(Kind::Server)))));
    ask(&fails, 7).await.unwrap_err();
    assert_eq!(*times.lock().unwrap(), [(Some(seconds(3)), seconds(3)), (None, seconds(2))]);
}

#[tokio::test(start_paused = true)]
async fn of_ten_thousand_keys_sixty_four_keep_their_names() {
    let log = Log::default();
    let shape = KeyBy::new(Bare, |model: &String| Some(model.as_str()));
    let layer = ObserveLayer::operation().sink(log.sink()).shape(shape);
    let model = || service_fn(|_: String| async { Ok::<_, Error>(()) });
    let services = [layer.layer(model()), layer.clone().layer(model())];
    for n in 0..10_000 {
        ask(&services[n % 2], format!("m{n}")).await.unwrap();
    }
    let mut keys = log.take();
    assert_eq!((keys.len(), keys[0].as_str()), (10_000, r#"operation - Some("m0") whole None ?"#));
    assert_eq!(keys[9_999], r#"operation - Some("other") whole None ?"#);
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 65);
}

#[test]
fn joined_sinks_are_told_one_after_the_other_on_the_route_of_the_first() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = |name: &'static str| {
        let told = told.clone();
        Sink::new(move |event| told.lock().unwrap().push((name, event.route.map(str::to_owned))))
    };
    let both = sink("first").route("a").and(&sink("second").route("b"));
    both.emit(What::CircuitClosed { key: None });
    both.route("c").emit(What::CircuitClosed { key: None });
    let routes = ["a", "a", "c", "c"].map(|route| Some(route.to_owned()));
    let names = ["first", "second", "first", "second"];
    assert_eq!(*told.lock().unwrap(), names.into_iter().zip(routes).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_panics_fails_its_own_call_and_no_other() {
    let (log, calls) = (Log::default(), Arc::new(AtomicU32::new(0)));
    let counted = calls.clone();
    let panics = Sink::new(move |_| assert!(counted.fetch_add(1, Relaxed) > 0, "the listener panics"));
    let sink = seawall::observe::telemetry().and(&panics).and(&log.sink());
    let service = ObserveLayer::operation().sink(sink).layer(fake(|_, n: u32| Now(Ok(n))));
    assert!(tokio::spawn(service.clone().oneshot(7)).await.unwrap_err().is_panic());
    assert_eq!(calls.load(Relaxed), 1, "a call whose listener panicked is not told of again");
    assert_eq!(service.oneshot(7).await.unwrap(), 7);
    assert_eq!(log.take(), ["operation - None whole None ?"]);
}

#[test]
fn a_model_that_panics_is_told_as_left_even_to_a_listener_that_panics_too() {
    let log = Log::default();
    let sink = log.sink().and(&Sink::new(|_| panic!("the listener panics")));
    let layer = ObserveLayer::operation().sink(sink);
    let service = layer.layer(service_fn(|_: u32| async { panic!("the model panics") as Result<u32, Error> }));
    let call = AssertUnwindSafe(|| {
        let _ = pin!(service.oneshot(7)).poll(&mut Cx::from_waker(Waker::noop()));
    });
    assert_eq!(*catch_unwind(call).unwrap_err().downcast::<&str>().unwrap(), "the model panics");
    assert_eq!(log.take(), ["operation - None left None ?"]);
}

#[tokio::test(start_paused = true)]
async fn without_anybody_who_listens_calls_go_the_same_way() {
    let model = || fake(|nth, n: u32| if nth == 0 { failing(Kind::Server) } else { Now(Ok(n)) });
    for sink in [None, Some(seawall::observe::telemetry())] {
        let (mut operation, mut one) = (ObserveLayer::operation(), ObserveLayer::attempt());
        if let Some(sink) = sink {
            (operation, one) = (operation.sink(sink.clone()), one.sink(sink));
        }
        let stack = ServiceBuilder::new().layer(operation).layer(RetryLayer::new()).layer(one).service(model());
        guarded(async { assert_eq!(ask(&stack, 7).await.unwrap(), 7) }).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_future_that_is_kept_after_its_end_holds_nothing_and_tells_nothing_more() {
    let log = Log::default();
    let model = fake(|_, n: u32| Now(Ok(n)));
    let mut service = ObserveLayer::operation().sink(log.sink()).layer(model.clone());
    let mut call = pin!(service.ready().await.unwrap().call(7));
    assert_eq!(call.as_mut().await.unwrap(), 7);
    assert_eq!((model.live(), log.count("operation")), (0, 1));
    assert!(call.as_mut().poll(&mut Cx::from_waker(Waker::noop())).is_pending());
    assert_eq!(log.count("operation"), 1);
}
