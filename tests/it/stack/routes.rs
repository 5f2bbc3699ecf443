//! Several routes: who is asked, who waits, and what is told of it.
use crate::{ask, fake::*, guarded, seconds, timed};
use seawall::{
    Bare, CircuitState, Context, Error, Gate, GaveUp, Invalid, Kind, Sink, Stack, What,
    chat::{self, Answer as ChatAnswer, Message, Reply},
    circuit_breaker::Window,
    failover::{On, Route},
    retry::{Backoff, Budget},
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::{Instant, advance};

type Model = Fake<u64, &'static str>;

fn answers(name: &'static str) -> Model {
    fake(move |_, _: u64| Now(Ok(name)))
}

/// Limits everybody until the clock says otherwise, then answers.
fn limited_until(end: Instant, name: &'static str) -> Model {
    fake(move |_, _: u64| match end.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Now(Ok(name)),
        left => After(Duration::from_millis(20), Err(Error::provider(Kind::RateLimited).with_retry_after(left))),
    })
}

#[tokio::test(start_paused = true)]
async fn a_429_switches_at_once_and_the_route_is_skipped_until_its_time_has_come() {
    guarded(async {
        let (first, second) = (fake(|_, _: u64| limited::<&str>(seconds(30))), answers("second"));
        let stack = Stack::bare(first.clone()).then(second.clone()).on_429().build().unwrap();
        for _ in 0..3 {
            let (answer, waited) = timed(stack.ask(1)).await;
            assert_eq!((answer.unwrap(), waited), ("second", Duration::ZERO));
        }
        assert_eq!((first.sends(), second.sends()), (1, 3));
        advance(seconds(30)).await;
        assert_eq!((stack.ask(1).await.unwrap(), first.sends()), ("second", 2), "asked again when its time has come");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn without_on_429_nothing_switches_but_what_was_never_sent() {
    guarded(async {
        let first = fake(|n, _: u64| if n == 0 { limited::<&str>(seconds(3)) } else { Now(Ok("first")) });
        let second = answers("second");
        let stack = Stack::bare(first.clone()).then(second.clone()).build().unwrap();
        let limited = tokio::spawn(stack.ask(1));
        tokio::task::yield_now().await;
        assert_eq!(stack.ask(1).await.unwrap(), "second", "a route that cools down is always skipped");
        let (answer, waited) = timed(limited).await;
        assert_eq!(
            (answer.unwrap().unwrap(), second.sends()),
            ("first", 1),
            "and whom it limited waits, as with one route"
        );
        assert!(waited >= seconds(3), "{waited:?}");
    })
    .await;
}

/// Two routes must not be worse than one: where a failure does not switch, the route is asked as often as alone.
#[tokio::test(start_paused = true)]
async fn what_does_not_switch_is_retried_as_with_one_route() {
    guarded(async {
        for kind in [Kind::Server, Kind::Timeout, Kind::Transport] {
            let first = fake(move |n, _: u64| if n < 2 { failing(kind) } else { Now(Ok("first")) });
            let second = answers("second");
            let stack = Stack::bare(first.clone()).then(second.clone()).on([On::Overloaded]).build().unwrap();
            assert_eq!((stack.ask(1).await.unwrap(), first.sends(), second.sends()), ("first", 3, 0), "{kind:?}");
        }
    })
    .await;
}

/// One route and a 429 of five seconds: a hundred calls wait for it, and nobody is told a second time.
#[tokio::test(start_paused = true)]
async fn a_hundred_calls_wait_for_a_lone_route_and_only_those_in_flight_are_limited() {
    guarded(async {
        let model = limited_until(Instant::now() + seconds(5), "answered");
        let limits = Arc::new(AtomicU32::new(0));
        let count = limits.clone();
        let sink = Sink::new(move |event| {
            if let What::AttemptEnded { outcome: Some(seawall::Outcome::Failed(error)), .. } = event.what {
                assert_eq!(error.kind(), Kind::RateLimited);
                count.fetch_add(1, Relaxed);
            }
        });
        let stack = Stack::bare(model.clone()).sink(sink).build().unwrap();
        let mut calls = Vec::new();
        for n in 0..100 {
            calls.push(tokio::spawn(stack.ask(n)));
            // Ten leave before the first answer is there.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let in_flight = model.sends();
        assert!((1..=11).contains(&in_flight), "{in_flight} were in flight");
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap(), "answered");
        }
        assert_eq!((limits.load(Relaxed), model.sends()), (in_flight, 100 + in_flight));
    })
    .await;
}

/// Who stands in line for a permit has not been let through by the circuit yet.
#[tokio::test(start_paused = true)]
async fn those_who_stand_in_line_are_not_sent_into_a_limit_or_an_outage() {
    guarded(async {
        let model = limited_until(Instant::now() + seconds(5), "answered");
        let stack = Stack::bare(model.clone()).concurrency(10).build().unwrap();
        let calls: Vec<_> = (0..100).map(|n| tokio::spawn(stack.ask(n))).collect();
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap(), "answered");
        }
        assert_eq!(model.sends(), 110, "ten were limited");

        let down = fake(|_, _: u64| After(Duration::from_millis(20), Err::<(), _>(Error::provider(Kind::Server))));
        let stack = Stack::bare(down.clone()).concurrency(10).max_retries(0).build().unwrap();
        let calls: Vec<_> = (0..100).map(|n| tokio::spawn(stack.ask(n))).collect();
        for call in calls {
            call.await.unwrap().unwrap_err();
        }
        assert_eq!(down.sends(), 10);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_hundred_calls_with_a_second_route_are_answered_at_once() {
    guarded(async {
        let (first, second) = (limited_until(Instant::now() + seconds(5), "first"), answers("second"));
        let stack = Stack::bare(first.clone()).then(second.clone()).on_429().build().unwrap();
        let start = Instant::now();
        let calls: Vec<_> = (0..100).map(|n| tokio::spawn(stack.ask(n))).collect();
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap(), "second");
        }
        assert!(start.elapsed() < Duration::from_millis(50), "{:?}", start.elapsed());
        assert_eq!((first.sends(), second.sends()), (100, 100), "all were in flight together");
        stack.ask(1).await.unwrap();
        assert_eq!(first.sends(), 100, "and nobody asks it again");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn when_every_route_is_closed_the_earliest_is_waited_for() {
    guarded(async {
        let slow = fake(|n, _: u64| if n == 0 { limited(seconds(30)) } else { Now(Ok("slow")) });
        let fast = fake(|n, _: u64| if n == 0 { limited(seconds(4)) } else { Now(Ok("fast")) });
        let stack = Stack::bare(slow.clone()).then(fast.clone()).on_429().build().unwrap();
        let (both, waited) = timed(async { tokio::join!(stack.ask(1), stack.ask(1)) }).await;
        assert_eq!((both.0.unwrap(), both.1.unwrap()), ("fast", "fast"));
        assert!(waited < seconds(6), "{waited:?}");
        assert_eq!((slow.sends(), fast.sends()), (1, 3));
    })
    .await;
}

/// A refusal that meets the last attempt is waited out, and none of them is spent on it.
#[tokio::test(start_paused = true)]
async fn a_cool_down_that_meets_the_last_attempt_is_waited_out() {
    guarded(async {
        let model = fake(|n, _: u64| if n < 2 { failing(Kind::Server) } else { Now(Ok("third")) });
        let gate = Gate::new();
        let stack = Stack::bare(model.clone()).gate(&gate).seed(1).build().unwrap();
        let call = tokio::spawn(stack.ask(1));
        while model.sends() < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        gate.cool_down(seconds(20));
        let (answer, waited) = timed(call).await;
        assert_eq!((answer.unwrap().unwrap(), model.sends()), ("third", 3));
        assert!(waited >= seconds(19), "{waited:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn sends_are_counted_over_routes_and_every_route_is_in_the_trail() {
    guarded(async {
        let [first, second] = [(); 2].map(|()| fake(|_, _: u64| failing::<&str>(Kind::Server)));
        let stack = Stack::bare(first.clone()).name("eu").then(second.clone()).name("us").on([On::Server]);
        let stack = stack.circuit(Window::calls(100).unwrap()).build().unwrap();
        let error = stack.ask(1).await.unwrap_err();
        assert_eq!((first.sends(), second.sends(), error.sends()), (2, 3, 5), "one retry with others, two alone");
        let routes: Vec<_> = error.trail().attempts().iter().filter_map(seawall::Attempt::route).collect();
        assert_eq!((routes, error.route()), (vec!["eu", "eu", "us", "us"], Some("us")));
        assert_eq!(error.root().map(|root| (root.kind(), root.route())), Some((Kind::Server, Some("eu"))));
        let capped = stack.clone().with(Context::default().with_sends_left(3)).ask(1).await.unwrap_err();
        assert_eq!((first.sends(), second.sends(), capped.sends()), (4, 4, 3));
        let spent = stack.with(Context::default().with_sends_left(2)).ask(1).await.unwrap_err();
        assert_eq!((first.sends(), second.sends(), spent.sends()), (6, 4, 2), "spent by the first route");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_open_circuit_is_skipped_and_probed_when_its_time_is_over() {
    guarded(async {
        let first = fake(|n, _: u64| if n < 10 { failing(Kind::Server) } else { Now(Ok("first")) });
        let (second, gate) = (answers("second"), Gate::new());
        let stack = Stack::bare(first.clone()).gate(&gate).then(second.clone()).on_failure();
        let stack = stack.max_retries(0).build().unwrap();
        for _ in 0..20 {
            assert_eq!(stack.ask(1).await.unwrap(), "second");
        }
        assert_eq!((first.sends(), gate.circuit(None)), (10, CircuitState::Open));
        advance(gate.opens_in(None).unwrap()).await;
        assert_eq!(gate.circuit(None), CircuitState::HalfOpen);
        assert_eq!((stack.ask(1).await.unwrap(), gate.circuit(None)), ("first", CircuitState::Closed));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn further_rounds_wait_for_the_route_that_opens_first() {
    guarded(async {
        let [a, b] = [(); 2].map(|()| fake(|n, _: u64| if n == 0 { limited(seconds(1)) } else { Now(Ok("answered")) }));
        let build = || Stack::bare(a.clone()).then(b.clone()).on_429().max_retries(0).deadline(seconds(5));
        let error = build().build().unwrap().ask(1).await.unwrap_err();
        assert_eq!((error.kind(), error.retry_after()), (Kind::RateLimited, Some(seconds(1))));
        advance(seconds(1)).await;
        let [a, b] = [(); 2].map(|()| fake(|n, _: u64| if n == 0 { limited(seconds(1)) } else { Now(Ok("answered")) }));
        let stack = Stack::bare(a).then(b).on_429().max_retries(0).deadline(seconds(5)).rounds(2).build().unwrap();
        let (answer, waited) = timed(stack.ask(1)).await;
        assert_eq!(answer.unwrap(), "answered");
        assert!((seconds(1)..seconds(3)).contains(&waited), "{waited:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn each_route_gets_its_own_model_and_a_larger_one_takes_what_is_too_long() {
    guarded(async {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let model = |kind: Option<Kind>| {
            let asked = asked.clone();
            fake(move |_, request: chat::Request| {
                asked.lock().unwrap().push(request.model_name().to_owned());
                match kind {
                    Some(kind) => failing(kind),
                    None => Now(Ok(Reply::whole(ChatAnswer::new(Message::assistant("Blue."))))),
                }
            })
        };
        let stack = Stack::chat(model(Some(Kind::ContextLength)))
            .then(model(None))
            .model("other")
            .then(model(None))
            .model("large")
            .larger()
            .on_429()
            .build()
            .unwrap();
        let reply = stack.ask(chat::Request::new("small").user("What colour is the sea?")).await.unwrap();
        let routes: Vec<_> = reply.trail().attempts().iter().filter_map(seawall::Attempt::route).collect();
        assert_eq!((reply.text().as_ref(), routes), ("Blue.", vec!["1"]));
        assert_eq!(*asked.lock().unwrap(), ["small", "large"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_lone_route_has_a_model_of_its_own_too() {
    guarded(async {
        let model = fake(|n, request: chat::Request| match n {
            0 => limited(seconds(2)),
            _ => Now(Ok(Reply::whole(ChatAnswer::new(Message::assistant(request.model_name()))))),
        });
        let stack = Stack::chat(model.clone()).name("eu").model("large").build().unwrap();
        let reply = stack.ask(chat::Request::new("small").user("hello")).await.unwrap();
        assert_eq!((&*reply.text(), model.sends()), ("large", 2), "also when it is asked again");
        assert_eq!(reply.trail().attempts()[0].route(), Some("eu"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_closure_changes_the_requests_of_a_route_written_or_listed() {
    guarded(async {
        let (first, second) = (fake(|_, _: u64| limited::<u64>(seconds(9))), fake(|_, n: u64| Now(Ok(n))));
        let written = Stack::bare(first.clone()).then(second.clone()).map(|n: u64| n + 1).map(|n: u64| n * 2).on_429();
        assert_eq!(written.build().unwrap().ask(1).await.unwrap(), 4);
        let routes = [first, second].map(|model| Route::new(model).map(|n: u64| n + 5));
        assert_eq!(Stack::list(Bare, routes.into()).on_429().build().unwrap().ask(1).await.unwrap(), 6);
        let reply = || Reply::whole(ChatAnswer::new(Message::assistant("Blue.")));
        let model = fake(move |_, request: chat::Request| {
            assert_eq!(request.model_name(), "small");
            Now(Ok(reply()))
        });
        let stack = Stack::chat(model).map(|_: chat::Request| chat::Request::new("small")).build().unwrap();
        assert_eq!(stack.ask(chat::Request::new("large").user("?")).await.unwrap().text(), "Blue.");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_list_has_as_many_routes_as_its_configuration() {
    guarded(async {
        let models =
            [0u64, 1, 2].map(|name| fake(move |_, _: u64| if name < 2 { limited(seconds(9)) } else { Now(Ok(name)) }));
        let routes = models.iter().map(|model| Route::new(model.clone())).collect();
        let stack = Stack::list(Bare, routes).on_429().build().unwrap();
        for _ in 0..3 {
            assert_eq!(tokio::spawn(stack.ask(1)).await.unwrap().unwrap(), 2);
        }
        assert_eq!(models.map(|model| model.sends()), [1, 1, 3]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn routes_of_one_account_cool_down_together() {
    guarded(async {
        let gate = Gate::new();
        let [first, second] = [(); 2].map(|()| fake(|_, _: u64| limited::<&str>(seconds(2))));
        let stack = Stack::bare(first.clone()).gate(&gate).then(second.clone()).gate(&gate.same_quota()).on_429();
        let stack = stack.deadline(seconds(1)).build().unwrap();
        let error = stack.ask(1).await.unwrap_err();
        assert_eq!((error.kind(), error.retry_after()), (Kind::CoolingDown, Some(seconds(2))));
        assert_eq!((first.sends(), second.sends(), error.sends()), (1, 0, 1), "its account is limited, whoever asks");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_lone_stack_says_why_it_gave_up_and_so_do_several() {
    guarded(async {
        let model = || fake(|_, _: u64| failing::<&str>(Kind::Server));
        let lone = Stack::bare(model()).build().unwrap().ask(1).await.unwrap_err();
        let several = Stack::bare(model()).then(model()).on_failure().build().unwrap().ask(1).await.unwrap_err();
        assert_eq!(lone.gave_up(), Some(GaveUp::AttemptsSpent));
        assert_eq!(several.gave_up(), Some(GaveUp::AttemptsSpent));
    })
    .await;
}

#[test]
fn what_cannot_take_effect_is_refused_with_its_layer_and_a_reason() {
    let model = || answers("x");
    let two = || Stack::bare(model()).then(model());
    let gate = Gate::new();
    fn refused<T>(built: Result<T, Invalid>) -> Invalid {
        built.err().unwrap()
    }
    let cases = [
        (refused(two().rounds(0).build()), "failover", "rounds"),
        (refused(two().rounds(9).build()), "failover", "rounds"),
        (refused(two().wait_at_most(seconds(61)).build()), "failover", "wait_at_most"),
        (refused(two().deadline(seconds(5)).ready_within(seconds(5)).build()), "failover", "ready_within"),
        (refused(two().ready_within(Duration::ZERO).build()), "failover", "ready_within"),
        (refused(Stack::bare(model()).gate(&gate).then(model()).gate(&gate).build()), "failover", "gate"),
        (refused(Stack::bare(model()).name("a").then(model()).name("a").build()), "failover", "name"),
        (refused(Stack::list(Bare, Vec::<Route<Model>>::new()).build()), "failover", "routes"),
        (refused(Stack::list(Bare, vec![Route::new(model())]).on_429().build()), "failover", "routes"),
        (refused(Stack::list(Bare, vec![Route::new(model())]).ready_within(seconds(5)).build()), "failover", "routes"),
        (refused(two().on_429().sends(1).build()), "failover", "sends"),
        (refused(two().on([On::Server]).sends(1).build()), "failover", "sends"),
        (refused(two().larger().sends(1).build()), "failover", "sends"),
        (refused(Stack::list(Bare, vec![Route::new(model()).larger()]).build()), "failover", "larger"),
        (refused(Stack::bare(model()).concurrency(0).build()), "concurrency_limit", "concurrency"),
        (refused(Stack::bare(model()).probes(0).build()), "circuit_breaker", "probes"),
        (refused(Stack::bare(model()).open_for(seconds(2), seconds(1)).build()), "circuit_breaker", "open_for"),
        (refused(Stack::bare(model()).max_retries(6).build()), "retry", "max_retries"),
        (refused(Stack::bare(model()).max_retries(0).max_wait(seconds(5)).build()), "retry", "max_wait"),
        (refused(two().sends(1).max_wait(seconds(5)).build()), "retry", "max_wait"),
        (refused(two().max_retries(0).rounds(2).budget(&Budget::default()).build()), "retry", "budget"),
        (refused(Stack::bare(model()).deadline(Duration::ZERO).build()), "timeout", "deadline"),
    ];
    for (invalid, layer, setting) in cases {
        assert_eq!((invalid.layer(), invalid.setting()), (Some(layer), setting), "{invalid}");
        assert!(invalid.to_string().starts_with(&format!("{layer}: {setting}: ")), "{invalid}");
    }
    let rounds = two().max_retries(0).rounds(2).backoff(Backoff::default()).max_wait(seconds(90));
    assert!(rounds.build().is_ok(), "between rounds they take effect");
}

#[test]
fn debug_prints_the_layers_in_their_order() {
    let lone = Stack::bare(answers("x")).deadline(seconds(30)).max_retries(1).concurrency(8).build().unwrap();
    assert_eq!(
        format!("{lone:?}"),
        "Stack: observe (operation) > timeout (deadline 30s) > retry (1) > recovery (Fail) > concurrency_limit (8) > \
         circuit_breaker > observe (attempt) > timeout (attempt) > service"
    );
    let two = Stack::bare(answers("x")).name("eu").then(answers("y")).name("us").on_429().on([On::Server]).build();
    assert_eq!(
        format!("{:?}", two.unwrap()),
        "Stack: observe (operation) > timeout (deadline of the request) > failover (on 429, server) > [eu | us] > retry > \
         recovery (Fail) > concurrency_limit (none) > circuit_breaker > observe (attempt) > timeout (attempt) > service"
    );
    assert!(format!("{lone:#?}").lines().count() == 10, "{lone:#?}");
}

/// What is printed is written beside the layers and not by them: the type of a call's future holds it to them.
#[test]
fn the_order_that_is_printed_is_that_of_the_types() {
    let stack = Stack::bare(answers("x")).then(answers("y")).build().unwrap();
    let call = stack.ask(1);
    let mut rest = std::any::type_name_of_val(&call);
    let printed = format!("{stack:?}");
    let layers = printed.trim_start_matches("Stack: ").split(" > ").filter(|layer| !layer.starts_with('['));
    for layer in layers {
        let folder = match layer.split_once(' ').unwrap_or((layer, "")) {
            ("service", _) => "stack::leaf::Leaf".to_owned(),
            ("timeout", what) => {
                format!("::timeout::{}::", if what.contains("attempt") { "attempt" } else { "deadline" })
            }
            (folder, _) => format!("::{folder}::"),
        };
        let at = rest.find(&folder).unwrap_or_else(|| panic!("{folder} does not stand here: {rest}"));
        rest = &rest[at + folder.len()..];
    }
}

/// For a field, or a state that handlers share: one box, outermost.
#[tokio::test(start_paused = true)]
async fn several_routes_go_into_one_box_and_into_a_task() {
    use seawall::{KeyBy, chat::Chat};
    use tower::{ServiceExt, util::BoxCloneSyncService};
    guarded(async {
        let answer = || Reply::whole(ChatAnswer::new(Message::assistant("Blue.")));
        let model = || fake(move |_, _: chat::Request| Now(Ok(answer())));
        let stack = Stack::chat(model()).then(model()).model("other").on_429().concurrency(4).build().unwrap();
        tokio::spawn(stack.ask(chat::Request::new("m"))).await.unwrap().unwrap();
        let boxed: BoxCloneSyncService<chat::Request, Reply, Error> = BoxCloneSyncService::new(stack);
        boxed.clone().oneshot(chat::Request::new("m")).await.unwrap();
        let routes = vec![Route::new(boxed.clone()).name("a"), Route::new(boxed).name("b")];
        let by_tenant = KeyBy::new(Chat, |request: &chat::Request| request.tenant_name());
        let outer = Stack::list(by_tenant, routes).on_failure().build().unwrap();
        tokio::spawn(outer.ask(chat::Request::new("m").tenant("t"))).await.unwrap().unwrap();
    })
    .await;
}

/// The type of a lone route has a short name; several are returned by what they do.
#[cfg(feature = "reqwest")]
#[tokio::test]
async fn several_routes_over_http_are_returned_by_what_they_do() {
    use seawall::{
        classify::ClassifyLayer,
        sim::{Fault, MockProvider, Script, When},
    };
    use tower::{Layer, Service, ServiceExt};

    fn stack(
        client: &reqwest::Client,
    ) -> impl Service<reqwest::Request, Response = reqwest::Response, Error = Error> + Clone {
        let service = || ClassifyLayer::reqwest().layer(client.clone());
        Stack::http(service()).then(service()).on_429().build().unwrap()
    }
    let limited = Script::seeded(1).fault(When::nth(1), Fault::status(429).header("retry-after", "30"));
    let provider = MockProvider::start(limited).await.unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let body = r#"{"model":"m","messages":[{"role":"user","content":"?"}]}"#;
    let request = client.post(format!("{}/chat/completions", provider.base_url())).body(body).build().unwrap();
    let answer = stack(&client).oneshot(request).await.unwrap();
    assert_eq!(answer.status(), 200);
    let trail = answer.extensions().get::<seawall::Trail>().unwrap();
    assert_eq!((trail.attempts().len(), trail.attempts()[0].route()), (1, Some("1")));
    assert!(answer.text().await.unwrap().contains("choices"));
}

#[tokio::test]
async fn nothing_need_be_send_or_static() {
    use std::{cell::Cell, future::ready, rc::Rc};
    let (count, shared) = (Cell::new(0), Rc::new(7));
    let model = tower::service_fn(|n: Rc<u64>| {
        count.set(count.get() + 1);
        ready(Ok::<_, Error>(n))
    });
    let stack = Stack::bare(model).then(model).on_429().build().unwrap().with(Context::default());
    assert_eq!(*ask(&stack, shared).await.unwrap(), 7);
    assert_eq!(count.get(), 1);
}
