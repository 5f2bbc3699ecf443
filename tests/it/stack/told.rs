//! What a stack tells of its routes, and that its settings reach the layers.
use crate::{fake::*, guarded, seconds};
use seawall::{
    CircuitState, Error, Gate, GaveUp, Kind, Outcome, Sink, Stack, What,
    chat::{self, Answer as ChatAnswer, Message, Reply},
    circuit_breaker::Window,
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

/// Every event, as `what route kind`.
fn diary() -> (Sink, impl Fn() -> Vec<String>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = lines.clone();
    let sink = Sink::new(move |event| {
        let (what, error) = match event.what {
            What::Switched { error } => ("switched", Some(error)),
            What::CircuitOpened { error, .. } => ("opened", Some(error)),
            What::CoolingDown { error, .. } => ("cooling", Some(error)),
            What::AttemptEnded { outcome: Some(Outcome::Failed(error)), .. } => ("attempt", Some(error)),
            What::OperationEnded { outcome: Some(Outcome::Failed(error)), .. } => ("operation", Some(error)),
            What::AttemptEnded { .. } => ("attempt", None),
            What::OperationEnded { .. } => ("operation", None),
            What::GaveUp { error, .. } => ("gave up", Some(error)),
            What::Retrying { error, .. } => ("retrying", Some(error)),
            _ => ("other", None),
        };
        let kind = error.map_or("ok", |error| error.kind().as_str());
        log.lock().unwrap().push(format!("{what} {} {kind}", event.route.unwrap_or("-")));
    });
    (sink, move || std::mem::take(&mut *lines.lock().unwrap()))
}

// calls 63
#[tokio::test(start_paused = true)]
async fn each_send_is_told_with_the_route_it_went_to_and_the_call_once() {
    guarded(async {
        let (sink, told) = diary();
        let [first, second] = [Kind::RateLimited, Kind::Server].map(|kind| {
            fake(move |n, _: u64| if kind == Kind::RateLimited || n == 0 { failing(kind) } else { Now(Ok("answered")) })
        });
        let stack = Stack::bare(first).name("eu").then(second).name("us").on_429().sink(sink).build().unwrap();
        assert_eq!(stack.ask(1).await.unwrap(), "answered");
        let expected = [
            "attempt eu rate_limited",
            "cooling eu rate_limited",
            "gave up eu rate_limited",
            "switched eu rate_limited",
            "attempt us server",
            "retrying us server",
            "attempt us ok",
            "operation - ok",
        ];
        assert_eq!(told(), expected);
    })
    .await;
}

#[cfg(feature = "metrics")]
#[tokio::test(start_paused = true)]
async fn meters_count_one_operation_and_each_attempt_under_the_name_of_the_operation() {
    use metrics_util::debugging::{DebugValue, DebuggingRecorder};
    guarded(async {
        let recorder = Box::leak(Box::new(DebuggingRecorder::new()));
        let (snapshots, _installed) = (recorder.snapshotter(), metrics::set_default_local_recorder(recorder));
        let first = fake(|_, _: u64| limited::<&str>(seconds(9)));
        let second = fake(|_, _: u64| Now(Ok("answered")));
        let stack = Stack::bare(first).name("eu").then(second).name("us").on_429().operation_name("embeddings");
        assert_eq!(stack.build().unwrap().ask(1).await.unwrap(), "answered");
        let mut counts = Vec::new();
        for (key, _, _, value) in snapshots.snapshot().into_vec() {
            let labels: Vec<_> = key.key().labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
            match (key.key().name(), value) {
                (name @ ("seawall.operations" | "seawall.attempts"), DebugValue::Counter(count)) => {
                    counts.push(format!("{name} {} {count}", labels.join(",")));
                }
                ("gen_ai.client.operation.duration", _) => counts.push(labels.join(",")),
                _ => {}
            }
        }
        counts.sort_unstable();
        let expected = [
            "gen_ai.operation.name=embeddings",
            "seawall.attempts seawall.route=eu,error.type=rate_limited 1",
            "seawall.attempts seawall.route=us 1",
            "seawall.operations  1",
        ];
        assert_eq!(counts, expected);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_error_names_its_route_also_where_there_is_one() {
    guarded(async {
        let stack = Stack::bare(fake(|_, _: u64| failing::<()>(Kind::Auth))).name("eu").build().unwrap();
        let error = stack.ask(1).await.unwrap_err();
        assert_eq!((error.kind(), error.route()), (Kind::Auth, Some("eu")));
    })
    .await;
}

/// A refusal never reached the innermost layers, which know their route; nor is there an error that failover could name.
#[tokio::test(start_paused = true)]
async fn a_refusal_that_was_waited_out_is_in_the_trail_with_its_route() {
    guarded(async {
        let model = fake(|_, _: chat::Request| Now(Ok(Reply::whole(ChatAnswer::new(Message::assistant("hello"))))));
        let gates = [Gate::new(), Gate::new()];
        let stack = Stack::chat(model.clone()).name("eu").gate(&gates[0]).then(model).name("us").gate(&gates[1]);
        let stack = stack.build().unwrap();
        gates[0].cool_down(seconds(1));
        gates[1].cool_down(seconds(5));
        let reply = stack.ask(chat::Request::new("m").user("hello")).await.unwrap();
        let attempts: Vec<_> = reply.trail().attempts().iter().map(|one| (one.kind(), one.route())).collect();
        assert_eq!(attempts, [(Kind::CoolingDown, Some("eu"))]);

        let lone = Stack::bare(fake(|_, _: u64| Now(Ok(())))).name("eu").gate(&gates[0]).build().unwrap();
        gates[0].cool_down(seconds(600));
        assert_eq!(lone.ask(1).await.unwrap_err().route(), Some("eu"), "also alone");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_circuit_opens_by_the_window_that_was_set_for_the_time_that_was_set_and_a_seed_replays_it() {
    guarded(async {
        let opened = |seed| async move {
            let gate = Gate::new();
            let window = Window::calls(9).unwrap().consecutive(2).unwrap();
            let stack = Stack::bare(fake(|_, _: u64| failing::<()>(Kind::Server))).gate(&gate).max_retries(0);
            let stack = stack.circuit(window).open_for(seconds(20), seconds(20)).seed(seed).build().unwrap();
            stack.ask(1).await.unwrap_err();
            assert_eq!(gate.circuit(None), CircuitState::Closed);
            stack.ask(1).await.unwrap_err();
            assert_eq!(gate.circuit(None), CircuitState::Open);
            gate.opens_in(None).unwrap()
        };
        let wait = opened(1).await;
        assert!((seconds(10)..=seconds(20)).contains(&wait), "{wait:?}");
        assert_eq!((opened(1).await, opened(2).await == wait), (wait, false));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn further_rounds_wait_out_what_refuses_the_last_of_them() {
    guarded(async {
        let model = || fake(|n, _: u64| if n < 2 { limited(seconds(1)) } else { Now(Ok("answered")) });
        let (gate, other) = (Gate::new(), Gate::new());
        let stack = Stack::bare(model()).gate(&gate).then(model()).gate(&other).on_429().max_retries(0).rounds(2);
        let call = tokio::spawn(stack.build().unwrap().ask(1));
        // While the second round is waited for, both accounts are closed for longer.
        tokio::time::sleep(Duration::from_millis(500)).await;
        gate.cool_down(seconds(20));
        other.cool_down(seconds(20));
        let error = call.await.unwrap().map(|_| ()).unwrap_err();
        assert_eq!((error.kind(), error.sends(), error.gave_up()), (Kind::RateLimited, 4, Some(GaveUp::AttemptsSpent)));
    })
    .await;
}

/// What a route gave up for is not told anew by the layer around it, which asks nobody again.
#[tokio::test(start_paused = true)]
async fn the_reason_of_the_last_route_is_the_reason_of_the_call() {
    guarded(async {
        let model = || fake(|_, _: u64| limited::<()>(seconds(3600)));
        let (sink, told) = diary();
        let error: Error =
            Stack::bare(model()).then(model()).on_429().sink(sink).build().unwrap().ask(1).await.unwrap_err();
        assert_eq!(error.gave_up(), Some(GaveUp::WaitOverCap(seconds(60))));
        assert_eq!(told().iter().filter(|line| line.starts_with("gave up")).count(), 2, "one a route");
    })
    .await;
}
