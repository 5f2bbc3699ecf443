use super::*;
use crate::{
    ask,
    fake::{Now, failing},
    guarded,
};
use seawall::failover::{Failover, Route};
use std::{cell::Cell, future::ready, rc::Rc};
use tower::{ServiceBuilder, ServiceExt as _, service_fn, util::BoxCloneSyncService};

#[tokio::test(start_paused = true)]
async fn the_future_of_routes_of_two_types_can_be_spawned() {
    guarded(async {
        let boxed = BoxCloneSyncService::new(named("second"));
        let service = Failover::new(fake(|_, _: u64| failing(Kind::Server))).then(boxed.clone()).on_failure();
        assert_eq!(tokio::spawn(service.oneshot(1)).await.unwrap().unwrap(), "second");
        let list = Failover::list(vec![Route::new(boxed.clone()), Route::new(boxed)]).unwrap();
        assert_eq!(tokio::spawn(list.oneshot(1)).await.unwrap().unwrap(), "second");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn nothing_need_be_send_or_static() {
    let (asked, shared) = (Cell::new(0), Rc::new(7));
    let fails = service_fn(|_: Rc<u64>| {
        asked.set(asked.get() + 1);
        ready(Err::<Rc<u64>, _>(Error::provider(Kind::Server)))
    });
    let well = service_fn(|n: Rc<u64>| {
        asked.set(asked.get() + 1);
        ready(Ok::<_, Error>(n))
    });
    let counted = |n: Rc<u64>| {
        asked.set(asked.get() + 10);
        n
    };
    let service = Failover::new(fails).then(well).map(counted).on_failure();
    assert_eq!(*ask(&service, shared).await.unwrap(), 7);
    assert_eq!(asked.get(), 12);
}

#[tokio::test(start_paused = true)]
async fn it_stands_under_layers_of_a_plain_builder() {
    let failover = Failover::new(fake(|n, _: u64| if n == 0 { failing(Kind::Server) } else { Now(Ok("first")) }))
        .then(fake(|_, _: u64| failing(Kind::Overloaded)))
        .on_failure();
    let service = ServiceBuilder::new().layer(RetryLayer::new().seed(1)).concurrency_limit(1).service(failover);
    assert_eq!(service.oneshot(1).await.unwrap(), "first");
}

#[tokio::test(start_paused = true)]
async fn a_call_clones_each_route_once() {
    struct Counted(Rc<Cell<u32>>);
    impl Clone for Counted {
        fn clone(&self) -> Self {
            self.0.set(self.0.get() + 1);
            Self(self.0.clone())
        }
    }
    impl Service<u64> for Counted {
        type Response = u64;
        type Error = Error;
        type Future = std::future::Ready<Result<u64, Error>>;

        fn poll_ready(&mut self, _: &mut Cx<'_>) -> Poll<Result<(), Error>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, n: u64) -> Self::Future {
            ready(Ok(n))
        }
    }
    let [first, second] = [(); 2].map(|()| Rc::new(Cell::new(0)));
    let mut service = Failover::new(Counted(first.clone())).then(Counted(second.clone()));
    service.ready().await.unwrap().call(1).await.unwrap();
    assert_eq!((first.get(), second.get()), (1, 1));
    let list = vec![Route::new(Counted(first.clone())), Route::new(Counted(second.clone()))];
    let mut service = Failover::list(list).unwrap();
    service.ready().await.unwrap().call(1).await.unwrap();
    assert_eq!((first.get(), second.get()), (2, 1), "a list clones only what it asks");
}

#[test]
fn sixty_four_routes_may_be_written_one_by_one() {
    macro_rules! eight {
        ($service:expr) => {
            $service.then(()).then(()).then(()).then(()).then(()).then(()).then(()).then(())
        };
    }
    let most = Failover::new(()).then(()).then(()).then(()).then(()).then(()).then(()).then(());
    let _: Failover<_> = eight!(eight!(eight!(eight!(eight!(eight!(eight!(most)))))));
}
