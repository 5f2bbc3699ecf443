//! Each fault at each phase, as a plain socket sees it.
use super::*;
use seawall::sim::{Fault, Framing, Garble, Script, When};

async fn provider(fault: Fault) -> MockProvider {
    MockProvider::start(Script::seeded(1).fault(When::always(), fault)).await.unwrap()
}

/// Whether so much of an answer arrived as comes before the phase.
fn assert_stopped(phase: Phase, bytes: &str) {
    let (head, body) = bytes.split_once("\r\n\r\n").map_or((bytes, None), |(head, body)| (head, Some(body)));
    match (phase, body) {
        (Phase::BeforeHead, None) => assert_eq!(head, ""),
        (Phase::InHead, None) => assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{bytes}"),
        (Phase::BeforeBody, Some(body)) => assert_eq!(body, ""),
        (Phase::InBody, Some(body)) => {
            let announced = head.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
            let announced: usize = announced.parse().unwrap();
            assert!(!body.is_empty() && body.len() < announced, "{} of {announced}", body.len());
        }
        (Phase::AtEnd, Some(body)) => {
            assert!(head.contains("transfer-encoding: chunked") && body.ends_with("}\r\n"), "{bytes}");
        }
        _ => panic!("{phase:?}: {bytes}"),
    }
}

#[tokio::test]
async fn a_cut_closes_the_connection_at_its_phase() {
    for phase in Phase::ALL {
        let provider = provider(Fault::cut(phase)).await;
        let (bytes, end) = exchange(&provider, &post("")).await;
        assert!(end.is_ok(), "{phase:?}: {end:?}");
        assert_stopped(phase, &bytes);
        let log = provider.shutdown().await;
        assert_eq!(told(&log.records[0]), (Some(FaultKind::Cut), Some(phase), End::Broken));
    }
}

#[tokio::test]
async fn a_reset_resets_the_connection_at_its_phase() {
    for phase in Phase::ALL {
        let provider = provider(Fault::reset(phase)).await;
        let (bytes, end) = exchange(&provider, &post("")).await;
        assert_eq!(end.unwrap_err().kind(), io::ErrorKind::ConnectionReset, "{phase:?}");
        assert_stopped(phase, &bytes);
        let log = provider.shutdown().await;
        assert_eq!(told(&log.records[0]), (Some(FaultKind::Reset), Some(phase), End::Broken));
    }
}

#[tokio::test]
async fn a_silence_leaves_the_connection_open_until_the_client_leaves() {
    for phase in Phase::ALL {
        let provider = provider(Fault::silence(phase)).await;
        let mut stream = connect(&provider).await;
        stream.write_all(post("").as_bytes()).await.unwrap();
        has_seen(&provider, 1).await;
        let mut bytes = Vec::new();
        let open = tokio::time::timeout(ms(50), stream.read_to_end(&mut bytes)).await;
        assert!(open.is_err(), "{phase:?} ended: {open:?}");
        assert_stopped(phase, &String::from_utf8_lossy(&bytes));
        assert_eq!(told(&provider.log().records[0]), (Some(FaultKind::Silence), Some(phase), End::Open));
        assert_eq!(provider.in_flight(), 1);
        drop(stream);
        provider.settled().await;
        assert_eq!(provider.log().records[0].end, End::HungUp, "{phase:?}");
    }
}

#[tokio::test]
async fn a_bounded_silence_closes_the_connection_in_the_end() {
    for phase in Phase::ALL {
        let provider = provider(Fault::silence_for(phase, ms(30))).await;
        let (bytes, end) = exchange(&provider, &post("")).await;
        assert!(end.is_ok(), "{phase:?}: {end:?}");
        assert_stopped(phase, &bytes);
        let record = provider.shutdown().await.records.remove(0);
        assert!(record.end == End::Broken && record.took >= ms(30), "{record:?}");
    }
}

#[tokio::test]
async fn a_delay_is_followed_by_the_whole_answer() {
    let (whole, _) =
        exchange(&MockProvider::start(Script::seeded(1)).await.unwrap(), &post("connection: close\r\n")).await;
    for phase in Phase::ALL {
        let provider = provider(Fault::delay(phase, ms(30))).await;
        let (bytes, end) = exchange(&provider, &post("connection: close\r\n")).await;
        assert!(end.is_ok(), "{phase:?}: {end:?}");
        match phase {
            Phase::AtEnd => assert!(bytes.ends_with("}\r\n0\r\n\r\n"), "{bytes}"),
            _ => assert_eq!(bytes, whole, "{phase:?}"),
        }
        let record = provider.shutdown().await.records.remove(0);
        assert_eq!(told(&record), (Some(FaultKind::Delay), Some(phase), End::Answered));
        let least = if phase == Phase::InBody { ms(90) } else { ms(30) };
        assert!(record.took >= least, "{phase:?}: {:?}", record.took);
    }
}

