//! The shapes that a stack must stand, each as scripts of a primary and of a fallback, and what a plain client sees of them.
use super::stream::{BOTH, Came, events, play_with};
use crate::{guarded, seconds};
use seawall::sim::{InProcess, Script};
use serde_json::{Value, json};

/// What a client asks a provider, at which second, and what it sees.
struct Look {
    at: u64,
    more: Value,
    sees: &'static str,
}

struct Shape {
    name: &'static str,
    primary: &'static str,
    fallback: &'static str,
    /// What the primary is asked, and then the fallback.
    looks: [Vec<Look>; 2],
}

fn sees(sees: &'static str) -> Look {
    Look { at: 0, more: json!({}), sees }
}

const WHOLE: &str = "200: 60 tokens, stop, [DONE]";
const TOO_LONG: &str = r#"
    [[fault]]
    model = "m"
    prompt-over = 500
    status = 400
    body = '{"error": {"message": "This is too long.", "type": "invalid_request_error", "code": "context_length_exceeded"}}'
"#;
const NO_PREFILL: &str = r#"
    [[fault]]
    prefilled = true
    status = 400
    body = '{"error": {"message": "No prefill.", "type": "invalid_request_error", "code": "unsupported_value"}}'
"#;

fn shapes() -> Vec<Shape> {
    let shape = |name, primary, looks| Shape { name, primary, fallback: "", looks: [looks, vec![sees(WHOLE)]] };
    let long = || json!({"messages": [{"role": "user", "content": "word ".repeat(600)}]});
    let prefill = json!({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]});
    vec![
        shape(
            "1. a 429 with a wait, once",
            "[[fault]]\nnth = 1\nstatus = 429\nheaders = { retry-after = \"2\" }",
            vec![sees("429: rate_limit_exceeded, retry-after 2"), sees(WHOLE)],
        ),
        shape(
            "2. a 429 for ever",
            "[[fault]]\nstatus = 429",
            vec![sees("429: rate_limit_exceeded"), sees("429: rate_limit_exceeded")],
        ),
        shape("3. a 500 once", "[[fault]]\nnth = 1\nstatus = 500", vec![sees("500: server_error"), sees(WHOLE)]),
        shape("4. a 503 for ever", "[[fault]]\nstatus = 503", vec![sees("503: server_error")]),
        shape(
            "5. a reset before the head",
            "[[fault]]\nnth = 1\nreset = \"before-head\"",
            vec![sees("ConnectionReset"), sees(WHOLE)],
        ),
        shape("6. a silence", "[[fault]]\nsilence = \"before-head\"", vec![sees("TimedOut")]),
        shape(
            "7. a slow first token",
            "answer.stream.first-token = \"20s\"",
            vec![sees("200: 60 tokens from 20 s, stop, [DONE]")],
        ),
        shape(
            "8. a cut at 40 of 60 tokens: short of the end, reset, and as if it were the end",
            r#"
            [[fault]]
            nth = 1
            cut = { after-tokens = 40 }
            [[fault]]
            nth = 2
            reset = { after-tokens = 40 }
            [[fault]]
            nth = 3
            truncate = { after-tokens = 40 }
            "#,
            vec![
                sees("200: 40 tokens, UnexpectedEof"),
                sees("200: 40 tokens, ConnectionReset"),
                sees("200: 40 tokens"),
                sees(WHOLE),
            ],
        ),
        shape(
            "9. a stall after 20 tokens",
            "[[fault]]\nnth = 1\nsilence = { after-tokens = 20 }",
            vec![sees("200: 20 tokens, TimedOut"), sees(WHOLE)],
        ),
        shape(
            "10. one malformed event",
            "[[fault]]\nevent = \"not-json\"\nat = { after-tokens = 30 }",
            vec![sees("200: 60 tokens, 1 odd, stop, [DONE]")],
        ),
        shape(
            "11. no [DONE], also with the connection left open, and usage",
            r#"
            answer.stream = { terminator = false, usage = "always" }
            [[fault]]
            nth = 2
            silence = "at-end"
            "#,
            vec![sees("200: 60 tokens, stop, usage"), sees("200: 60 tokens, stop, usage, TimedOut")],
        ),
        shape(
            "12. a prompt that is too long, but for the larger model",
            TOO_LONG,
            vec![
                Look { more: long(), ..sees("400: context_length_exceeded") },
                Look { more: json!({"model": "larger", "messages": long()["messages"]}), ..sees(WHOLE) },
                sees(WHOLE),
            ],
        ),
        shape(
            "13. a content filter, behind some text or in its place",
            r#"
            answer.filtered = true
            [[fault]]
            nth = 2
            answer = { text = "", filtered = true }
            [[fault]]
            nth = 3
            status = 400
            body = '{"error": {"message": "No.", "type": "invalid_request_error", "code": "content_filter"}}'
            "#,
            vec![
                sees("200: 60 tokens, content_filter, [DONE]"),
                sees("200: 0 tokens, content_filter, [DONE]"),
                sees("400: content_filter"),
            ],
        ),
        Shape {
            fallback: NO_PREFILL,
            looks: [
                vec![sees("200: 40 tokens, UnexpectedEof")],
                vec![Look { more: prefill, ..sees("400: unsupported_value") }, sees(WHOLE)],
            ],
            ..shape(
                "14. a cut, and a fallback that refuses a prefill",
                "[[fault]]\ncut = { after-tokens = 40 }",
                vec![],
            )
        },
        shape(
            "15. down for a minute, then well",
            "[[outage]]\nfrom = \"0s\"\nto = \"60s\"\nstatus = 503",
            vec![
                sees("503: server_error"),
                Look { at: 59, ..sees("503: server_error") },
                Look { at: 60, ..sees(WHOLE) },
            ],
        ),
        Shape {
            fallback: "answer.stream.usage = \"always\"",
            looks: [vec![sees("503: server_error")], vec![sees("200: 60 tokens, stop, usage, [DONE]")]],
            ..shape("16. a 503 for ever, and a fallback with usage", "[[fault]]\nstatus = 503", vec![])
        },
    ]
}

