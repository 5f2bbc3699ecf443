//! Streams in which nothing goes wrong.
use super::*;
use crate::{guarded, seconds};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use seawall::{
    sim::{Answer, InProcess, LineEnds, ReportUsage, Script, Stream},
    sse::{Frame, Parser},
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::ServiceExt;

pub(crate) const BOTH: [&str; 2] = ["/v1/chat/completions", "/v1/messages"];

/// What came, and when: pieces of the body, and how it ended.
pub(crate) struct Came {
    pub(crate) head: Option<http::response::Parts>,
    pub(crate) pieces: Vec<(Duration, Bytes)>,
    pub(crate) end: Result<(), io::ErrorKind>,
}

impl Came {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.pieces.iter().flat_map(|(_, piece)| piece.to_vec()).collect()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    fn sizes(&self) -> Vec<usize> {
        self.pieces.iter().map(|(_, piece)| piece.len()).collect()
    }

    /// When each piece came that holds a text.
    fn times(&self, text: &str) -> Vec<u64> {
        let holds = |piece: &Bytes| String::from_utf8_lossy(piece).contains(text);
        self.pieces.iter().filter(|(_, piece)| holds(piece)).map(|(at, _)| at.as_millis() as u64).collect()
    }
}

pub(crate) fn asking(path: &str, more: &Value) -> http::Request<Full<Bytes>> {
    let mut body = json!({
        "model": "m", "max_tokens": 1000, "stream": true, "messages": [{"role": "user", "content": "hello"}],
        "tools": [{}],
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    http::Request::post(path).body(Full::from(body.to_string())).unwrap()
}

pub(crate) async fn play(provider: &InProcess, path: &str) -> Came {
    play_with(provider, path, &json!({})).await
}

/// A silence of a hundred seconds is [`io::ErrorKind::TimedOut`].
pub(crate) async fn play_with(provider: &InProcess, path: &str, more: &Value) -> Came {
    let start = Instant::now();
    let mut came = Came { head: None, pieces: Vec::new(), end: Ok(()) };
    let silence = |_| io::Error::from(io::ErrorKind::TimedOut);
    let answer = tokio::time::timeout(seconds(100), provider.clone().oneshot(asking(path, more))).await;
    let mut body = match answer.map_err(silence).and_then(|answer| answer) {
        Ok(response) => {
            let (head, body) = response.into_parts();
            came.head = Some(head);
            body
        }
        Err(error) => return Came { end: Err(error.kind()), ..came },
    };
    while let Some(frame) = tokio::time::timeout(seconds(100), body.frame()).await.map_err(silence).transpose() {
        match frame.and_then(|frame| frame) {
            Ok(frame) => came.pieces.push((start.elapsed(), frame.into_data().unwrap())),
            Err(error) => return Came { end: Err(error.kind()), ..came },
        }
    }
    came
}

pub(crate) fn provider(answer: Answer) -> InProcess {
    InProcess::new(Script::seeded(7).answer(answer)).unwrap()
}

/// Name and data of each event; a comment has the name `:`.
pub(crate) fn events(bytes: &[u8]) -> Vec<(String, String)> {
    let mut parser = Parser::new(1 << 20);
    parser.push(bytes);
    parser.finish();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    std::iter::from_fn(|| {
        Some(match parser.next()?.unwrap() {
            Frame::Comment(comment) => (":".to_owned(), text(comment)),
            Frame::Event { name, data } => (name.unwrap_or_default().to_owned(), text(data)),
            other => panic!("{other:?}"),
        })
    })
    .collect()
}

#[tokio::test(start_paused = true)]
async fn an_openai_stream_is_whole_and_in_its_form() {
    let answer = Answer::default().text("Six is even.").cached(3);
    let head = r#""created":1700000000,"id":"chatcmpl-mock-1","model":"m","object":"chat.completion.chunk""#;
    let chunk = |delta: &str, finish: &str| {
        let choice = format!(r#"{{"delta":{delta},"finish_reason":{finish},"index":0,"logprobs":null}}"#);
        format!("data: {{\"choices\":[{choice}],{head}}}\n\n")
    };
    let expected = [
        chunk(r#"{"content":"","refusal":null,"role":"assistant"}"#, "null"),
        chunk(r#"{"content":"Six"}"#, "null"),
        chunk(r#"{"content":" is"}"#, "null"),
        chunk(r#"{"content":" even."}"#, "null"),
        chunk("{}", r#""stop""#),
        "data: [DONE]\n\n".to_owned(),
    ];
    let came = play(&provider(answer), BOTH[0]).await;
    assert_eq!(came.text(), expected.concat());
    assert!(came.end.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_anthropic_stream_is_whole_and_in_its_form() {
    let answer = Answer::default().reasoning("I count.").text("Six it is.").tool_call("add", r#"{"a":4}"#);
    let came = play(&provider(answer.clone()), BOTH[1]).await;
    let names: Vec<_> = events(&came.bytes()).into_iter().map(|(name, _)| name).collect();
    let delta = "content_block_delta";
    let thinking = ["message_start", "content_block_start", "ping", delta, delta, delta, "content_block_stop"];
    let call = ["content_block_start", delta, delta, delta, "content_block_stop", "message_delta", "message_stop"];
    assert_eq!(names, [&thinking[..], &call[..]].concat());
    let data: Vec<Value> = events(&came.bytes()).iter().map(|(_, data)| serde_json::from_str(data).unwrap()).collect();
    assert!(data.iter().zip(&names).all(|(data, name)| data["type"] == *name));
    assert_eq!(data[0]["message"]["usage"]["output_tokens"], 1);
    assert_eq!(data[0]["message"]["content"], json!([]));
    assert_eq!(data[3]["delta"], json!({"type": "thinking_delta", "thinking": "I"}));
    assert_eq!(data[5]["delta"]["type"], "signature_delta");
    assert_eq!(data[7]["content_block"]["name"], "add");
    let arguments = [8, 9, 10].map(|at| data[at]["delta"]["partial_json"].as_str().unwrap());
    assert_eq!(arguments, ["", r#"{"a""#, ":4}"]);
    assert_eq!(data[12]["delta"]["stop_reason"], "tool_use");
    assert!(data[12]["usage"]["output_tokens"].as_u64().unwrap() > 1);
}

#[tokio::test(start_paused = true)]
async fn calls_come_with_index_id_and_name_first_and_arguments_in_pieces() {
    let answer = Answer::default().reasoning("Hm.").tool_call("add", r#"{"a":4}"#).tool_call("now", "");
    let came = play(&provider(answer), BOTH[0]).await;
    let events = events(&came.bytes());
    let deltas: Vec<Value> = events[..events.len() - 1]
        .iter()
        .map(|(_, data)| serde_json::from_str::<Value>(data).unwrap()["choices"][0]["delta"].take())
        .collect();
    assert_eq!(deltas[0], json!({"role": "assistant", "content": null, "refusal": null}));
    assert_eq!(deltas[1], json!({"reasoning_content": "Hm."}));
    let call = &deltas[2]["tool_calls"][0];
    assert!(call["id"].as_str().unwrap().starts_with("call_"), "{call}");
    assert_eq!((&call["index"], &call["function"]), (&json!(0), &json!({"name": "add", "arguments": ""})));
    assert_eq!(deltas[3]["tool_calls"], json!([{"index": 0, "function": {"arguments": r#"{"a""#}}]));
    assert_eq!(deltas[4]["tool_calls"], json!([{"index": 0, "function": {"arguments": ":4}"}}]));
    assert_eq!((&deltas[5]["tool_calls"][0]["index"], deltas.len()), (&json!(1), 7));
}

#[tokio::test(start_paused = true)]
async fn usage_is_told_where_it_is_asked_for_always_or_never() {
    let asked = json!({"stream_options": {"include_usage": true}});
    let cases = [
        (ReportUsage::AsAsked, json!({}), false, false),
        (ReportUsage::AsAsked, asked.clone(), true, true),
        (ReportUsage::Always, json!({}), false, true),
        (ReportUsage::Always, asked.clone(), true, true),
        (ReportUsage::Never, asked, false, false),
    ];
    for (usage, more, nulls, last) in cases {
        let provider = provider(Answer::default().stream(Stream::default().usage(usage)));
        let text = play_with(&provider, BOTH[0], &more).await.text();
        assert_eq!(text.contains(r#""usage":null"#), nulls, "{usage:?} {more}");
        assert_eq!(text.contains(r#""choices":[],"#) && text.contains("prompt_tokens"), last, "{usage:?} {more}");
        let text = play(&provider, BOTH[1]).await.text();
        assert_eq!(text.matches("input_tokens\":").count() > 0, usage != ReportUsage::Never, "{usage:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn tokens_come_in_their_time_with_signs_of_life_between() {
    guarded(async {
        let stream = Stream::default().first_token(seconds(5)).per_token(seconds(1)).keep_alive(seconds(2));
        let provider = provider(Answer::default().delay(seconds(1)).text("One two three.").stream(stream));
        for (path, sign, delta) in
            [(BOTH[0], ": keep-alive", r#"{"content":""#), (BOTH[1], "event: ping", "text_delta")]
        {
            let came = play(&provider, path).await;
            let tokens = came.times(delta);
            assert_eq!(tokens[tokens.len() - 3..], [6000, 7000, 8000], "{path}");
            let signs: Vec<_> = came.times(sign).into_iter().filter(|at| *at > 1000).collect();
            assert_eq!(signs, [3000, 5000], "{path}");
            assert_eq!(came.pieces[0].0, seconds(1), "the head, and the opening events with it");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn any_chunks_and_line_ends_hold_the_same_events() {
    let answer = Answer::default().reasoning("日本語").text("Sechs \u{1f600} ist gerade.");
    for path in BOTH {
        let plain = events(&play(&provider(answer.clone()), path).await.bytes());
        for ends in LineEnds::ALL {
            for size in (1..=40).chain([1000, 1 << 20]) {
                let stream = Stream::default().line_ends(ends).chunks(size.try_into().unwrap());
                let provider = provider(answer.clone().stream(stream));
                let came = play(&provider, path).await;
                assert_eq!(events(&came.bytes()), plain, "{path} {ends:?} {size}");
                let (last, others) = came.sizes().split_last().map(|(last, others)| (*last, others.to_vec())).unwrap();
                assert!(last <= size && others.iter().all(|other| *other == size), "{size}: {:?}", came.sizes());
                let record = provider.log().records.remove(0);
                assert_eq!((record.events, record.sent), (plain.len() as u64, came.bytes().len() as u64));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_may_lack_its_terminator() {
    for (path, terminator) in [(BOTH[0], "[DONE]"), (BOTH[1], "message_stop")] {
        let with = play(&provider(Answer::default()), path).await;
        let without = play(&provider(Answer::default().stream(Stream::default().without_terminator())), path).await;
        assert!(without.end.is_ok() && !without.text().contains(terminator));
        assert!(with.text().starts_with(&without.text()) && with.text().contains(terminator));
    }
}

#[tokio::test(start_paused = true)]
async fn a_filter_ends_a_whole_answer_and_a_stream_alike() {
    let provider = provider(Answer::default().text("Well,").filtered());
    for (path, reason) in [(BOTH[0], r#""finish_reason":"content_filter""#), (BOTH[1], r#""stop_reason":"refusal""#)] {
        for stream in [true, false] {
            let text = play_with(&provider, path, &json!({"stream": stream})).await.text();
            assert!(text.contains(reason) && text.contains("Well,"), "{text}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_leaves_is_noticed_with_what_it_had() {
    guarded(async {
        let stream = Stream::default().first_token(seconds(5)).per_token(seconds(1));
        let provider = provider(Answer::default().text("One two three.").stream(stream));
        for (left, tokens) in [(4500, 0), (5500, 1), (6500, 2)] {
            let gone = tokio::time::timeout(ms(left), play(&provider, BOTH[0])).await;
            assert!(gone.is_err() && provider.in_flight() == 0);
            let record = provider.log().records.pop().unwrap();
            assert_eq!((record.end, record.tokens, record.took), (End::HungUp, tokens, ms(left)));
            assert_eq!(record.events, tokens + 1, "the first chunk shows no token");
        }
    })
    .await;
}

#[tokio::test]
async fn a_reader_who_leaves_a_connection_is_noticed_at_once() {
    let day = Duration::from_secs(86_400);
    let answers = [
        (Answer::default().delay(day), None),
        (Answer::default().stream(Stream::default().first_token(day)), Some(200)),
        (Answer::default().stream(Stream::default().per_token(day)), Some(200)),
    ];
    for (tokens, (answer, status)) in [0, 0, 1].into_iter().zip(answers) {
        let provider = MockProvider::start(Script::seeded(7).answer(answer)).await.unwrap();
        let mut stream = connect(&provider).await;
        let body = r#"{"model":"m","stream":true,"messages":[]}"#;
        stream.write_all(post_of(body, "").as_bytes()).await.unwrap();
        has_seen(&provider, 1).await;
        let (mut bytes, awaited) = (Vec::new(), if tokens == 0 { "assistant" } else { "This" });
        while status.is_some() && !String::from_utf8_lossy(&bytes).contains(awaited) {
            assert!(stream.read_buf(&mut bytes).await.unwrap() > 0);
        }
        drop(stream);
        provider.settled().await;
        let record = provider.log().records.remove(0);
        assert_eq!((record.end, record.status, record.tokens), (End::HungUp, status, tokens));
    }
}

#[tokio::test(start_paused = true)]
async fn a_seed_gives_the_same_stream_again() {
    let answer = Answer::default().tool_call("add", "{}").stream(Stream::default().per_token(ms(1)..seconds(1)));
    let run = async || {
        let provider = provider(answer.clone());
        let mut all = Vec::new();
        for path in BOTH.repeat(3) {
            all.push(play(&provider, path).await.pieces);
        }
        all
    };
    let first = run().await;
    assert_eq!(first, run().await);
    assert_ne!(first[0], first[2], "another request, another draw");
}
