//! Whole stacks, left at any time: nothing of a call stays.
use crate::{fake::*, guarded, seconds};
use seawall::{
    CircuitState, Error, Gate, Kind, Stack,
    chat::{self, Item, Reply},
    circuit_breaker::Window,
};
use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context as Cx, Poll},
    time::Duration,
};
use tokio::time::{Instant, sleep};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Limited, failing, slow, refused, in rounds: whenever the caller leaves, nothing of the call stays.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_left_at_any_time_leaves_nothing_behind() {
    for moment in (0..6000).step_by(37) {
        guarded(async {
            let first = fake(|n, _: u64| match n % 3 {
                0 => After(ms(150), Err(Error::provider(Kind::RateLimited).with_retry_after(seconds(1)))),
                1 => After(ms(150), Err(Error::provider(Kind::Server))),
                _ => After(ms(400), Ok("first")),
            });
            let second = fake(|n, _: u64| match n % 2 {
                0 => After(ms(300), Err(Error::provider(Kind::Overloaded))),
                _ => After(ms(700), Ok("second")),
            });
            let gates = [Gate::new(), Gate::new()];
            let stack = Stack::bare(first.clone())
                .gate(&gates[0])
                .then(second.clone())
                .gate(&gates[1])
                .on_429()
                .on_failure()
                .rounds(2)
                .concurrency(1)
                .circuit(Window::calls(9).unwrap().consecutive(2).unwrap())
                .seed(moment)
                .build()
                .unwrap();
            let calls: Vec<_> = (0..3).map(|n| tokio::spawn(stack.ask(n))).collect();
            sleep(ms(moment)).await;
            calls.iter().for_each(tokio::task::JoinHandle::abort);
            for call in calls {
                let _ = call.await;
            }
            assert_eq!((first.live(), second.live()), (0, 0), "left after {moment} ms");
            // Permits and probes are back: everybody is answered once the circuits may be probed again.
            sleep(seconds(120)).await;
            let answered = [stack.ask(1), stack.ask(2), stack.ask(3)].map(tokio::spawn);
            for call in answered {
                call.await.unwrap().unwrap_or_else(|error| panic!("left after {moment} ms: {error}"));
            }
            assert_eq!((first.live(), second.live()), (0, 0));
        })
        .await;
    }
}

/// A half-open circuit: one probe, and nobody else waits for how it ends.
#[tokio::test(start_paused = true)]
async fn while_a_probe_is_out_everybody_else_is_answered_by_the_other_route_at_once() {
    guarded(async {
        let first = fake(|n, _: u64| if n < 2 { failing(Kind::Server) } else { After(seconds(30), Ok("first")) });
        let second = fake(|_, _: u64| Now(Ok("second")));
        let gate = Gate::new();
        let stack = Stack::bare(first.clone())
            .gate(&gate)
            .then(second.clone())
            .on_failure()
            .max_retries(0)
            .circuit(Window::calls(9).unwrap().consecutive(2).unwrap())
            .build()
            .unwrap();
        for _ in 0..2 {
            assert_eq!(stack.ask(1).await.unwrap(), "second");
        }
        sleep(gate.opens_in(None).unwrap()).await;
        let start = Instant::now();
        let calls: Vec<_> = (0..50).map(|n| tokio::spawn(stack.ask(n))).collect();
        let mut answers = Vec::new();
        for call in calls {
            answers.push((call.await.unwrap().unwrap(), start.elapsed()));
        }
        assert_eq!((first.sends(), answers.iter().filter(|(name, _)| *name == "second").count()), (3, 49));
        let later = Instant::now();
        assert_eq!((gate.circuit(None), stack.ask(1).await.unwrap()), (CircuitState::Closed, "first"));
        assert!(later.elapsed() >= seconds(30), "by the first route again, which is slow");
    })
    .await;
}

struct Items(VecDeque<Item>);

impl futures_core::Stream for Items {
    type Item = Result<Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_left_at_any_item_gives_back_its_permit_and_its_probe() {
    guarded(async {
        for read in 0..6 {
            let model = fake(|n, _: chat::Request| match n {
                0 | 1 => failing(Kind::Server),
                _ => {
                    let items = (0..4).map(|n| Item::Text(n.to_string().into())).chain([Item::End]);
                    Now(Ok(Reply::stream(Items([Item::Alive].into_iter().chain(items).collect()))))
                }
            });
            let gate = Gate::new();
            let stack = Stack::chat(model.clone())
                .gate(&gate)
                .max_retries(0)
                .concurrency(1)
                .circuit(Window::calls(9).unwrap().consecutive(2).unwrap())
                .build()
                .unwrap();
            let ask = || stack.ask(chat::Request::new("m").user("?"));
            for _ in 0..2 {
                ask().await.unwrap_err();
            }
            sleep(gate.opens_in(Some("m")).unwrap()).await;
            let mut reply = ask().await.unwrap();
            for _ in 0..read {
                let _ = reply.next().await;
            }
            drop(reply);
            let again = ask().await.unwrap_or_else(|error| panic!("left after {read} items: {error}"));
            assert_eq!(again.collect().await.unwrap().message().text(), "0123");
            assert_eq!(gate.circuit(Some("m")), CircuitState::Closed);
        }
    })
    .await;
}
