//! There and back: what our client writes the server reads as it was, and the other way round.
use super::*;
use http::Response;
use proptest::prelude::*;
use seawall::{
    Error, Usage,
    chat::{
        FinishReason, Media, Message, Native, Part, Reasoning, Reply, ResponseFormat, Role, Tool, ToolCall, ToolChoice,
    },
    provider::{Dialect, Fit},
};
use serde_json::value::RawValue;
use std::{convert::Infallible, fs, future::ready, path::Path};
use tower::{ServiceExt, service_fn};

fn encoded(request: &chat::Request) -> Bytes {
    OpenAi::without_key().encode(request, &mut Fit::default()).unwrap().into_body()
}

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn text() -> impl Strategy<Value = String> {
    "[ -~é🌊\n\"\\\\]{1,12}"
}

/// Turns that belong together, as a provider takes them: a question, an answer, or calls with their results.
fn turns() -> impl Strategy<Value = Vec<Message>> {
    let call = (text(), prop::sample::select(vec!["", "{}", "{\"a\": 1.10}", "{\"cut"]));
    prop_oneof![
        text().prop_map(|text| vec![Message::user(text)]),
        (text(), text()).prop_map(|(text, name)| {
            let png = Part::Image(Media::base64("image/png", "iVBOR"));
            let pdf = Part::Document(Media::base64("application/pdf", "JVBE").name(name));
            vec![Message::user(text).part(png).part(Part::Image(Media::url("https://example.com/a"))).part(pdf)]
        }),
        text().prop_map(|text| vec![Message::assistant(text)]),
        text().prop_map(|text| vec![Message::new(Role::Assistant, [Part::Refusal(text)])]),
        (any::<u64>(), prop::option::of(text()), prop::collection::vec(call, 1..4)).prop_map(|(own, said, calls)| {
            let turn = Message::assistant(said.unwrap_or_default());
            // An id that comes again goes out as another.
            let id = |at: usize| format!("call_{own}_{at}");
            let named = calls.iter().enumerate();
            let turn = named.fold(turn, |turn, (at, (_, given))| turn.tool_call(ToolCall::new(id(at), "look", *given)));
            let results = calls.iter().enumerate().map(|(at, (result, _))| Message::tool(id(at), result.as_str()));
            [vec![turn], results.collect()].concat()
        }),
    ]
}