#[tokio::test]
async fn a_chunked_body_is_cut_without_its_last_chunk() {
    let provider = provider(Fault::cut(Phase::InBody).framing(Framing::Chunked)).await;
    let (bytes, _) = exchange(&provider, &post("")).await;
    assert!(bytes.contains("transfer-encoding: chunked\r\n") && !bytes.contains("\r\n0\r\n"), "{bytes}");
}

#[tokio::test]
async fn what_is_malformed_reaches_a_real_client_as_such() {
    for what in Garble::ALL {
        let provider = provider(Fault::garbled(what)).await;
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let url = format!("{}/chat/completions", provider.base_url());
        let sent = client.post(url).body(CHAT).send().await;
        match what {
            Garble::Head => assert!(sent.unwrap_err().is_request()),
            Garble::ContentType => {
                let response = sent.unwrap();
                assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8");
                assert!(serde_json::from_slice::<serde_json::Value>(&response.bytes().await.unwrap()).is_ok());
            }
            Garble::Json => {
                let bytes = sent.unwrap().bytes().await.unwrap();
                assert!(serde_json::from_slice::<serde_json::Value>(&bytes).unwrap_err().is_eof());
            }
            Garble::Chunk => assert!(sent.unwrap().bytes().await.unwrap_err().is_decode()),
            _ => panic!("{what:?} has no test"),
        }
    }
}

#[tokio::test]
async fn a_status_comes_with_its_headers_and_with_its_own_or_the_usual_body() {
    let script = Script::seeded(1)
        .fault(When::nth(1), Fault::status(429).header("retry-after", "7"))
        .fault(When::nth(2), Fault::status(502).header("content-type", "text/html").body("<h1>Bad</h1>"))
        .fault(When::nth(3), Fault::cut(Phase::InBody).with_status(503));
    let provider = MockProvider::start(script).await.unwrap();
    let (limited, _) = exchange(&provider, &post("connection: close\r\n")).await;
    assert!(limited.starts_with("HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\n"), "{limited}");
    assert!(limited.contains("\r\nretry-after: 7\r\n") && limited.contains("rate_limit_exceeded"), "{limited}");
    let (html, _) = exchange(&provider, &post("connection: close\r\n")).await;
    assert!(html.contains("\r\ncontent-type: text/html\r\n") && html.ends_with("\r\n\r\n<h1>Bad</h1>"), "{html}");
    assert_eq!(html.matches("content-type").count(), 1, "{html}");
    let (cut, _) = exchange(&provider, &post("connection: close\r\n")).await;
    assert!(cut.starts_with("HTTP/1.1 503 ") && !cut.ends_with('}'), "{cut}");
}

#[tokio::test]
async fn a_gibibyte_of_error_is_sent_without_being_kept() {
    let provider = provider(Fault::huge_body(1 << 30)).await;
    let mut stream = connect(&provider).await;
    stream.write_all(post("connection: close\r\n").as_bytes()).await.unwrap();
    let (mut read, mut chunk) = (0, vec![0; 1 << 20]);
    loop {
        match stream.read(&mut chunk).await.unwrap() {
            0 => break,
            more => read += more as u64,
        }
    }
    assert!(read > 1 << 30, "{read}");
    let record = provider.shutdown().await.records.remove(0);
    assert_eq!((record.status, record.sent, record.end), (Some(500), 1 << 30, End::Answered));
}

#[tokio::test]
async fn a_client_that_leaves_a_huge_body_is_noticed() {
    let provider = provider(Fault::huge_body(1 << 30)).await;
    let mut stream = connect(&provider).await;
    stream.write_all(post("").as_bytes()).await.unwrap();
    stream.read_exact(&mut [0; 1024]).await.unwrap();
    drop(stream);
    provider.settled().await;
    let record = provider.shutdown().await.records.remove(0);
    assert!(record.end == End::HungUp && record.sent < 1 << 30, "{record:?}");
}

#[tokio::test]
async fn a_huge_header_is_as_long_as_it_says() {
    let provider = provider(Fault::huge_header(1 << 20)).await;
    let (bytes, _) = exchange(&provider, &post("connection: close\r\n")).await;
    let filler = bytes.split("x-filler: ").nth(1).unwrap().split("\r\n").next().unwrap();
    assert_eq!(filler.len(), 1 << 20);
    assert!(bytes.ends_with('}'));
}
