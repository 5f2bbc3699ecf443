//! Circuits, cool-downs and switches: what callers of a stack see of them, and how often providers are asked.
use super::*;
use http_body_util::BodyExt as _;
use seawall::{
    CircuitState, Gate,
    circuit_breaker::{CircuitBreakerLayer, Window},
    concurrency_limit::ConcurrencyLimitLayer,
    failover::{On, Then},
    sim::Answer,
    stack::Several,
};
use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::OnceLock,
    task::{Context as Cx, Waker},
};
use tokio::{
    task::JoinHandle,
    time::{advance, sleep, timeout},
};
use tower::{Service as _, ServiceExt as _};

type Lone = Stack<Paved<Paid, Chat>, Chat>;

fn well() -> InProcess {
    InProcess::new(Script::seeded(1)).unwrap()
}

/// Fails so often, and is well from then on.
fn fails(times: u64, fault: Fault) -> InProcess {
    InProcess::new(Script::seeded(1).fault(When::first(times), fault)).unwrap()
}

fn broken() -> Fault {
    refusal(500, r#"{"type":"server_error"}"#)
}

fn limited(wait: &str) -> Fault {
    Fault::status(429).header("retry-after", wait)
}

/// Two routes, in their order.
fn pair(first: &InProcess, second: &InProcess) -> Builder<Then<One<Paid>, Paid>, Chat> {
    stack(first).name("first").then(over(second.clone())).name("second")
}

type Pair = Stack<Several<Then<One<Paved<Paid, Chat>>, Paved<Paid, Chat>>, Chat>, Chat>;

/// What failed before a reply: kind, status and route.
async fn before(stack: &Pair) -> Vec<(Kind, Option<u16>, String)> {
    let reply = stack.ask(question()).await.unwrap();
    let told =
        |attempt: &seawall::Attempt| (attempt.kind(), attempt.status(), attempt.route().unwrap_or_default().to_owned());
    reply.trail().attempts().iter().map(told).collect()
}

fn start(stack: &Lone) -> JoinHandle<Result<chat::Reply, Error>> {
    tokio::spawn(stack.ask(question()))
}

/// Opens at the first failure; nothing is asked twice, and refusals come at once.
fn brittle(provider: &InProcess, gate: &Gate) -> Builder<One<Paid>, Chat> {
    stack(provider).gate(gate).circuit(Window::default().consecutive(1).unwrap()).max_retries(0)
}

const MODEL: Option<&str> = Some("gpt-4o");

// calls 9
#[tokio::test(start_paused = true)]
async fn a_529_is_asked_once_more_and_then_the_next_route_is() {
    guarded(async {
        let overloaded = || refusal(529, r#"{"type":"overloaded_error","message":"Overloaded"}"#);
        for fault in [overloaded(), Fault::status(529).body("")] {
            let (first, second) = (provider(fault), well());
            let failed = before(&pair(&first, &second).on([On::Overloaded]).build().unwrap()).await;
            assert_eq!(failed, vec![(Kind::Overloaded, Some(529), "first".to_owned()); 2]);
            assert_eq!((first.seen(), second.seen()), (2, 1));
        }

        let told = fails(1, overloaded().header("retry-after", "7"));
        stack(&told).build().unwrap().ask(question()).await.unwrap();
        assert!((seconds(7)..=seconds(8)).contains(&gaps(&told)[0]), "{:?}", gaps(&told));
        let untold = fails(1, overloaded());
        stack(&untold).build().unwrap().ask(question()).await.unwrap();
        assert!(!gaps(&untold)[0].is_zero(), "a backoff of our own");
    })
    .await;
}

// calls 18
#[tokio::test(start_paused = true)]
async fn a_date_closes_the_route_to_the_calls_after_it_too() {
    guarded(async {
        let date = httpdate::fmt_http_date(SystemTime::now() + seconds(60));
        let (first, second) = (fails(1, limited(&date)), well());
        let stack = pair(&first, &second).on_429().build().unwrap();
        assert_eq!(before(&stack).await, [(Kind::RateLimited, Some(429), "first".to_owned())]);
        for _ in 0..5 {
            // The clock on the wall goes on meanwhile, and a date has no fractions.
            advance(seconds(10)).await;
            assert_eq!(before(&stack).await, []);
        }
        assert_eq!((first.seen(), second.seen()), (1, 6));
        advance(seconds(10)).await;
        before(&stack).await;
        assert_eq!((first.seen(), second.seen()), (2, 6), "and is asked again when its time has come");
    })
    .await;
}

// calls 20
#[tokio::test(start_paused = true)]
async fn two_endpoints_of_one_account_are_both_left_alone_for_the_wait_that_either_names() {
    guarded(async {
        for on_429 in [true, false] {
            let (first, second) = (fails(1, limited("2")), fails(1, limited("2")));
            let gate = Gate::new();
            let routes = stack(&first).gate(&gate).then(over(second.clone())).gate(&gate.same_quota());
            let routes = if on_429 { routes.on_429() } else { routes };
            routes.build().unwrap().ask(question()).await.unwrap();
            let mut asked: Vec<_> = [&first, &second].into_iter().flat_map(|provider| provider.log().records).collect();
            asked.sort_by_key(|record| record.at);
            assert_eq!((asked[0].at, asked[0].status), (Duration::ZERO, Some(429)));
            for pair in asked.windows(2).filter(|pair| pair[0].status == Some(429)) {
                assert!(pair[1].at >= pair[0].at + seconds(2), "{asked:?}");
            }
        }
    })
    .await;
}

// calls 27
#[tokio::test(start_paused = true)]
async fn a_silent_route_is_asked_once_and_the_deadline_holds() {
    guarded(async {
        let silent = || provider(Fault::silence(sim::Phase::BeforeHead));
        let build = |first: &InProcess, second: &InProcess| pair(first, second).on([On::Timeout]).deadline(seconds(40));
        let (first, second) = (silent(), well());
        let stack = build(&first, &second).whole(seconds(30)).build().unwrap();
        let (failed, took) = timed(before(&stack)).await;
        assert_eq!(failed, [(Kind::Timeout, None, "first".to_owned())]);
        assert_eq!((took, first.seen(), second.seen()), (seconds(30), 1, 1));

        for limit in [Some(seconds(30)), None] {
            let (first, second) = (silent(), silent());
            let routes = build(&first, &second);
            let routes = limit.into_iter().fold(routes, Builder::whole);
            let (answer, took) = timed(routes.build().unwrap().ask(question())).await;
            assert_eq!((answer.unwrap_err().kind(), took, first.seen()), (Kind::Timeout, seconds(40), 1));
            assert_eq!(second.seen(), u64::from(limit.is_some()), "where there is time left");
            assert_eq!((first.in_flight(), second.in_flight()), (0, 0));
        }
    })
    .await;
}

// calls 28
#[tokio::test(start_paused = true)]
async fn where_every_endpoint_cools_down_the_call_waits_for_the_first_and_is_answered() {
    guarded(async {
        for (waits, answered) in [(["1", "1"], [3, 2]), (["1", "4"], [3, 2]), (["4", "1"], [2, 3])] {
            let (first, second) = (fails(2, limited(waits[0])), fails(2, limited(waits[1])));
            let routes = || pair(&first, &second).on_429().max_retries(0).deadline(seconds(5));
            let (error, took) = timed(routes().build().unwrap().ask(question())).await;
            let error = error.unwrap_err();
            assert_eq!(
                (error.kind(), error.retry_after(), took),
                (Kind::RateLimited, Some(seconds(1)), Duration::ZERO)
            );
            advance(seconds(4)).await;
            let (answer, took) = timed(routes().rounds(2).build().unwrap().ask(question())).await;
            answer.unwrap();
            assert!((seconds(1)..=seconds(2)).contains(&took), "{took:?}");
            assert_eq!([first.seen(), second.seen()], answered);
        }

        let late = fails(1, limited("9"));
        let lone = stack(&late).deadline(seconds(5)).build().unwrap();
        let (error, took) = timed(failed(&lone)).await;
        assert_eq!(
            (error.retry_after(), took),
            (Some(seconds(9)), Duration::ZERO),
            "what does not fit is not waited for"
        );
        let error = failed(&lone).await;
        assert_eq!((error.kind(), error.retry_after(), late.seen()), (Kind::CoolingDown, Some(seconds(9)), 1));
    })
    .await;
}

// calls 35
#[tokio::test(start_paused = true)]
async fn a_circuit_that_tripped_gets_none_of_a_hundred_calls_from_the_next_one_on() {
    guarded(async {
        let (first, second) = (fails(10, broken()), well());
        let gate = Gate::new();
        let routes = stack(&first).gate(&gate).then(over(second.clone())).on_failure().max_retries(0);
        let stack = routes.open_for(seconds(60), seconds(60)).build().unwrap();
        for n in 1..=10 {
            stack.ask(question()).await.unwrap();
            assert_eq!(first.seen(), n);
        }
        let calls: Vec<_> = (0..50).map(|_| tokio::spawn(stack.ask(question()))).collect();
        for call in calls {
            call.await.unwrap().unwrap();
        }
        for _ in 0..50 {
            stack.ask(question()).await.unwrap();
            advance(Duration::from_millis(500)).await;
        }
        assert_eq!((first.seen(), second.seen()), (10, 110));
        advance(gate.opens_in(MODEL).unwrap()).await;
        stack.ask(question()).await.unwrap();
        assert_eq!((first.seen(), second.seen()), (11, 110));
    })
    .await;
}

// calls 36, layers 7, layers 5
#[tokio::test(start_paused = true)]
async fn a_probe_that_is_answered_with_anything_or_left_makes_way_for_the_next_call() {
    guarded(async {
        let neutral = [
            (limited("3"), Kind::RateLimited),
            (Fault::status(401), Kind::Auth),
            (Fault::status(403), Kind::Permission),
            (Fault::status(404), Kind::NotFound),
            (Fault::status(409), Kind::Conflict),
            (Fault::status(413), Kind::PayloadTooLarge),
            (refusal(400, r#"{"type":"invalid_request_error"}"#), Kind::InvalidRequest),
            (refusal(400, r#"{"code":"unsupported_parameter","param":"max_tokens"}"#), Kind::UnsupportedParameter),
            (refusal(400, r#"{"code":"context_length_exceeded"}"#), Kind::ContextLength),
            (refusal(400, r#"{"code":"content_filter"}"#), Kind::ContentFiltered),
            (refusal(429, r#"{"code":"insufficient_quota"}"#), Kind::QuotaExhausted),
            (Fault::silence(sim::Phase::BeforeHead), Kind::Cancelled), // its caller leaves
        ];
        for (fault, kind) in neutral {
            let script = Script::seeded(1).fault(When::nth(1), broken()).fault(When::nth(2), fault);
            let (provider, gate) = (InProcess::new(script).unwrap(), Gate::new());
            let stack = brittle(&provider, &gate).build().unwrap();
            assert_eq!(failed(&stack).await.kind(), Kind::Server);
            assert_eq!(failed(&stack).await.kind(), Kind::CircuitOpen);
            advance(seconds(5)).await;
            match timeout(seconds(1), stack.ask(question())).await {
                Ok(answer) => assert_eq!(answer.unwrap_err().kind(), kind),
                Err(_) => assert_eq!(kind, Kind::Cancelled),
            }
            assert_eq!((gate.circuit(MODEL), provider.seen()), (CircuitState::HalfOpen, 2), "{kind:?}");
            advance(gate.cools_for().unwrap_or_default()).await;
            stack.ask(question()).await.unwrap();
            assert_eq!((gate.circuit(MODEL), provider.in_flight()), (CircuitState::Closed, 0), "{kind:?}");
        }
    })
    .await;
}

// calls 38, layers 6
#[tokio::test(start_paused = true)]
async fn of_fifty_callers_at_half_open_the_provider_sees_as_many_as_there_are_probes() {
    guarded(async {
        for probes in [1, 3] {
            let answer = Answer::default().delay(seconds(2));
            let script = Script::seeded(1).fault(When::first(2), broken()).answer(answer);
            let (provider, gate) = (InProcess::new(script).unwrap(), Gate::new());
            let stack = brittle(&provider, &gate).probes(probes).build().unwrap();
            failed(&stack).await;
            advance(seconds(5)).await;
            assert_eq!(failed(&stack).await.kind(), Kind::Server, "a failed probe");
            let left = failed(&stack).await.retry_after().unwrap();
            assert!(left >= seconds(5) && left <= seconds(10), "opens anew, for longer: {left:?}");
            advance(left).await;

            let calls: Vec<_> = (0..50).map(|_| start(&stack)).collect();
            sleep(seconds(1)).await;
            assert_eq!((provider.seen(), provider.in_flight()), (2 + u64::from(probes), probes.into()));
            let mut answered = 0;
            for call in calls {
                match call.await.unwrap() {
                    Ok(_) => answered += 1,
                    Err(error) => assert_eq!((error.kind(), error.sends()), (Kind::CircuitOpen, 0)),
                }
            }
            assert_eq!((answered, gate.circuit(MODEL)), (probes, CircuitState::Closed));
        }
    })
    .await;
}

// layers 8
#[tokio::test(start_paused = true)]
async fn an_hour_later_the_provider_is_asked_again() {
    guarded(async {
        let (provider, gate) = (fails(10, broken()), Gate::new());
        let stack = stack(&provider).gate(&gate).max_retries(0).build().unwrap();
        for _ in 0..20 {
            failed(&stack).await;
        }
        assert_eq!((provider.seen(), gate.circuit(MODEL)), (10, CircuitState::Open));
        advance(seconds(3600)).await;
        stack.ask(question()).await.unwrap();
        assert_eq!((provider.seen(), gate.circuit(MODEL)), (11, CircuitState::Closed));
    })
    .await;
}

// layers 9
#[tokio::test(start_paused = true)]
async fn fifty_calls_past_their_own_deadline_open_the_circuit_and_fifty_that_were_left_do_not() {
    guarded(async {
        let silent = || provider(Fault::silence(sim::Phase::BeforeHead));
        let (slow, left) = (silent(), silent());
        let limited = stack(&slow).deadline(seconds(5)).build().unwrap();
        let mut refused = 0;
        for _ in 0..50 {
            let (error, took) = timed(failed(&limited)).await;
            match error.kind() {
                Kind::Timeout => assert_eq!(took, seconds(5)),
                kind => {
                    refused += 1;
                    assert_eq!((kind, error.root().map(Error::kind)), (Kind::CircuitOpen, Some(Kind::Timeout)));
                }
            }
        }
        assert!(refused > 10 && slow.seen() < 40, "{refused} were refused, {} sent", slow.seen());

        // The same deadline, but it is the caller who does not wait for it.
        let patient = stack(&left).deadline(seconds(6)).build().unwrap();
        for _ in 0..50 {
            assert!(timeout(seconds(5), patient.ask(question())).await.is_err());
        }
        assert_eq!((left.seen(), slow.in_flight(), left.in_flight()), (50, 0, 0));
    })
    .await;
}

// layers 10
#[tokio::test(start_paused = true)]
async fn what_was_ready_while_the_circuit_was_open_asks_no_client_that_is_not() {
    guarded(async {
        let (provider, gate) = (fails(1, broken()), Gate::new());
        // tower's own limit panics where it is called without being ready, and starves others where that is kept.
        let client = over(ConcurrencyLimit::new(provider.clone(), 1));
        let window = Window::default().consecutive(1).unwrap();
        let mut stack = Stack::chat(client).gate(&gate).circuit(window).max_retries(0).build().unwrap();
        stack.ask(question()).await.unwrap_err();
        let mut idle = stack.clone();
        assert_eq!(idle.ready().await.unwrap().call(question()).await.unwrap_err().kind(), Kind::CircuitOpen);
        idle.ready().await.unwrap();
        stack.ready().await.unwrap();
        advance(seconds(5)).await;
        assert_eq!(gate.circuit(MODEL), CircuitState::HalfOpen);
        stack.call(question()).await.unwrap();
        assert_eq!((gate.circuit(MODEL), provider.seen()), (CircuitState::Closed, 2));
    })
    .await;
}

// layers 12, layers 2
#[tokio::test(start_paused = true)]
async fn three_thousand_failures_are_stopped_by_the_tenth_at_the_start_and_after_every_revival() {
    guarded(async {
        for window in [Window::default(), Window::calls(100).unwrap(), Window::time(seconds(600)).unwrap()] {
            // Every eleventh is answered: the probe.
            let at_once = Fault::delay(sim::Phase::BeforeHead, Duration::ZERO);
            let script = Script::seeded(1).fault(When::every(11), at_once).fault(When::always(), broken());
            let (provider, gate) = (InProcess::new(script).unwrap(), Gate::new());
            let window = window.consecutive(u32::MAX).unwrap();
            let stack = stack(&provider).gate(&gate).circuit(window).max_retries(0).build().unwrap();
            for revival in 1..=3 {
                for _ in 0..1000 {
                    failed(&stack).await;
                }
                assert_eq!((provider.seen(), gate.circuit(MODEL)), (11 * revival - 1, CircuitState::Open));
                advance(seconds(60)).await;
                stack.ask(question()).await.unwrap();
                assert_eq!(gate.circuit(MODEL), CircuitState::Closed);
            }
        }
    })
    .await;
}

// layers 13
#[tokio::test(start_paused = true)]
async fn an_open_circuit_says_until_when_and_because_of_which_answer() {
    guarded(async {
        for (told, least, most) in [(None, 2500, 5000), (Some("90"), 90_000, 92_500)] {
            let fault = told.into_iter().fold(Fault::status(503), |fault, wait| fault.header("retry-after", wait));
            let (provider, gate) = (provider(fault), Gate::new());
            let stack = brittle(&provider, &gate).build().unwrap();
            failed(&stack).await;
            let error = failed(&stack).await;
            let wait = error.retry_after().unwrap();
            assert!((least..=most).contains(&wait.as_millis()), "{wait:?}");
            let root = error.root().unwrap();
            assert_eq!((error.kind(), error.sends(), root.status()), (Kind::CircuitOpen, 0, Some(503)));
            advance(wait - seconds(1)).await;
            assert_eq!(failed(&stack).await.retry_after(), Some(seconds(1)), "what is left of it");
            advance(seconds(1)).await;
            assert_eq!((failed(&stack).await.status(), provider.seen()), (Some(503), 2), "when it said so");
        }
        // A rate limit that comes late, from before the circuit opened, is the longer wait.
        let script = Script::seeded(1)
            .fault(
                When::nth(1),
                Fault::delay(sim::Phase::BeforeHead, seconds(1)).with_status(429).header("retry-after", "99"),
            )
            .fault(When::nth(2), broken());
        let (provider, gate) = (InProcess::new(script).unwrap(), Gate::new());
        let stack = brittle(&provider, &gate).build().unwrap();
        let late = start(&stack);
        tokio::task::yield_now().await;
        failed(&stack).await;
        assert_eq!(late.await.unwrap().unwrap_err().kind(), Kind::RateLimited);
        assert_eq!(failed(&stack).await.retry_after(), Some(seconds(99)));
    })
    .await;
}

// layers 14
#[tokio::test(start_paused = true)]
async fn a_listener_may_ask_the_stack_that_tells_it_and_move_its_circuit() {
    guarded(async {
        let gate = Gate::new();
        let (states, own) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<OnceLock<Lone>>::default());
        let sink = Sink::new({
            let (gate, states, own) = (gate.clone(), Arc::clone(&states), Arc::clone(&own));
            move |event| {
                if !matches!(
                    event.what,
                    What::CircuitOpened { .. } | What::CircuitHalfOpened { .. } | What::CircuitClosed { .. }
                ) {
                    return;
                }
                states.lock().unwrap().push((gate.circuit(MODEL), gate.opens_in(MODEL).is_some()));
                // A call of its own, which is dropped at once.
                let mut call = pin!(own.get().unwrap().ask(question()));
                let _ = call.as_mut().poll(&mut Cx::from_waker(Waker::noop()));
                if let What::CircuitClosed { .. } = event.what {
                    gate.force_circuit_open();
                    gate.release_circuit();
                }
            }
        });
        let provider = fails(1, broken());
        own.set(brittle(&provider, &gate).sink(sink).build().unwrap()).ok().unwrap();
        let stack = own.get().unwrap();
        failed(stack).await;
        advance(seconds(5)).await;
        stack.ask(question()).await.unwrap();
        stack.ask(question()).await.unwrap();
        let told = states.lock().unwrap();
        assert_eq!(
            told[..],
            [(CircuitState::Open, true), (CircuitState::HalfOpen, true), (CircuitState::Closed, false)]
        );
    })
    .await;
}

// layers 23
#[tokio::test(start_paused = true)]
async fn a_permit_is_held_until_the_body_is_over_and_not_only_its_head() {
    guarded(async {
        let slow = Fault::delay(sim::Phase::InBody, seconds(30));
        let provider = provider(slow);
        let http = Stack::http(ClassifyLayer::http().layer(provider.clone())).concurrency(1).build().unwrap();
        let question = || {
            let body = r#"{"model":"gpt-4o","messages":[]}"#;
            http::Request::post("/v1/chat/completions").body(Full::<Bytes>::from(body)).unwrap()
        };
        let read = http.ask(question()).await.unwrap();
        let second = tokio::spawn(http.ask(question()));
        sleep(seconds(20)).await;
        assert_eq!((provider.seen(), second.is_finished()), (1, false), "its head has long been there");
        let (body, took) = timed(read.into_body().collect()).await;
        assert!(!body.unwrap().to_bytes().is_empty() && took >= seconds(10), "{took:?}");
        let second = second.await.unwrap().unwrap();
        assert_eq!(provider.seen(), 2);
        let third = tokio::spawn(http.ask(question()));
        sleep(seconds(5)).await;
        assert_eq!(provider.seen(), 2);
        drop(second);
        third.await.unwrap().unwrap();
        assert_eq!(provider.seen(), 3, "and is free with a body that is dropped");
    })
    .await;
}

// layers 29
#[tokio::test(start_paused = true)]
async fn a_route_that_is_never_ready_is_passed_by_within_a_second() {
    guarded(async {
        let (stuck, second) = (well(), well());
        let full = ConcurrencyLimit::new(stuck.clone(), 1);
        let mut held = full.clone();
        poll_fn(|cx| tower::Service::<http::Request<Full<Bytes>>>::poll_ready(&mut held, cx)).await.unwrap();
        let stack = Stack::chat(over(full)).name("stuck").then(over(second.clone())).build().unwrap();
        for n in 1..=3 {
            let (reply, took) = timed(stack.ask(question())).await;
            let reply = reply.unwrap();
            let attempt = &reply.trail().attempts()[0];
            assert_eq!((attempt.kind(), attempt.route()), (Kind::LocalLimit, Some("stuck")));
            assert_eq!((took, stuck.seen(), second.seen()), (seconds(1), 0, n));
        }
        drop(held);
        stack.ask(question()).await.unwrap();
        assert_eq!((stuck.seen(), second.seen()), (1, 3), "and is asked again when it is ready");
    })
    .await;
}

// layers 33
#[tokio::test(start_paused = true)]
async fn refusals_of_a_limit_within_do_not_open_the_circuit_around_it() {
    guarded(async {
        let script = Script::seeded(1).answer(Answer::default().delay(seconds(60)));
        let (provider, gate) = (InProcess::new(script).unwrap(), Gate::new());
        // A stack has its limit outside; who builds from layers may have it within.
        let limit = ConcurrencyLimitLayer::new(1).unwrap().shape(Chat).layer(over(provider.clone()));
        let breaker = CircuitBreakerLayer::new().gate(&gate).policy(Window::default().consecutive(1).unwrap());
        let service = breaker.shape(Chat).layer(limit);
        let busy = tokio::spawn(service.clone().oneshot(question()));
        sleep(seconds(1)).await;
        let hurried = Context::default().with_timeout(seconds(1));
        for _ in 0..5 {
            for (context, kind) in [(hurried, Kind::Deadline), (Context::default().with_others(true), Kind::LocalLimit)]
            {
                let error = ask(&service, question().with_context(context)).await.unwrap_err();
                assert_eq!((error.kind(), error.sends()), (kind, 0));
            }
        }
        assert_eq!((gate.circuit(MODEL), provider.seen()), (CircuitState::Closed, 1));
        busy.await.unwrap().unwrap();
        ask(&service, question()).await.unwrap();
    })
    .await;
}

// layers 36
#[tokio::test(start_paused = true)]
async fn the_wait_that_a_cooling_route_names_is_what_is_left_of_what_it_was_told() {
    guarded(async {
        for told in [1, 42, 61, 900] {
            let provider = fails(1, limited(&told.to_string()));
            let stack = stack(&provider).max_retries(0).build().unwrap();
            assert_eq!(failed(&stack).await.retry_after(), Some(seconds(told)));
            for left in [told, told.div_ceil(2), 1] {
                let error = failed(&stack).await;
                advance(error.retry_after().unwrap() - seconds(left)).await;
                let error = failed(&stack).await;
                assert_eq!((error.kind(), error.retry_after()), (Kind::CoolingDown, Some(seconds(left))));
            }
            advance(seconds(1)).await;
            stack.ask(question()).await.unwrap();
            assert_eq!(provider.seen(), 2);
        }
    })
    .await;
}
