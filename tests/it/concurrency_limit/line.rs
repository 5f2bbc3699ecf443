//! The line before a full limit: its order, its wakes, and those who leave it.
use super::*;

#[derive(Default)]
struct Count(AtomicU32);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

type Asked = Pin<Box<dyn Future<Output = Result<u32, Error>>>>;

/// A task that is polled by hand, and counts how often it was woken.
struct Task {
    call: Asked,
    count: Arc<Count>,
}

impl Task {
    fn poll(&mut self) -> Poll<Result<u32, Error>> {
        self.call.as_mut().poll(&mut Cx::from_waker(&Waker::from(Arc::clone(&self.count))))
    }

    fn wakes(&self) -> u32 {
        self.count.0.load(Relaxed)
    }
}

/// A full limit of one, and so many tasks in line for it.
fn line(waiters: u32) -> (Asked, Vec<Task>, Fake<u32, u32>) {
    let model = fake(|_, n: u32| if n == u32::MAX { Never } else { Now(Ok(n)) });
    let mut service = limit(1).layer(model.clone());
    let mut call = |n| -> Asked {
        assert!(service.poll_ready(&mut Cx::from_waker(Waker::noop())).is_ready());
        Box::pin(service.call(n))
    };
    let mut held = call(u32::MAX);
    assert!(poll(held.as_mut()).is_pending());
    let mut tasks: Vec<_> = (0..waiters).map(|n| Task { call: call(n), count: Arc::default() }).collect();
    for task in &mut tasks {
        assert!(task.poll().is_pending());
    }
    (held, tasks, model)
}

#[test]
fn five_hundred_waiters_go_first_in_first_out_with_one_wake_each() {
    let (held, mut tasks, model) = line(500);
    assert!(tasks.iter().all(|task| task.wakes() == 0) && model.sends() == 1);
    drop(held);
    for n in 0..500 {
        assert_eq!(tasks.iter().filter(|task| task.wakes() > 0).count(), n + 1, "the next one and nobody else");
        let Poll::Ready(answer) = tasks[n].poll() else { panic!("{n} was woken for nothing") };
        assert_eq!(answer.unwrap() as usize, n);
    }
    assert!(tasks.iter().all(|task| task.wakes() == 1), "one wake each");
}

#[test]
fn one_who_comes_while_a_permit_is_on_its_way_to_a_waiter_goes_behind() {
    let model = fake(|_, n: u32| if n == u32::MAX { Never } else { Now(Ok(n)) });
    let service = limit(1).layer(model);
    let call = |n| -> Asked {
        let mut service = service.clone();
        assert!(service.poll_ready(&mut Cx::from_waker(Waker::noop())).is_ready());
        Box::pin(service.call(n))
    };
    let (mut held, mut first) = (call(u32::MAX), call(1));
    assert!(poll(held.as_mut()).is_pending() && poll(first.as_mut()).is_pending());
    drop(held);
    let mut newcomer = call(2);
    assert!(poll(newcomer.as_mut()).is_pending(), "free, and not for it");
    assert!(poll(first.as_mut()).is_ready());
    assert!(poll(newcomer.as_mut()).is_ready());
}

#[test]
fn a_waiter_that_leaves_gives_up_its_place_wherever_it_stood() {
    for leaves in 0..5 {
        let (held, mut tasks, model) = line(5);
        drop(tasks.remove(leaves));
        drop(held);
        for task in &mut tasks {
            assert_eq!(task.wakes(), 1);
            assert!(task.poll().is_ready());
        }
        assert_eq!((model.sends(), model.live()), (5, 0), "whoever left was never sent");
    }
}

/// Its wake-up goes on to the next: between the wake and the poll a permit belongs to nobody else.
#[test]
fn a_waiter_that_leaves_between_its_wake_and_its_poll_loses_no_wake_up() {
    let (held, mut tasks, _) = line(3);
    drop(held);
    assert_eq!((tasks[0].wakes(), tasks[1].wakes()), (1, 0));
    drop(tasks.remove(0));
    assert_eq!(tasks[0].wakes(), 1, "the next is woken in its place");
    assert!(tasks[0].poll().is_ready() && tasks[1].poll().is_ready());
}

#[test]
fn a_call_that_was_never_polled_stands_in_no_line() {
    let model = fake(|_, n: u32| if n == u32::MAX { Never } else { Now(Ok(n)) });
    let mut service = limit(1).layer(model);
    let mut call = |n| -> Asked {
        assert!(service.poll_ready(&mut Cx::from_waker(Waker::noop())).is_ready());
        Box::pin(service.call(n))
    };
    let (mut held, _unpolled, mut second) = (call(u32::MAX), call(1), call(2));
    assert!(poll(held.as_mut()).is_pending() && poll(second.as_mut()).is_pending());
    drop(held);
    assert!(poll(second.as_mut()).is_ready());
}

#[tokio::test(start_paused = true)]
async fn a_call_may_be_dropped_after_any_poll() {
    guarded(async {
        for slow in [false, true] {
            for polls in 0..12_u32 {
                let inner = TowerLimit::new(model(), if slow { 1 } else { 9 });
                let service = limit(1).layer(inner.clone());
                let held = tokio::spawn(service.clone().oneshot(2));
                yield_now().await;
                let busy = tokio::spawn(inner.clone().oneshot(4));
                yield_now().await;
                let mut left = polls;
                let mut call = Box::pin(ask(&service, 1));
                std::future::poll_fn(|cx| {
                    let ended = left == 0 || call.as_mut().poll(cx).is_ready();
                    left = left.saturating_sub(1);
                    if ended || left == 0 { Poll::Ready(()) } else { Poll::Pending }
                })
                .await;
                drop(call);
                assert_eq!(held.await.unwrap().unwrap(), 2, "{polls}");
                assert_eq!(ask(&service, 0).await.unwrap(), 0, "{polls}: the permit is back");
                assert_eq!(busy.await.unwrap().unwrap(), 4);
                assert_eq!(ask(&inner, 0).await.unwrap(), 0, "{polls}: readiness is back");
            }
        }
    })
    .await;
}

/// Tasks that wait, leave and are woken on two threads at once: whoever stays is answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_wake_up_is_lost_between_threads() {
    let model = fake(|_, n: u32| Now(Ok(n)));
    let service = limit(2).layer(model.clone());
    let tasks: Vec<_> = (0..2000)
        .map(|n| {
            let service = service.clone();
            tokio::spawn(async move {
                let mut call = Box::pin(ask(&service, n));
                if n % 3 == 0 {
                    let _ = std::future::poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx))).await;
                    return;
                }
                assert_eq!(call.await.unwrap(), n);
            })
        })
        .collect();
    let all = async {
        for task in tasks {
            task.await.unwrap();
        }
    };
    tokio::time::timeout(seconds(60), all).await.expect("somebody waits for ever");
    assert_eq!(model.live(), 0);
}
