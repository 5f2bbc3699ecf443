//! What a stream costs beside its own, and that readers who leave give everything back.
use crate::{ALLOCATOR, Row, ask};
use seawall::{
    Error, Rng, Sink, Stack, Usage,
    chat::{Chat, Item, Reply, Request},
    recovery::{Recovery, RecoveryLayer},
    stack::Paved,
};
use stats_alloc::Region;
use std::{
    future::Future,
    hint::black_box,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    task::{Context as Cx, Poll, Waker, ready},
    time::Duration,
};
use tokio::{
    runtime::{Builder, Runtime},
    time::{Instant, Sleep, sleep, timeout},
};
use tower::{Layer, Service};

pub(crate) fn all() {
    boxes();
    events();
    readers_who_leave();
    answers_that_are_read_first();
}

fn question() -> Request {
    Request::new("m").user("Count.").stream()
}

/// Time stands still but for who waits.
fn paused() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

/// One for each guard that there is.
fn boxes() {
    let (row, asked) = (|name, allocations| Row { name, allocations }, question());
    let streams = |result: Result<Reply, Error>| assert!(result.unwrap().is_stream());
    let speaker = || Speaker::of(3);
    row("a stream of no layers", 2).holds(speaker(), || asked.clone(), streams);
    let guards = 4; // the operation, the circuit, the attempt, the idle limit
    row("Stack::chat, a stream", 2 + guards).holds(Stack::chat(speaker()).build().unwrap(), || asked.clone(), streams);
    let limited = Stack::chat(speaker()).concurrency(1).build().unwrap();
    row("Stack::chat, a stream, concurrency limit", 2 + guards + 1).holds(limited, || asked.clone(), streams);
    let two = Stack::chat(speaker()).then(speaker()).on_failure().build().unwrap();
    row("Stack::chat, a stream, two routes", 2 + guards).holds(two, || asked.clone(), streams);

    let shown = RecoveryLayer::new(Recovery::Fail).shape(Chat);
    row("recovery, shown as it comes", 2).holds(shown.layer(speaker()), || asked.clone(), streams);
    let read = RecoveryLayer::new(Recovery::BufferThenRestart).shape(Chat);
    row("recovery, read first: the items, and what plays them", 4).holds(
        read.layer(speaker()),
        || asked.clone(),
        streams,
    );
}

/// In the steady state: more events, and the timers between them, cost what they cost without a stack.
fn events() {
    const EVENTS: u32 = 1_000;
    fn cost<S>(mut service: S) -> [usize; 2]
    where
        S: Service<Request, Response = Reply, Error = Error>,
    {
        let asked = question();
        paused().block_on(async {
            let mut read = async || {
                let mut reply = ask(&mut service, asked.clone()).unwrap();
                reply.read().await.unwrap();
                drop(black_box(reply));
            };
            read().await;
            let region = Region::new(ALLOCATOR);
            read().await;
            let change = region.change();
            [change.allocations, change.reallocations]
        })
    }
    let listener = Sink::new(|event| {
        black_box(event);
    });
    for pause in [Duration::ZERO, Duration::from_millis(10)] {
        let own = [EVENTS, 2 * EVENTS].map(|events| {
            let speaker = || Speaker { pause, ..Speaker::of(events) };
            let day = Duration::from_secs(86_400);
            let stack = Stack::chat(speaker()).concurrency(8).deadline(day).sink(listener.clone()).build().unwrap();
            let (bare, stack) = (cost(speaker()), cost(stack));
            [stack[0] - bare[0], stack[1] - bare[1]]
        });
        assert_eq!(own, [[5, 0]; 2], "a box for each guard, however many events, with pauses of {pause:?}");
    }
    println!("Stack::chat, everything set: 0 an event of a stream, with and without pauses");
}

