//! The same provider in virtual time.
use super::*;
use crate::{ask, guarded, seconds, timed};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use seawall::{
    Kind, chat,
    provider::Anthropic,
    sim::{Answer, Body, Fault, Garble, InProcess, Limits, Log, Script, When},
};
use std::num::NonZeroU32;
use tower::ServiceExt;

fn provider(script: Script) -> InProcess {
    InProcess::new(script).unwrap()
}

fn request(body: &str) -> Request<Full<Bytes>> {
    Request::post("/v1/chat/completions").body(Full::from(body.to_owned())).unwrap()
}

async fn head(provider: &InProcess) -> io::Result<Response<Body>> {
    provider.clone().oneshot(request(CHAT)).await
}

/// The whole answer, read to its end.
async fn whole(provider: &InProcess) -> io::Result<(StatusCode, Bytes)> {
    let (head, body) = head(provider).await?.into_parts();
    Ok((head.status, body.collect().await?.to_bytes()))
}

async fn status(provider: &InProcess) -> u16 {
    head(provider).await.unwrap().status().as_u16()
}

fn limit(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_stopped_connection_is_an_error_of_its_kind_at_its_phase() {
    guarded(async {
        for phase in Phase::ALL {
            let kinds = [
                (Fault::reset(phase), io::ErrorKind::ConnectionReset),
                (Fault::cut(phase), io::ErrorKind::UnexpectedEof),
                (Fault::silence_for(phase, seconds(5)), io::ErrorKind::UnexpectedEof),
            ];
            for (fault, kind) in kinds {
                let provider = provider(Script::seeded(1).fault(When::always(), fault.clone()));
                let early = head(&provider).await.err().map(|error| error.kind());
                let in_head = matches!(phase, Phase::BeforeHead | Phase::InHead);
                assert_eq!(early, in_head.then_some(kind), "{fault:?}");
                assert_eq!(whole(&provider).await.unwrap_err().kind(), kind, "{fault:?}");
                assert_eq!((provider.hits()[&(fault.kind(), phase)], provider.in_flight()), (2, 0));
                assert_eq!(provider.log().records[1].end, End::Broken);
            }
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_silence_is_pending_until_it_is_dropped() {
    guarded(async {
        for phase in Phase::ALL {
            let provider = provider(Script::seeded(1).fault(When::always(), Fault::silence(phase)));
            assert!(tokio::time::timeout(seconds(500), whole(&provider)).await.is_err(), "{phase:?}");
            assert_eq!(provider.in_flight(), 0, "{phase:?}");
            assert_eq!(told(&provider.log().records[0]), (Some(FaultKind::Silence), Some(phase), End::HungUp));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_delay_takes_exactly_its_time() {
    guarded(async {
        for phase in Phase::ALL {
            let script = Script::seeded(1).answer(Answer::default().delay(seconds(2)));
            let provider = provider(script.fault(When::always(), Fault::delay(phase, seconds(3))));
            let (answer, took) = timed(whole(&provider)).await;
            assert!(answer.unwrap().1.ends_with(b"}"));
            let delays = if phase == Phase::InBody { 3 } else { 1 };
            assert_eq!(took, seconds(2 + 3 * delays), "{phase:?}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_malformed_or_huge_comes_as_such() {
    guarded(async {
        let with = |fault| provider(Script::seeded(1).fault(When::always(), fault));
        assert_eq!(head(&with(Fault::garbled(Garble::Head))).await.unwrap_err().kind(), io::ErrorKind::InvalidData);
        let chunk = whole(&with(Fault::garbled(Garble::Chunk))).await.unwrap_err();
        assert_eq!(chunk.kind(), io::ErrorKind::InvalidData);
        let html = head(&with(Fault::garbled(Garble::ContentType))).await.unwrap();
        assert_eq!(html.headers()["content-type"], "text/html; charset=utf-8");
        let (_, json) = whole(&with(Fault::garbled(Garble::Json))).await.unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&json).unwrap_err().is_eof());
        let (status, huge) = whole(&with(Fault::huge_body(10 << 20))).await.unwrap();
        assert_eq!((status.as_u16(), huge.len()), (500, 10 << 20));
        assert!(serde_json::from_slice::<serde_json::Value>(&huge).is_ok(), "huge, but whole");
        let header = head(&with(Fault::huge_header(1 << 20))).await.unwrap();
        assert_eq!(header.headers()["x-filler"].len(), 1 << 20);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_body_left_unread_is_a_client_that_hung_up_unless_it_was_over() {
    guarded(async {
        let provider = provider(Script::seeded(1).fault(When::nth(1), Fault::delay(Phase::InBody, seconds(1))));
        let mut response = head(&provider).await.unwrap();
        response.body_mut().frame().await.unwrap().unwrap();
        assert_eq!(provider.in_flight(), 1);
        drop(response);
        let mut response = head(&provider).await.unwrap();
        response.body_mut().frame().await.unwrap().unwrap();
        assert!(http_body::Body::is_end_stream(response.body()), "all announced bytes are read");
        assert_eq!(provider.in_flight(), 0);
        let ends: Vec<_> = provider.log().records.iter().map(|record| record.end).collect();
        assert_eq!(ends, [End::HungUp, End::Answered]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_minute_lets_no_more_through_than_its_limit() {
    guarded(async {
        let limits = Limits::default().requests_per_minute(limit(300)).burst(limit(20));
        let provider = provider(Script::seeded(1).limits(limits));
        let mut through = Vec::new();
        for _ in 0..6000 {
            if status(&provider).await == 200 {
                through.push(tokio::time::Instant::now());
            }
            tokio::time::sleep(ms(37)).await;
        }
        for (n, first) in through.iter().enumerate() {
            let minute = through[n..].iter().take_while(|at| **at - *first < seconds(60)).count();
            assert!(minute <= 20 + 300, "{minute} in a minute");
        }
        assert!(through.len() >= 20 + 5 * 220, "and no fewer: {}", through.len());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_told_wait_is_the_shortest_that_suffices() {
    guarded(async {
        let limits = Limits::default().requests_per_minute(limit(7)).burst(limit(1));
        let provider = provider(Script::seeded(1).limits(limits));
        assert_eq!(status(&provider).await, 200);
        for _ in 0..20 {
            let refused = head(&provider).await.unwrap();
            let header = |name| refused.headers()[name].to_str().unwrap().parse::<u64>().unwrap();
            let wait = header("retry-after-ms");
            assert_eq!(header("retry-after"), wait.div_ceil(1000));
            tokio::time::sleep(ms(wait - 1)).await;
            assert_eq!(status(&provider).await, 429, "a millisecond too soon");
            tokio::time::sleep(ms(1)).await;
            assert_eq!(status(&provider).await, 200);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn tokens_are_counted_with_what_may_be_answered() {
    guarded(async {
        let provider = provider(Script::seeded(1).limits(Limits::default().tokens_per_minute(limit(600))));
        let asking = |tokens: u32| {
            let body = CHAT.replace("\"model\"", &format!("\"max_tokens\":{tokens},\"model\""));
            provider.clone().oneshot(request(&body))
        };
        assert_eq!(asking(500).await.unwrap().status(), 200);
        let empty = asking(500).await.unwrap();
        assert_eq!(
            (empty.status().as_u16(), &empty.headers()["x-ratelimit-limit-tokens"]),
            (429, &"600".parse().unwrap())
        );
        let wait: u64 = empty.headers()["retry-after-ms"].to_str().unwrap().parse().unwrap();
        tokio::time::sleep(ms(wait)).await;
        assert_eq!(asking(500).await.unwrap().status(), 200);
        let too_large = asking(700).await.unwrap();
        assert_eq!((too_large.status().as_u16(), too_large.headers().get("retry-after")), (429, None));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_more_are_served_at_a_time_than_allowed() {
    guarded(async {
        let limits = Limits::default().concurrency(limit(2));
        let provider = provider(Script::seeded(1).limits(limits).answer(Answer::default().delay(seconds(5))));
        let held: (_, _) = tokio::join!(head(&provider), head(&provider));
        assert_eq!(status(&provider).await, 429, "two bodies are not read yet");
        assert_eq!(provider.hits()[&(FaultKind::Concurrency, Phase::InHead)], 1);
        drop(held);
        assert_eq!(status(&provider).await, 200);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_outage_fails_every_request_from_its_begin_to_its_end() {
    guarded(async {
        let script = Script::seeded(1).outage(seconds(2)..seconds(4), Fault::status(503));
        let provider = provider(script.fault(When::always(), Fault::status(418)));
        let mut seen = Vec::new();
        for _ in 0..6 {
            seen.push(status(&provider).await);
            tokio::time::sleep(seconds(1)).await;
        }
        assert_eq!(seen, [418, 418, 503, 503, 418, 418]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_outage_takes_no_thinking_and_nothing_from_the_limits() {
    guarded(async {
        let limits = Limits::default().requests_per_minute(limit(1));
        let script = Script::seeded(1).limits(limits).answer(Answer::default().delay(seconds(9)));
        let provider = provider(script.outage(seconds(0)..seconds(1), Fault::reset(Phase::BeforeBody)));
        for _ in 0..5 {
            let (response, took) = timed(head(&provider)).await;
            assert_eq!((response.unwrap().status().as_u16(), took), (503, seconds(0)));
        }
        tokio::time::sleep(seconds(1)).await;
        assert_eq!(timed(status(&provider)).await, (200, seconds(9)));
    })
    .await;
}

/// Calls by ten callers who give up after a minute.
async fn storm(script: Script, calls: u64) -> InProcess {
    let provider = provider(script);
    for _ in 0..calls / 10 {
        let ten: Vec<_> = (0..10).map(|_| tokio::time::timeout(seconds(60), whole(&provider))).collect();
        for call in ten {
            let _ = call.await;
        }
    }
    provider
}

#[tokio::test(start_paused = true)]
async fn chaos_meets_every_fault_at_every_phase_and_leaks_nothing() {
    let provider = storm(Script::chaos(3), 20_000).await;
    let hits = provider.hits();
    for phase in Phase::ALL {
        for kind in [FaultKind::Delay, FaultKind::Silence, FaultKind::Cut, FaultKind::Reset] {
            assert!(hits[&(kind, phase)] >= 100, "{kind:?} {phase:?}: {}", hits[&(kind, phase)]);
        }
    }
    let others = [
        (FaultKind::Answer, Phase::InHead),
        (FaultKind::Garbled, Phase::BeforeHead),
        (FaultKind::Garbled, Phase::InHead),
        (FaultKind::Garbled, Phase::InBody),
        (FaultKind::HugeBody, Phase::InBody),
        (FaultKind::HugeHeader, Phase::InHead),
    ];
    assert!(others.iter().all(|other| hits[other] >= 100), "{hits:?}");
    assert_eq!(hits.len(), 20 + others.len());
    let share = hits.values().sum::<u64>().abs_diff(10_000);
    assert!(share < 354, "half of 20,000, within five standard deviations: {share} off");
    assert_eq!((provider.seen(), provider.in_flight()), (20_000, 0));
    assert!(provider.log().records.iter().all(|record| record.end != End::Open));
}

#[tokio::test(start_paused = true)]
async fn a_seed_gives_the_same_run_again() {
    let run = async |seed| -> Log { storm(Script::storm(seed), 500).await.log() };
    let first = run(5).await;
    assert_eq!(first, run(5).await);
    assert_ne!(first, run(6).await);
}

#[tokio::test(start_paused = true)]
async fn at_anthropics_path_it_speaks_as_anthropic_does() {
    guarded(async {
        let script = Script::seeded(1)
            .fault(When::nth(2), Fault::status(529))
            .fault(When::nth(3), Fault::status(429).header("retry-after", "7"));
        let provider = provider(script);
        let client = Anthropic::without_key().over(provider.clone());
        let reply = ask(&client, chat::Request::new("claude-sonnet-4-5").user("hello")).await.unwrap();
        assert_eq!((reply.text().as_ref(), reply.id()), ("This is answer 1 of the mock provider.", Some("msg_mock_1")));
        assert_eq!(reply.finish_reason(), Some(&chat::FinishReason::Stop));
        assert!(reply.usage().unwrap().input > 0);
        for (kind, wait) in [(Kind::Overloaded, None), (Kind::RateLimited, Some(seconds(7)))] {
            let error = ask(&client, chat::Request::new("m").user("hello")).await.unwrap_err();
            assert_eq!((error.kind(), error.retry_after()), (kind, wait));
        }
        let cut = ask(&client, chat::Request::new("m").user("hello").max_tokens(2)).await.unwrap();
        assert_eq!((cut.text().as_ref(), cut.finish_reason()), ("This is ", Some(&chat::FinishReason::Length)));
        let uncapped = Request::post("/v1/messages").body(Full::<Bytes>::from(CHAT)).unwrap();
        let (head, body) = provider.oneshot(uncapped).await.unwrap().into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        assert!(head.status == 400 && body.starts_with(b"{\"error\":{\"message\":\"max_tokens: Field required\""));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn anthropics_limits_have_its_headers_and_a_true_wait() {
    guarded(async {
        let limits = Limits::default().requests_per_minute(limit(1));
        let provider = provider(Script::seeded(1).limits(limits));
        let client = Anthropic::without_key().over(provider.clone());
        assert!(ask(&client, chat::Request::new("m").user("hello")).await.is_ok());
        let error = ask(&client, chat::Request::new("m").user("hello")).await.unwrap_err();
        assert_eq!((error.kind(), error.retry_after()), (Kind::RateLimited, Some(seconds(60))));
        let body = Full::<Bytes>::from(r#"{"model":"m","max_tokens":1,"messages":[]}"#);
        let response = provider.oneshot(Request::post("/v1/messages").body(body).unwrap()).await.unwrap();
        assert_eq!(response.headers()["anthropic-ratelimit-requests-remaining"], "0");
    })
    .await;
}
