//! The Tower contract, asked of every layer. A new layer adds a row; without one, a test fails.
use crate::{
    fake::{Answer::*, Fake, failing, fake},
    guarded, seconds,
};
use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use seawall::{
    Error, Kind,
    adapters::tonic::{GrpcClassifyLayer, GrpcClientLayer, RequestBody},
    circuit_breaker::CircuitBreakerLayer,
    classify::ClassifyLayer,
    concurrency_limit::ConcurrencyLimitLayer,
    failover::Failover,
    observe::{ObserveLayer, telemetry},
    recovery::{Recovery, RecoveryLayer},
    retry::RetryLayer,
    timeout::{AttemptTimeoutLayer, DeadlineLayer},
};
use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    task::{Context as Cx, Poll, Waker},
    time::Duration,
};
use tokio::task::yield_now;
use tonic::body::Body as TonicBody;
use tower::{BoxError, Layer, Service, ServiceExt, buffer::Buffer, limit::ConcurrencyLimit, util::BoxCloneService};

type Boxed = BoxCloneService<u32, u32, Error>;

struct Row {
    folder: &'static str,
    layer: &'static str,
    /// How often it asks, where every answer is a server error.
    attempts: u32,
    wrap: fn(Boxed) -> Boxed,
}

fn rows() -> Vec<Row> {
    vec![
        Row {
            folder: "circuit_breaker",
            layer: "CircuitBreakerLayer",
            attempts: 1,
            wrap: |inner| Boxed::new(CircuitBreakerLayer::new().layer(inner)),
        },
        Row {
            folder: "classify",
            layer: "ClassifyLayer",
            attempts: 1,
            wrap: |inner| Boxed::new(ClassifyLayer::boxed().layer(inner.map_err(BoxError::from))),
        },
        Row {
            folder: "classify",
            layer: "ClassifyLayer",
            attempts: 1,
            wrap: |inner| {
                Boxed::new(
                    ClassifyLayer::http().layer(inner.map_response(as_http)).map_response(|answer| from_http(&answer)),
                )
            },
        },
        Row {
            folder: "concurrency_limit",
            layer: "ConcurrencyLimitLayer",
            attempts: 1,
            wrap: |inner| Boxed::new(ConcurrencyLimitLayer::new(1).unwrap().layer(inner)),
        },
        Row {
            folder: "concurrency_limit",
            layer: "ConcurrencyLimitLayer",
            attempts: 1,
            wrap: |inner| Boxed::new(ConcurrencyLimitLayer::unlimited().layer(inner)),
        },
        Row {
            folder: "failover",
            layer: "Failover",
            attempts: 2,
            wrap: |inner| {
                let two = Failover::new(inner.clone()).then(inner).on_failure();
                Boxed::new(two.ready_within(seconds(1800)).unwrap())
            },
        },
        Row {
            folder: "observe",
            layer: "ObserveLayer",
            attempts: 1,
            wrap: |inner| {
                let (operation, attempt) = (ObserveLayer::operation(), ObserveLayer::attempt().route("a"));
                Boxed::new(operation.sink(telemetry()).layer(attempt.sink(telemetry()).layer(inner)))
            },
        },
        Row {
            folder: "recovery",
            layer: "RecoveryLayer",
            attempts: 1,
            wrap: |inner| Boxed::new(RecoveryLayer::new(Recovery::Fail).layer(inner)),
        },
        Row {
            folder: "recovery",
            layer: "RecoveryLayer",
            attempts: 1,
            wrap: |inner| Boxed::new(RecoveryLayer::new(Recovery::BufferThenRestart).layer(inner)),
        },
        Row {
            folder: "retry",
            layer: "RetryLayer",
            attempts: 3,
            wrap: |inner| Boxed::new(RetryLayer::new().seed(1).layer(inner)),
        },
        Row {
            folder: "timeout",
            layer: "AttemptTimeoutLayer",
            attempts: 1,
            wrap: |inner| Boxed::new(AttemptTimeoutLayer::new().layer(inner)),
        },
        Row {
            folder: "timeout",
            layer: "DeadlineLayer",
            attempts: 1,
            wrap: |inner| Boxed::new(DeadlineLayer::new(seconds(1800)).unwrap().layer(inner)),
        },
        Row {
            folder: "tonic",
            layer: "GrpcClassifyLayer",
            attempts: 1,
            wrap: |inner| {
                let channel =
                    inner.map_request(|asked: http::Request<TonicBody>| of_http(&asked)).map_response(as_http);
                let classified = GrpcClassifyLayer::new().layer(channel);
                Boxed::new(classified.map_request(to_http).map_response(|answer| from_http(&answer)))
            },
        },
        Row {
            folder: "tonic",
            layer: "GrpcClientLayer",
            attempts: 1,
            wrap: |inner| {
                let stack =
                    inner.map_request(|asked: http::Request<RequestBody>| of_http(&asked)).map_response(as_http);
                let client = GrpcClientLayer::new().layer(stack).map_request(to_http);
                Boxed::new(client.map_response(|answer| from_http(&answer)).map_err(|status| from_status(&status)))
            },
        },
    ]
}

