//! Streams in which something goes wrong.
use super::{
    stream::{BOTH, Came, events, play, play_with},
    *,
};
use crate::{guarded, seconds};
use seawall::sim::{Answer, BadEvent, Fault, Garble, InProcess, LineEnds, Script, Stream, When};
use serde_json::{Value, json};

const TEN: &str = "one two three four five six seven eight nine ten";

fn script(fault: Fault) -> Script {
    Script::seeded(7).answer(Answer::default().text(TEN)).fault(When::always(), fault)
}

fn provider(fault: Fault) -> InProcess {
    InProcess::new(script(fault)).unwrap()
}

/// Of a stream that is whole.
async fn whole(path: &str) -> Came {
    let provider = InProcess::new(Script::seeded(7).answer(Answer::default().text(TEN))).unwrap();
    let came = play(&provider, path).await;
    assert_eq!(provider.log().records[0].tokens, 10);
    came
}

fn after(tokens: u32) -> Phase {
    Phase::AfterTokens(tokens)
}

#[tokio::test(start_paused = true)]
async fn a_stream_stops_behind_the_token_that_it_says() {
    guarded(async {
        for path in BOTH {
            let all = whole(path).await.text();
            for (at, tokens) in [(0, 0), (1, 1), (4, 4), (10, 10), (99, 10)] {
                let faults = [
                    (Fault::cut(after(at)), Err(io::ErrorKind::UnexpectedEof), End::Broken),
                    (Fault::reset(after(at)), Err(io::ErrorKind::ConnectionReset), End::Broken),
                    (Fault::silence(after(at)), Err(io::ErrorKind::TimedOut), End::HungUp),
                    (Fault::silence_for(after(at), seconds(9)), Err(io::ErrorKind::UnexpectedEof), End::Broken),
                    (Fault::truncate(after(at)), Ok(()), End::Answered),
                ];
                for (fault, end, told) in faults {
                    let provider = provider(fault.clone());
                    let came = play(&provider, path).await;
                    assert_eq!(came.end, end, "{fault:?}");
                    let (text, opening) = (came.text(), if path == BOTH[0] { "assistant" } else { "message_start" });
                    assert!(all.starts_with(&text) && text.contains(opening), "{fault:?}: {text}");
                    assert!(!text.contains("[DONE]") && !text.contains("message_delta"), "{fault:?}: {text}");
                    let record = provider.log().records.remove(0);
                    assert_eq!((record.tokens, record.end, record.phase), (tokens, told, Some(after(at))), "{fault:?}");
                    assert_eq!(record.events, events(&came.bytes()).len() as u64);
                }
            }
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_left_open_behind_its_last_event() {
    for path in BOTH {
        let provider = provider(Fault::silence(Phase::AtEnd));
        let came = play(&provider, path).await;
        assert_eq!((came.text(), came.end), (whole(path).await.text(), Err(io::ErrorKind::TimedOut)));
        assert_eq!(provider.log().records[0].end, End::HungUp);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_comes_first_or_in_the_middle_and_nothing_after_it() {
    for (path, name, code) in [(BOTH[0], "", "overloaded_error"), (BOTH[1], "error", "overloaded_error")] {
        for (at, before) in [(Phase::BeforeBody, 0), (after(0), if name.is_empty() { 1 } else { 3 }), (after(4), 0)] {
            let provider = provider(Fault::event(at, BadEvent::Error).with_status(529));
            let came = play(&provider, path).await;
            assert_eq!((came.head.as_ref().unwrap().status.as_u16(), came.end), (200, Ok(())));
            assert_eq!(came.head.as_ref().unwrap().headers["content-type"], "text/event-stream; charset=utf-8");
            let events = events(&came.bytes());
            let (last, others) = events.split_last().unwrap();
            assert!(last.0 == name && last.1.contains(code) && last.1.starts_with("{\""), "{last:?}");
            assert!(at == after(4) || others.len() == before, "{at:?}: {others:?}");
            let told = provider.log().records.remove(0);
            assert_eq!((told.fault, told.tokens), (Some(FaultKind::Event), if at == after(4) { 4 } else { 0 }));
        }
        let own = provider(Fault::event(after(2), BadEvent::Error).body("{\"error\":\n\"mine\"}"));
        let came = play(&own, path).await;
        assert_eq!(events(&came.bytes()).pop().unwrap(), (name.to_owned(), "{\"error\":\n\"mine\"}".to_owned()));
        let usual = play(&provider(Fault::event(after(2), BadEvent::Error)), path).await;
        assert!(usual.text().contains("server_error") || usual.text().contains("api_error"), "{}", usual.text());
    }
}

#[tokio::test(start_paused = true)]
async fn a_bad_event_stands_in_an_answer_that_is_whole_all_the_same() {
    for path in BOTH {
        let whole = events(&whole(path).await.bytes());
        for event in [BadEvent::NotJson, BadEvent::NotUtf8, BadEvent::Huge(100_000)] {
            for ends in LineEnds::ALL {
                let stream = Stream::default().line_ends(ends).chunks(7.try_into().unwrap());
                let answer = Answer::default().text(TEN).stream(stream);
                let fault = Fault::event(after(4), event).with_answer(answer);
                let came = play(&provider(fault), path).await;
                assert!(came.end.is_ok());
                let mut found = events(&came.bytes());
                let odd = (0..found.len()).find(|at| whole.get(*at) != found.get(*at)).unwrap();
                let (_, data) = found.remove(odd);
                assert_eq!(found, whole, "{event:?}");
                match event {
                    BadEvent::NotJson => assert!(serde_json::from_str::<Value>(&data).unwrap_err().is_eof()),
                    BadEvent::NotUtf8 => assert!(String::from_utf8(came.bytes()).is_err() && data.contains('\u{fffd}')),
                    _ => assert!(data.len() == 100_000 && serde_json::from_str::<Value>(&data).is_ok()),
                }
            }
        }
        let own = play(&provider(Fault::event(Phase::AtEnd, BadEvent::NotJson).body("<html>")), path).await;
        assert_eq!(events(&own.bytes()).pop().unwrap().1, "<html>");
    }
}

#[tokio::test(start_paused = true)]
async fn a_delay_in_a_stream_has_its_place_and_its_signs_of_life() {
    let delayed = |phase| {
        let answer = Answer::default().text("one two").stream(Stream::default().keep_alive(seconds(2)));
        provider(Fault::delay(phase, seconds(5)).with_answer(answer))
    };
    // When the first token came, the second, and the end, in seconds.
    let cases = [
        (Phase::BeforeHead, [5, 5, 5], 0),
        (Phase::BeforeBody, [5, 5, 5], 2),
        (after(0), [5, 5, 5], 2),
        (after(1), [0, 5, 5], 2),
        (Phase::AtEnd, [0, 0, 0], 2),
        (Phase::InBody, [5, 10, 20], 8),
    ];
    for (phase, times, signs) in cases {
        let came = play(&delayed(phase), BOTH[0]).await;
        let at = |text: &str| {
            let holds = |(_, piece): &&(Duration, bytes::Bytes)| String::from_utf8_lossy(piece).contains(text);
            came.pieces.iter().find(holds).unwrap().0.as_secs()
        };
        assert_eq!([at("\"one\""), at("\" two\""), at("[DONE]")], times, "{phase:?}");
        assert_eq!(came.text().matches(": keep-alive").count(), signs, "{phase:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_for_streams_passes_over_what_does_not_stream() {
    for fault in [Fault::cut(after(1)), Fault::truncate(after(1)), Fault::event(Phase::BeforeBody, BadEvent::Error)] {
        let provider = InProcess::new(script(fault).fault(When::always(), Fault::status(418))).unwrap();
        let came = play_with(&provider, BOTH[0], &json!({"stream": false})).await;
        assert_eq!(came.head.unwrap().status, 418, "the next fault is for it");
        assert_ne!(play(&provider, BOTH[0]).await.head.map(|head| head.status.as_u16()), Some(418));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_for_streams_alone_is_for_them_too() {
    let status = play(&provider(Fault::status(503)), BOTH[0]).await;
    assert_eq!(status.head.unwrap().headers["content-type"], "application/json");
    let huge = play(&provider(Fault::huge_body(1000)), BOTH[0]).await;
    assert_eq!((huge.head.unwrap().status.as_u16(), huge.pieces.len()), (500, 3));
    let half = play(&provider(Fault::garbled(Garble::Json)), BOTH[0]).await;
    assert_eq!((half.bytes().len(), half.end), (whole(BOTH[0]).await.bytes().len() / 2, Ok(())));
    let middle = provider(Fault::cut(Phase::InBody));
    assert_eq!(play(&middle, BOTH[0]).await.end, Err(io::ErrorKind::UnexpectedEof));
    assert_eq!(middle.log().records[0].tokens, 5, "half of them");
    let short = play_with(&provider(Fault::truncate(Phase::InBody)), BOTH[0], &json!({"stream": false})).await;
    assert!(short.end.is_ok() && serde_json::from_slice::<Value>(&short.bytes()).unwrap_err().is_eof());
}

#[tokio::test(start_paused = true)]
async fn a_fault_is_for_a_model_a_long_prompt_or_a_prefill() {
    let provider = InProcess::new(
        Script::seeded(7)
            .fault(When::always().model("small").prompt_over(100), Fault::status(400))
            .fault(When::always().prefilled(), Fault::status(422))
            .fault(When::nth(1).model("other"), Fault::answer(Answer::default().text("Mine."))),
    )
    .unwrap();
    let long = "word ".repeat(200);
    let asked = |model: &str, content: &str, last: &str| json!({"model": model, "messages": [{"role": "user", "content": content}, {"role": last, "content": "So"}]});
    let cases = [
        (asked("other", "hello", "user"), 200),
        (asked("small", "hello", "user"), 200),
        (asked("small", &long, "user"), 400),
        (asked("large", &long, "user"), 200),
        (asked("large", &long, "assistant"), 422),
    ];
    for (nth, (asked, status)) in cases.into_iter().enumerate() {
        let came = play_with(&provider, BOTH[0], &asked).await;
        assert_eq!(came.head.as_ref().unwrap().status.as_u16(), status, "{asked}");
        assert_eq!(came.text().contains("Mine."), nth == 0);
    }
}
