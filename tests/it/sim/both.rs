//! One core, two fronts: a script is the same over a socket and in process.
use super::*;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use seawall::sim::{Fault, Framing, Garble, InProcess, Script, When};
use tower::ServiceExt;

fn faults() -> Vec<Fault> {
    let mut faults = vec![Fault::status(429).header("retry-after", "1"), Fault::status(500).body("")];
    for phase in Phase::ALL {
        faults.extend([Fault::cut(phase), Fault::reset(phase), Fault::delay(phase, ms(2))]);
        faults.extend([Fault::silence_for(phase, ms(2)), Fault::cut(phase).framing(Framing::Chunked)]);
    }
    faults.extend(Garble::ALL.map(Fault::garbled));
    faults.extend([Fault::huge_body(100_000), Fault::huge_header(100_000), Fault::huge_body(3)]);
    faults
}

fn script() -> Script {
    let numbered = (1..).zip(faults());
    numbered.fold(Script::seeded(1), |script, (nth, fault)| script.fault(When::nth(nth), fault))
}

/// All of a record that does not depend on the front: no times, no headers of the client.
fn essence(records: Vec<Record>) -> Vec<String> {
    let essence = |record: Record| {
        let Record { number, path, body_len, fault, phase, status, sent, end, .. } = record;
        format!("{number} {path} {body_len} {fault:?} {phase:?} {status:?} {sent} {end:?}")
    };
    records.into_iter().map(essence).collect()
}

#[tokio::test]
async fn both_fronts_play_every_fault_alike() {
    let count = faults().len() + 1;
    let server = MockProvider::start(script()).await.unwrap();
    for _ in 0..count {
        exchange(&server, &post("connection: close\r\n")).await.1.ok();
    }
    let service = InProcess::new(script()).unwrap();
    for _ in 0..count {
        let request = http::Request::post("/v1/chat/completions").body(Full::<Bytes>::from(CHAT)).unwrap();
        if let Ok(response) = service.clone().oneshot(request).await {
            response.into_body().collect().await.ok();
        }
    }
    assert_eq!(server.hits(), service.hits());
    let (server, service) = (essence(server.shutdown().await.records), essence(service.log().records));
    assert_eq!(server.len(), count);
    assert_eq!(server, service);
}