#[test]
fn every_layer_has_a_row() {
    let here: BTreeSet<_> = rows().iter().map(|row| (row.folder.to_owned(), row.layer.to_owned())).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut there = BTreeSet::new();
    let layers = fs::read_dir(root.join("layers")).unwrap().map(|entry| entry.unwrap().path());
    for folder in layers.filter(|path| path.is_dir()).chain([root.join("adapters/tonic")]) {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let layers = layers_in(&folder);
        assert!(!layers.is_empty(), "{name} has no layer");
        there.extend(layers.into_iter().map(|layer| (name.to_owned(), layer)));
    }
    assert_eq!(here, there, "left: the rows of this harness, right: the layers of the crate");
}

fn layers_in(folder: &Path) -> Vec<String> {
    let mut layers = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            layers.extend(layers_in(&path));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let structs = text.lines().filter_map(|line| line.trim_start().strip_prefix("pub struct "));
        let names = structs.filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next());
        // A failover joins several services, and is therefore made without a layer.
        let layer = |name: &&str| name.ends_with("Layer") || *name == "Failover";
        layers.extend(names.filter(layer).map(str::to_owned));
    }
    layers
}

#[tokio::test(start_paused = true)]
async fn every_attempt_is_made_on_an_instance_that_is_ready() {
    for row in rows() {
        three_failures(&row).await;
    }
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "called without being ready")]
async fn a_layer_that_calls_a_fresh_clone_is_noticed() {
    three_failures(&Row { folder: "", layer: "Unready", attempts: 1, wrap: |inner| Boxed::new(Unready(inner)) }).await;
}

