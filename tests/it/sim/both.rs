//! One core, two fronts: a script is the same over a socket and in process.
use super::*;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use seawall::sim::{Answer, BadEvent, Fault, Framing, Garble, InProcess, Script, Stream, When};
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

fn in_streams() -> Vec<Fault> {
    let mut faults = faults();
    for phase in [Phase::BeforeBody, Phase::InBody, Phase::AfterTokens(0), Phase::AfterTokens(3)] {
        faults.extend([Fault::truncate(phase), Fault::cut(phase), Fault::reset(phase), Fault::delay(phase, ms(2))]);
    }
    for event in [BadEvent::Error, BadEvent::NotJson, BadEvent::NotUtf8, BadEvent::Huge(100_000)] {
        faults.extend([Fault::event(Phase::BeforeBody, event), Fault::event(Phase::AfterTokens(3), event)]);
    }
    let stream = Stream::default().per_token(ms(2)).keep_alive(ms(1));
    faults.push(Fault::answer(Answer::default().stream(stream.chunks(5.try_into().unwrap()))));
    faults
}

fn script(faults: Vec<Fault>) -> Script {
    let numbered = (1..).zip(faults);
    numbered.fold(Script::seeded(1), |script, (nth, fault)| script.fault(When::nth(nth), fault))
}

/// All of a record that does not depend on the front: no times, no headers of the client.
fn essence(records: Vec<Record>) -> Vec<String> {
    let essence = |record: Record| {
        let Record { number, path, body_len, fault, phase, status, sent, events, tokens, end, .. } = record;
        format!("{number} {path} {body_len} {fault:?} {phase:?} {status:?} {sent} {events} {tokens} {end:?}")
    };
    records.into_iter().map(essence).collect()
}

async fn play_alike(faults: Vec<Fault>, body: &'static str) {
    let count = faults.len() + 1;
    let server = MockProvider::start(script(faults.clone())).await.unwrap();
    for _ in 0..count {
        exchange(&server, &post_of(body, "connection: close\r\n")).await.1.ok();
    }
    let service = InProcess::new(script(faults)).unwrap();
    for _ in 0..count {
        let request = http::Request::post("/v1/chat/completions").body(Full::<Bytes>::from(body)).unwrap();
        if let Ok(response) = service.clone().oneshot(request).await {
            response.into_body().collect().await.ok();
        }
    }
    assert_eq!(server.hits(), service.hits());
    let (server, service) = (essence(server.shutdown().await.records), essence(service.log().records));
    assert_eq!(server.len(), count);
    assert_eq!(server, service);
}

#[tokio::test]
async fn both_fronts_play_every_fault_alike() {
    play_alike(faults(), CHAT).await;
}

#[tokio::test]
async fn both_fronts_stream_alike() {
    play_alike(in_streams(), r#"{"model":"m","stream":true,"messages":[]}"#).await;
}

#[tokio::test]
async fn a_stream_over_a_connection_has_the_bytes_of_the_one_in_process() {
    let answer = Answer::default().text("One two three.").stream(Stream::default().chunks(7.try_into().unwrap()));
    let server = MockProvider::start(Script::seeded(1).answer(answer.clone())).await.unwrap();
    let body = r#"{"model":"m","stream":true,"messages":[]}"#;
    let (bytes, _) = exchange(&server, &post_of(body, "connection: close\r\n")).await;
    let (head, chunks) = bytes.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("content-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"), "{head}");
    assert!(head.contains("transfer-encoding: chunked") && chunks.ends_with("0\r\n\r\n"), "{bytes}");
    let service = InProcess::new(Script::seeded(1).answer(answer)).unwrap();
    let request = http::Request::post("/v1/chat/completions").body(Full::<Bytes>::from(body)).unwrap();
    let mut expected = service.oneshot(request).await.unwrap().into_body();
    let mut rest = chunks;
    while let Some(frame) = expected.frame().await {
        let piece = frame.unwrap().into_data().unwrap();
        let chunk = format!("{:x}\r\n{}\r\n", piece.len(), std::str::from_utf8(&piece).unwrap());
        rest = rest.strip_prefix(&chunk).unwrap_or_else(|| panic!("{chunk:?} is not where it should be: {rest:?}"));
    }
    assert_eq!(rest, "0\r\n\r\n");
}