fn request() -> impl Strategy<Value = chat::Request> {
    let history = prop::collection::vec(turns(), 1..6);
    let settings = (any::<bool>(), prop::option::of(0.0..2.0f64), prop::option::of(any::<i64>()), 0..5u8);
    (history, prop::option::of(text()), settings, prop::collection::vec(text(), 0..3)).prop_map(
        |(history, system, (is_stream, temperature, seed, form), stops)| {
            let schema =
                raw(r#"{"type": "object", "properties": {"z": {"type": "number", "maximum": 1.10}, "a": {}}}"#);
            let request =
                chat::Request::new("m").history(history.concat()).max_tokens(7).extra("openai", "user", "u".into());
            let request = stops.into_iter().fold(request, chat::Request::stop);
            let request = system.into_iter().fold(request, chat::Request::system);
            let request = temperature.into_iter().fold(request, chat::Request::temperature);
            let request = seed.into_iter().fold(request, chat::Request::seed);
            let request = if is_stream { request.stream() } else { request };
            let tool = Tool::new("look", "Looks.").raw_parameters(schema);
            match form {
                0 => request,
                1 => request.tool(tool).tool_choice(ToolChoice::Required).parallel_tool_calls(false),
                2 => request.tool(tool.strict()).tool_choice(ToolChoice::Named("look".into())),
                3 => request.response_format(ResponseFormat::Json),
                _ => request.response_format(ResponseFormat::json_schema("x", json!({ "type": "object" })).strict()),
            }
        },
    )
}

/// An answer as this client reads one, so that the thoughts are in its form. What a filter cut is an error to it.
fn answer() -> impl Strategy<Value = chat::Answer> {
    let reason = prop::sample::select(vec![FinishReason::Stop, FinishReason::Length]);
    let parts = (prop::option::of(text()), prop::option::of(text()), any::<bool>(), 0..3usize);
    (parts, reason, any::<[u16; 4]>()).prop_map(|((thought, said, is_refused, calls), reason, [a, b, c, d])| {
        let native = |text: &str| Native::new("openai", raw(&Value::from(text).to_string()));
        let mut parts: Vec<_> =
            thought.map(|text| Part::Reasoning(Reasoning::new(&*text, native(&text)))).into_iter().collect();
        parts.extend(said.map(|text| if is_refused { Part::Refusal(text) } else { Part::Text(text.into()) }));
        let calls = (0..calls).map(|at| Part::ToolCall(ToolCall::new(format!("c{at}"), "look", "{\"a\": 1.10}")));
        parts.extend(calls);
        let is_called = parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
        let reason = if is_called && reason == FinishReason::Stop { FinishReason::ToolCalls } else { reason };
        let mut usage = Usage::new(u64::from(a) + u64::from(c), u64::from(b) + u64::from(d));
        (usage.cached, usage.reasoning) = (c.into(), d.into());
        let answer = chat::Answer::new(Message::new(Role::Assistant, parts)).with_finish_reason(reason);
        answer.with_usage(usage).with_model("m-2026").with_id("chatcmpl-1")
    })
}

/// A stack that gives this answer, of which nothing is as it was received.
fn giving(answer: &chat::Answer) -> Endpoint<serve::OpenAi, Boxed> {
    let answer = answer.clone();
    Endpoint::new(
        serve::OpenAi::new(),
        Boxed::new(service_fn(move |_| ready(Ok::<_, Error>(Reply::whole(answer.clone()))))),
    )
}

fn question(is_stream: bool) -> String {
    json!({ "model": "m", "messages": [{ "role": "user", "content": "?" }], "stream": is_stream,
        "stream_options": { "include_usage": true } })
    .to_string()
}

/// A body as our own client reads it.
async fn reread(body: String, is_stream: bool) -> chat::Answer {
    let kind = if is_stream { "text/event-stream" } else { "application/json" };
    let server = service_fn(move |_| {
        let response =
            Response::builder().header("content-type", kind).body(http_body_util::Full::new(Bytes::from(body.clone())));
        ready(Ok::<_, Infallible>(response.unwrap()))
    });
    let request = chat::Request::new("m").user("?");
    let request = if is_stream { request.stream() } else { request };
    let mut reply = OpenAi::without_key().over(server).oneshot(request).await.unwrap();
    reply.read().await.unwrap();
    reply.answer().clone()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(future)
}

proptest! {
    #[test]
    fn a_request_that_our_client_wrote_is_read_as_it_was_and_written_the_same(request in request()) {
        let sent = encoded(&request);
        let read = serve::OpenAi::new().decode(&sent).unwrap();
        prop_assert_eq!(encoded(&read), sent, "byte for byte");
        let all = |request: &chat::Request| (
            request.messages().iter().flat_map(|message| message.parts().to_vec()).collect::<Vec<_>>(),
            request.system_text().map(str::to_owned), request.sampling(), request.chosen_seed(), request.stops().to_vec(),
            request.chosen_tools().clone(), request.parallel_calls(), request.token_cap(), request.is_stream(),
        );
        prop_assert_eq!(all(&read), all(&request));
    }

    #[test]
    fn an_answer_that_is_served_is_read_by_our_client_as_it_was(answer in answer()) {
        block_on(async {
            for is_stream in [false, true] {
                let (head, told) = ask(&giving(&answer), question(is_stream)).await;
                assert_eq!(head.status, 200);
                assert_eq!(reread(told.clone(), is_stream).await, answer, "{told}");
            }
        });
    }
}

/// Each with what the same answer would have been whole.
fn recorded(dialect: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/streams").join(dialect);
    let mut all: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.retain(|file| file.extension().is_some_and(|end| end == "sse"));
    all.sort();
    let read = |file: &Path| (file.display().to_string(), fs::read_to_string(file).unwrap());
    all.iter().map(|file| read(file)).collect()
}

/// A stack that streams this, in either dialect.
fn streaming(dialect: &str, stream: &str) -> Boxed {
    let stream = Bytes::from(stream.to_owned());
    let server = service_fn(move |_: http::Request<http_body_util::Full<Bytes>>| {
        let response = Response::builder().header("content-type", "text/event-stream");
        ready(Ok::<_, Infallible>(response.body(http_body_util::Full::new(stream.clone())).unwrap()))
    });
    match dialect {
        "openai" => Boxed::new(OpenAi::without_key().over(server)),
        _ => Boxed::new(Anthropic::without_key().over(server)),
    }
}

/// What everybody can read of an answer.
fn plain(
    answer: &chat::Answer,
) -> (String, Option<String>, String, Vec<(String, String, String)>, Option<[u64; 4]>, Option<String>) {
    let message = answer.message();
    let calls = message.tool_calls().map(|call| (call.id().into(), call.name().into(), call.arguments().into()));
    (
        message.text().into_owned(),
        message.refusal().map(str::to_owned),
        message.reasoning().map(Reasoning::text).collect(),
        calls.collect(),
        answer.usage().map(|usage| [usage.input, usage.output, usage.cached, usage.reasoning]),
        answer.model().map(str::to_owned),
    )
}

#[tokio::test(start_paused = true)]
async fn recorded_streams_of_either_dialect_say_the_same_to_our_client_once_they_were_served() {
    for dialect in ["openai", "anthropic"] {
        let all = recorded(dialect);
        assert!(all.len() >= 6, "{} streams", all.len());
        for (name, stream) in all {
            let stack = streaming(dialect, &stream);
            let mut first = stack.clone().oneshot(chat::Request::new("m").user("?").stream()).await.unwrap();
            first.read().await.unwrap();
            let (_, told) = ask(&Endpoint::new(serve::OpenAi::new(), stack), question(true)).await;
            assert_eq!(told.matches("data: [DONE]").count(), 1, "{name}: {told}");
            assert!(told.ends_with("data: [DONE]\n\n"), "{name}: {told}");
            let served = reread(told.clone(), true).await;
            assert_eq!(plain(&served), plain(first.answer()), "{name}: {told}");
            // The items that it was put together to, without anything that was received.
            let (_, anew) = ask(&giving(first.answer()), question(true)).await;
            assert_eq!(plain(&reread(anew.clone(), true).await), plain(first.answer()), "{name}: {anew}");
            let chunks = anew.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
            let heads = chunks.map(|data| serde_json::from_str::<Value>(data).unwrap());
            let mut heads: Vec<_> =
                heads.map(|it| (it["id"].to_string(), it["created"].to_string(), it["model"].to_string())).collect();
            heads.dedup();
            assert_eq!(heads.len(), 1, "{name}: {anew}");
        }
    }
}

/// Case 41.
#[tokio::test(start_paused = true)]
async fn a_recorded_stream_that_is_cut_ends_with_an_error_and_without_an_ending() {
    for dialect in ["openai", "anthropic"] {
        for (name, stream) in recorded(dialect) {
            let events: Vec<_> = stream.split_inclusive("\n\n").collect();
            for cut in 1..events.len() {
                let stack = streaming(dialect, &events[..cut].concat());
                let is_whole = match stack.clone().oneshot(chat::Request::new("m").user("?").stream()).await {
                    Ok(mut reply) => reply.read().await.is_ok(),
                    Err(_) => false,
                };
                let (head, told) = ask(&Endpoint::new(serve::OpenAi::new(), stack), question(true)).await;
                assert_eq!(told.contains("[DONE]"), is_whole, "{name} cut at {cut}: {told}");
                if !is_whole {
                    let last = told.trim_end().rsplit("data: ").next().unwrap();
                    let error: Value = serde_json::from_str(last).unwrap();
                    assert_eq!(error["error"]["type"], "server_error", "{name} cut at {cut}, {}: {told}", head.status);
                }
            }
        }
    }
}