async fn three_failures(row: &Row) {
    let probe = probe(|_, _| failing(Kind::Server));
    let mut service = row.around(probe.clone());
    guarded(async {
        for round in 1..=3 {
            let error = service.ready().await.unwrap().call(7).await.unwrap_err();
            assert_eq!(error.kind(), Kind::Server, "{}", row.layer);
            assert_eq!((error.sends(), probe.sends()), (row.attempts, round * row.attempts), "{}", row.layer);
        }
        probe.assert_idle(row);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_inner_service_that_is_not_ready_is_waited_for() {
    for row in rows() {
        let probe = probe(|_, n| Now(Ok(n)));
        probe.set(Readiness::Pending);
        let call = tokio::spawn(row.around(probe.clone()).oneshot(7));
        settle().await;
        assert!(!call.is_finished(), "{} does not wait", row.layer);
        assert_eq!(probe.sends(), 0, "{}", row.layer);
        probe.set(Readiness::Ready);
        guarded(async { assert_eq!(call.await.unwrap().unwrap(), 7, "{}", row.layer) }).await;
        probe.assert_idle(&row);
    }
}

#[tokio::test(start_paused = true)]
async fn a_clone_takes_no_readiness_along_and_works() {
    for row in rows() {
        let probe = probe(|_, n| Now(Ok(n)));
        let mut service = row.around(probe.clone());
        guarded(async {
            service.ready().await.unwrap();
            let reserved = probe.reserved();
            let mut twin = service.clone();
            assert_eq!(probe.reserved(), reserved, "{}: a clone holds nothing", row.layer);
            assert_eq!(service.call(1).await.unwrap(), 1, "{}: the original is ready still", row.layer);
            assert_eq!(twin.ready().await.unwrap().call(2).await.unwrap(), 2, "{}", row.layer);
            probe.assert_idle(&row);
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_dropped_before_the_call_gives_everything_back() {
    for row in rows() {
        let probe = probe(|_, _| Never);
        let mut service = row.around(probe.clone());
        service.ready().await.unwrap();
        drop(service);
        probe.assert_idle(&row);

        let mut service = row.around(probe.clone());
        let unpolled = service.ready().await.unwrap().call(7);
        drop((unpolled, service));
        probe.assert_idle(&row);

        probe.set(Readiness::Pending);
        let mut service = row.around(probe.clone());
        let _ = service.poll_ready(&mut Cx::from_waker(Waker::noop()));
        drop(service);
        probe.assert_idle(&row);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_dropped_at_any_time_of_the_call_gives_everything_back() {
    for row in rows() {
        for tenths in 0..100 {
            let probe = probe(|nth, _| match nth {
                0 | 1 => After(Duration::from_millis(350), Err(Error::provider(Kind::Server))),
                _ => Never,
            });
            let limited = ConcurrencyLimit::new(probe.clone(), 1);
            let call = tokio::spawn(row.around(limited.clone()).oneshot(7));
            tokio::time::sleep(Duration::from_millis(100 * tenths)).await;
            call.abort();
            let _ = call.await;
            probe.assert_idle(&row);
            guarded(async { drop(limited.ready_oneshot().await.unwrap()) }).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_of_readiness_reaches_the_caller() {
    for row in rows() {
        let probe = probe(|_, n| Now(Ok(n)));
        probe.set(Readiness::Failed);
        guarded(async {
            let error = row.around(probe.clone()).oneshot(7).await.unwrap_err();
            assert_eq!((error.kind(), error.sends(), probe.sends()), (Kind::Cancelled, 0, 0), "{}", row.layer);
            probe.assert_idle(&row);
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_of_readiness_between_two_attempts_reaches_the_caller_too() {
    for row in rows().into_iter().filter(|row| row.attempts > 1) {
        let probe = probe(|_, _| After(seconds(1), Err(Error::provider(Kind::Server))));
        let call = tokio::spawn(row.around(probe.clone()).oneshot(7));
        settle().await;
        probe.set(Readiness::Failed);
        guarded(async {
            let error = call.await.unwrap().unwrap_err();
            assert_eq!((error.kind(), error.sends(), probe.sends()), (Kind::Cancelled, 1, 1), "{}", row.layer);
            probe.assert_idle(&row);
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn calls_take_turns_at_one_permit_inside_or_outside() {
    for row in rows() {
        let probe = probe(fails_until_the_last(row.attempts));
        let inside = row.around(ConcurrencyLimit::new(probe.clone(), 1));
        three_calls(&row, &probe, inside).await;
        let outside = Boxed::new(ConcurrencyLimit::new(row.around(probe.clone()), 1));
        three_calls(&row, &probe, outside).await;
    }
}

#[tokio::test(start_paused = true)]
async fn calls_pass_a_buffer_inside_or_outside() {
    for row in rows() {
        let probe = probe(fails_until_the_last(row.attempts));
        let inside = row.around(ClassifyLayer::boxed().layer(Buffer::new(probe.clone(), 1)));
        three_calls(&row, &probe, inside).await;
        let outside = Boxed::new(ClassifyLayer::boxed().layer(Buffer::new(row.around(probe.clone()), 1)));
        three_calls(&row, &probe, outside).await;
    }
}

/// Three at once, through clones and one after the other by one instance.
async fn three_calls(row: &Row, probe: &Probe, mut service: Boxed) {
    guarded(async {
        let before = probe.sends();
        let calls: Vec<_> = (0..3).map(|n| tokio::spawn(service.clone().oneshot(n))).collect();
        for (n, call) in (0..).zip(calls) {
            assert_eq!(call.await.unwrap().unwrap(), n, "{}", row.layer);
        }
        for n in 3..6 {
            assert_eq!(service.ready().await.unwrap().call(n).await.unwrap(), n, "{}", row.layer);
        }
        assert_eq!(probe.sends() - before, 6 * row.attempts, "{}", row.layer);
        drop(service);
        settle().await;
        probe.assert_idle(row);
    })
    .await;
}

/// Each of the requests fails as often as the layer repeats it.
fn fails_until_the_last(attempts: u32) -> impl Fn(u32, u32) -> crate::fake::Answer<u32> + Send + Sync + 'static {
    let failed: Mutex<Vec<u32>> = Mutex::default();
    move |_, n| {
        let mut failed = failed.lock().unwrap();
        let times = failed.iter().filter(|&&seen| seen == n).count() as u32;
        if times + 1 == attempts {
            failed.retain(|&seen| seen != n);
            return After(seconds(1), Ok(n));
        }
        failed.push(n);
        After(seconds(1), Err(Error::provider(Kind::Server)))
    }
}

/// Lets every task run that can, without any time passing.
async fn settle() {
    for _ in 0..20 {
        yield_now().await;
    }
}

fn as_http(n: u32) -> Response<Full<Bytes>> {
    let mut response = Response::default();
    response.extensions_mut().insert(n);
    response
}

fn to_http(n: u32) -> http::Request<TonicBody> {
    let mut request = http::Request::new(TonicBody::empty());
    request.extensions_mut().insert(n);
    request
}

fn of_http<B>(request: &http::Request<B>) -> u32 {
    *request.extensions().get().expect("a request keeps its extensions")
}

fn from_status(status: &tonic::Status) -> Error {
    let error = Error::find(status).expect("a status keeps the error that it was");
    Error::provider(error.kind()).with_sends(error.sends())
}

fn from_http<B>(response: &Response<B>) -> u32 {
    *response.extensions().get().expect("an answer keeps its extensions")
}

impl Row {
    fn around<S>(&self, inner: S) -> Boxed
    where
        S: Service<u32, Response = u32, Error = Error> + Clone + Send + 'static,
        S::Future: Send + 'static,
    {
        (self.wrap)(Boxed::new(inner))
    }
}

/// The mistake that the contract is most often broken by.
#[derive(Clone)]
struct Unready(Boxed);

impl Service<u32> for Unready {
    type Response = u32;
    type Error = Error;
    type Future = <Boxed as Service<u32>>::Future;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, n: u32) -> Self::Future {
        let mut fresh = self.0.clone();
        fresh.call(n)
    }
}

/// A [`Fake`] that is ready when it is told to be, and counts who holds its readiness.
struct Probe {
    fake: Fake<u32, u32>,
    door: Arc<Door>,
    reserved: Option<Reserved>,
}

#[derive(Default)]
struct Door {
    state: Mutex<(Readiness, Vec<Waker>)>,
    reserved: AtomicU32,
}

#[derive(Clone, Copy, Default)]
enum Readiness {
    #[default]
    Ready,
    Pending,
    Failed,
}

struct Reserved(Arc<Door>);

impl Reserved {
    fn new(door: &Arc<Door>) -> Self {
        door.reserved.fetch_add(1, Relaxed);
        Self(Arc::clone(door))
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.0.reserved.fetch_sub(1, Relaxed);
    }
}

fn probe(script: impl Fn(u32, u32) -> crate::fake::Answer<u32> + Send + Sync + 'static) -> Probe {
    Probe { fake: fake(script), door: Arc::default(), reserved: None }
}

impl Probe {
    fn set(&self, readiness: Readiness) {
        let mut state = self.door.state.lock().unwrap();
        state.0 = readiness;
        state.1.drain(..).for_each(Waker::wake);
    }

    fn sends(&self) -> u32 {
        self.fake.sends()
    }

    fn reserved(&self) -> u32 {
        self.door.reserved.load(Relaxed)
    }

    fn assert_idle(&self, row: &Row) {
        assert_eq!((self.fake.live(), self.reserved()), (0, 0), "{} leaks: calls, readiness", row.layer);
    }
}

impl Clone for Probe {
    fn clone(&self) -> Self {
        Self { fake: self.fake.clone(), door: Arc::clone(&self.door), reserved: None }
    }
}

impl Service<u32> for Probe {
    type Response = u32;
    type Error = Error;
    type Future = <Fake<u32, u32> as Service<u32>>::Future;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        let mut state = self.door.state.lock().unwrap();
        match state.0 {
            Readiness::Failed => return Poll::Ready(Err(Error::refusal(Kind::Cancelled))),
            Readiness::Pending => {
                state.1.push(cx.waker().clone());
                return Poll::Pending;
            }
            Readiness::Ready => {}
        }
        drop(state);
        self.reserved.get_or_insert_with(|| Reserved::new(&self.door));
        self.fake.poll_ready(cx)
    }

    fn call(&mut self, n: u32) -> Self::Future {
        self.reserved = None;
        self.fake.call(n)
    }
}