fn provider(script: &str) -> InProcess {
    let sixty: Vec<_> = (1..=60).map(|token| token.to_string()).collect();
    let script = format!("answer.text = \"{}\"\n{script}", sixty.join(" "));
    InProcess::new(Script::parse(&script).unwrap()).unwrap()
}

fn told(came: &Came) -> String {
    let mut words = Vec::new();
    let Some(head) = &came.head else { return format!("{:?}", came.end.unwrap_err()) };
    if head.headers["content-type"] == "application/json" {
        let error: Value = serde_json::from_slice(&came.bytes()).unwrap();
        let code = [&error["error"]["code"], &error["error"]["type"]].into_iter().find_map(Value::as_str);
        words.extend(code.map(str::to_owned));
        words.extend(head.headers.get("retry-after").map(|wait| format!("retry-after {}", wait.to_str().unwrap())));
    } else {
        words = streamed(came);
    }
    words.extend(came.end.err().map(|kind| format!("{kind:?}")));
    format!("{}: {}", head.status.as_u16(), words.join(", "))
}

fn streamed(came: &Came) -> Vec<String> {
    let (mut tokens, mut odd, mut words) = (0, 0, Vec::new());
    for (_, data) in events(&came.bytes()) {
        let Ok(chunk) = serde_json::from_str::<Value>(&data) else {
            if data == "[DONE]" {
                words.push(data)
            } else {
                odd += 1
            }
            continue;
        };
        let choice = &chunk["choices"][0];
        tokens += usize::from(choice["delta"]["content"].as_str().is_some_and(|content| !content.is_empty()));
        words.extend(choice["finish_reason"].as_str().map(str::to_owned));
        words.extend(chunk["usage"]["completion_tokens"].as_u64().map(|_| "usage".to_owned()));
    }
    let first = came.pieces.iter().find(|(_, piece)| piece.windows(13).any(|bytes| bytes == b"\"content\":\"1\""));
    let from =
        first.filter(|(at, _)| !at.is_zero()).map_or_else(String::new, |(at, _)| format!(" from {} s", at.as_secs()));
    let odd = (odd > 0).then(|| format!("{odd} odd"));
    std::iter::once(format!("{tokens} tokens{from}")).chain(odd).chain(words).collect()
}

#[tokio::test(start_paused = true)]
async fn each_shape_is_a_script() {
    let shapes = shapes();
    assert_eq!(shapes.len(), 16);
    for Shape { name, primary, fallback, looks } in shapes {
        guarded(async {
            for (script, looks) in [primary, fallback].into_iter().zip(looks) {
                let (provider, start) = (provider(script), tokio::time::Instant::now());
                for Look { at, more, sees } in looks {
                    tokio::time::sleep_until(start + seconds(at)).await;
                    let came = play_with(&provider, BOTH[0], &more).await;
                    assert_eq!(told(&came), sees, "{name}");
                }
                assert_eq!(provider.in_flight(), 0, "{name}");
            }
        })
        .await;
    }
}