/// Dropped at any point: in the line, before the head, between two tokens, at the end.
fn readers_who_leave() {
    const STREAMS: u32 = 10_000;
    const AT_ONCE: u32 = 50;
    let second = Duration::from_secs(1);
    let speaker = Speaker { pause: second, head: second, ..Speaker::of(10) };
    let asked = Arc::clone(&speaker.asked);
    let stack = Stack::chat(speaker).concurrency(8).seed(1).build().unwrap();
    let (runtime, rng) = (paused(), Rng::seeded(7));
    let read = async |stack: Stack<Paved<Speaker, Chat>, Chat>, patience, seen: Arc<AtomicU32>| {
        let read = async {
            let mut reply = stack.ask(question()).await.unwrap();
            seen.store(1, Relaxed);
            reply.read().await.unwrap();
            seen.store(2, Relaxed);
        };
        let _ = timeout(patience, read).await;
    };
    let opened = |streams: u32| {
        let (region, mut ends) = (Region::new(ALLOCATOR), [0; 3]);
        for _ in 0..streams / AT_ONCE {
            let seen: Vec<_> = (0..AT_ONCE).map(|_| Arc::<AtomicU32>::default()).collect();
            runtime.block_on(async {
                let readers =
                    seen.iter().map(|seen| tokio::spawn(read(stack.clone(), rng.up_to(30 * second), Arc::clone(seen))));
                for reader in readers.collect::<Vec<_>>() {
                    reader.await.unwrap();
                }
            });
            seen.iter().for_each(|seen| ends[seen.load(Relaxed) as usize] += 1);
        }
        let change = region.change();
        (change.bytes_allocated.cast_signed() - change.bytes_deallocated.cast_signed(), ends)
    };
    opened(STREAMS / 10);
    let (kept, ends) = opened(STREAMS);
    assert!(ends.iter().all(|&ended| ended > STREAMS / 20), "{ends:?}");
    println!("{STREAMS} streams, dropped before their head, within, and read to the end {ends:?}: {kept} bytes kept");
    assert!(kept < 1 << 12, "{kept} bytes kept");

    let _entered = runtime.enter();
    let before = asked.load(Relaxed);
    let cx = &mut Cx::from_waker(Waker::noop());
    let mut calls: Vec<_> = (0..9).map(|_| Box::pin(stack.ask(question()))).collect();
    let sent = calls.iter_mut().map(|call| {
        assert!(call.as_mut().poll(cx).is_pending());
        asked.load(Relaxed) - before
    });
    assert_eq!(sent.collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8, 8], "the next eight pass at once, and a ninth waits");
}

/// What is read first is kept as a whole.
fn answers_that_are_read_first() {
    let kept = |events| {
        let mut service = RecoveryLayer::new(Recovery::BufferThenRestart).shape(Chat).layer(Speaker::of(events));
        let region = Region::new(ALLOCATOR);
        let mut call = pin!(service.call(question()));
        let reply = loop {
            if let Poll::Ready(reply) = call.as_mut().poll(&mut Cx::from_waker(Waker::noop())) {
                break reply.unwrap();
            }
        };
        let change = region.change();
        drop(reply);
        change.bytes_allocated - change.bytes_deallocated
    };
    let events = 100_000;
    let bytes = kept(events) / events as usize;
    println!("an answer that is read first: {bytes} bytes an item, besides its text");
    assert!(bytes < 256, "{bytes} bytes an item");
}

/// Streams so many tokens, with a pause before each.
#[derive(Clone)]
struct Speaker {
    events: u32,
    pause: Duration,
    head: Duration,
    asked: Arc<AtomicU32>,
    token: Arc<str>,
}

impl Speaker {
    fn of(events: u32) -> Self {
        Self { events, pause: Duration::ZERO, head: Duration::ZERO, asked: Arc::default(), token: "x".into() }
    }
}

impl Service<Request> for Speaker {
    type Response = Reply;
    type Error = Error;
    type Future = Speaking;

    fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Speaking {
        self.asked.fetch_add(1, Relaxed);
        Speaking { head: pause(self.head), speaker: self.clone() }
    }
}

/// Nothing where there is nothing to wait for, which also does without a runtime.
fn pause(time: Duration) -> Option<Pin<Box<Sleep>>> {
    (!time.is_zero()).then(|| Box::pin(sleep(time)))
}

struct Speaking {
    head: Option<Pin<Box<Sleep>>>,
    speaker: Speaker,
}

impl Future for Speaking {
    type Output = Result<Reply, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        if let Some(head) = &mut self.head {
            ready!(head.as_mut().poll(cx));
        }
        let Speaker { events, pause: time, token, .. } = self.speaker.clone();
        Poll::Ready(Ok(Reply::stream(Tokens { left: events, pause: pause(time), time, token })))
    }
}

struct Tokens {
    left: u32,
    pause: Option<Pin<Box<Sleep>>>,
    time: Duration,
    token: Arc<str>,
}

impl futures_core::Stream for Tokens {
    type Item = Result<Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Option<Self::Item>> {
        let time = self.time;
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(cx));
            pause.as_mut().reset(Instant::now() + time);
        }
        let Some(left) = self.left.checked_sub(1) else { return Poll::Ready(Some(Ok(Item::End))) };
        self.left = left;
        Poll::Ready(Some(Ok(match left % 4 {
            0 => Item::Usage(Usage::new(9, left.into())),
            1 => Item::Alive,
            _ => Item::Text(Arc::clone(&self.token)),
        })))
    }
}
