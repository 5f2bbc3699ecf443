//! What is read and what is written, in both protocols over both dialects.
use super::{ask, json};
use crate::guarded;
use seawall::{
    Stack,
    provider::{Anthropic, OpenAi},
    serve::{self, Endpoint},
    sim::{Answer, BadEvent, Fault, InProcess, Phase, Script, When},
    stack::Boxed,
};
use serde_json::{Value, json as value};

/// Over a route of each dialect.
fn routes(script: impl Fn() -> Script) -> [(InProcess, Boxed); 2] {
    let [a, b] = [(); 2].map(|()| InProcess::new(script()).unwrap());
    let openai = Stack::chat(OpenAi::new("k").over(a.clone())).max_retries(0).build().unwrap();
    let anthropic = Stack::chat(Anthropic::new("k").over(b.clone())).max_retries(0).build().unwrap();
    [(a, Boxed::new(openai)), (b, Boxed::new(anthropic))]
}

fn sent(provider: &InProcess) -> Value {
    let log = provider.log();
    json(std::str::from_utf8(log.records.last().unwrap().body.as_deref().unwrap()).unwrap())
}

fn tools() -> Script {
    let answer =
        Answer::default().text("Let me see.").tool_call("add", r#"{"a":4,"b":2}"#).tool_call("add", r#"{"a":7,"b":8}"#);
    Script::seeded(1).answer(answer).keep_bodies(100_000)
}

fn gpt() -> Value {
    value!({
        "model": "m",
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": [
                { "type": "text", "text": "What is it?" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgo=" } },
            ] },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "call_1", "type": "function", "function": { "name": "add", "arguments": "{\"a\":1,\"b\":2}" } },
            ] },
            { "role": "tool", "tool_call_id": "call_1", "content": "3" },
        ],
        "tools": [{ "type": "function", "function": { "name": "add", "parameters": { "type": "object", "properties": {} } } }],
        "tool_choice": "required",
        "max_completion_tokens": 50,
        "stop": "END",
    })
}

fn claude() -> Value {
    value!({
        "model": "m",
        "max_tokens": 50,
        "system": "Be brief.",
        "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": "What is it?" },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo=" } },
            ] },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "call_1", "name": "add", "input": { "a": 1, "b": 2 } }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "call_1", "content": "3" }] },
        ],
        "tools": [{ "name": "add", "input_schema": { "type": "object", "properties": {} } }],
        "tool_choice": { "type": "any" },
        "stop_sequences": ["END"],
    })
}

#[tokio::test(start_paused = true)]
async fn the_same_conversation_in_either_protocol_is_the_same_to_a_provider() {
    guarded(async {
        let gpt_body = gpt();
        for (provider, stack) in routes(tools) {
            let (head, _) = ask(&Endpoint::new(serve::OpenAi::new(), stack.clone()), gpt_body.to_string()).await;
            assert_eq!(head.status, 200);
            let first = sent(&provider);
            let (head, _) = ask(&Endpoint::new(serve::Anthropic::new(), stack), claude().to_string()).await;
            assert_eq!(head.status, 200);
            assert_eq!(first, sent(&provider));
            assert_eq!(first["messages"].as_array().unwrap().len(), if first["system"].is_string() { 3 } else { 4 });
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn tools_come_back_in_the_words_of_whoever_asked() {
    guarded(async {
        for (_, stack) in routes(tools) {
            for streamed in [false, true] {
                let (mut gpt, mut claude) = (gpt(), claude());
                // A question, without the results of the tools.
                gpt["messages"].as_array_mut().unwrap().truncate(2);
                claude["messages"].as_array_mut().unwrap().truncate(1);
                (gpt["stream"], claude["stream"]) = (streamed.into(), streamed.into());
                gpt["stream_options"] = if streamed { value!({ "include_usage": true }) } else { Value::Null };
                let (head, told) = ask(&Endpoint::new(serve::OpenAi::new(), stack.clone()), gpt.to_string()).await;
                assert_eq!(head.status, 200);
                if streamed {
                    assert!(told.ends_with("data: [DONE]\n\n"), "{told}");
                    assert_eq!((told.matches("[DONE]").count(), told.matches("\"prompt_tokens\"").count()), (1, 1));
                } else {
                    let told = json(&told);
                    let message = &told["choices"][0]["message"];
                    assert_eq!(message["tool_calls"][1]["function"]["arguments"], r#"{"a":7,"b":8}"#);
                    assert_eq!(told["choices"][0]["finish_reason"], "tool_calls");
                }
                let (head, told) =
                    ask(&Endpoint::new(serve::Anthropic::new(), stack.clone()), claude.to_string()).await;
                assert_eq!(head.status, 200);
                if streamed {
                    for event in ["message_start", "message_delta", "message_stop"] {
                        assert_eq!(told.matches(&format!("event: {event}\n")).count(), 1, "{told}");
                    }
                    assert_eq!(told.matches("\"type\":\"tool_use\"").count(), 2);
                } else {
                    let told = json(&told);
                    let last = told["content"].as_array().unwrap().last().unwrap();
                    assert_eq!(last["input"], value!({ "a": 7, "b": 8 }));
                    assert_eq!(told["stop_reason"], "tool_use");
                }
            }
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_seawall_does_not_know_goes_on_to_its_own_kind_alone() {
    guarded(async {
        let [(openai, to_openai), (anthropic, to_anthropic)] = routes(tools);
        let mut gpt = gpt();
        (gpt["logit_bias"], gpt["verbosity"]) = (value!({ "5": -100 }), "low".into());
        for stack in [&to_openai, &to_anthropic] {
            ask(&Endpoint::new(serve::OpenAi::new(), stack.clone()), gpt.to_string()).await;
        }
        assert_eq!(
            (&sent(&openai)["logit_bias"], &sent(&openai)["verbosity"]),
            (&gpt["logit_bias"], &gpt["verbosity"])
        );
        assert!(sent(&anthropic).get("logit_bias").is_none());

        let mut claude = claude();
        let ephemeral = value!({ "type": "ephemeral" });
        claude["system"] = value!([{ "type": "text", "text": "Be brief.", "cache_control": ephemeral }]);
        claude["tools"][0]["cache_control"] = ephemeral.clone();
        claude["messages"][2]["content"][0]["cache_control"] = ephemeral.clone();
        claude["top_k"] = 5.into();
        for stack in [&to_openai, &to_anthropic] {
            ask(&Endpoint::new(serve::Anthropic::new(), stack.clone()), claude.to_string()).await;
        }
        let told = sent(&anthropic);
        assert_eq!(
            (&told["system"], &told["tools"], &told["top_k"]),
            (&claude["system"], &claude["tools"], &claude["top_k"])
        );
        assert_eq!(told["cache_control"], ephemeral);
        let told = sent(&openai);
        assert_eq!(told["messages"][0]["content"], "Be brief.");
        assert!(told["tools"].is_array() && !told.to_string().contains("cache_control") && told.get("top_k").is_none());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_a_provider_of_the_same_form_says_is_handed_on_as_it_came() {
    guarded(async {
        let [(_, to_openai), (_, to_anthropic)] = routes(tools);
        let (_, told) = ask(&Endpoint::new(serve::OpenAi::new(), to_openai), gpt().to_string()).await;
        assert!(json(&told)["choices"][0]["message"].get("annotations").is_some(), "{told}");
        let (_, told) = ask(&Endpoint::new(serve::Anthropic::new(), to_anthropic), claude().to_string()).await;
        assert!(json(&told)["usage"].get("service_tier").is_some(), "{told}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_no_json_is_handed_on_to_nobody() {
    guarded(async {
        for event in [BadEvent::NotJson, BadEvent::NotUtf8] {
            let fault =
                || Fault::event(Phase::AfterTokens(2), event).with_answer(Answer::default().text("one two three"));
            for (_, stack) in routes(|| Script::seeded(1).fault(When::always(), fault())) {
                let mut asked = gpt();
                asked["stream"] = true.into();
                let (_, told) = ask(&Endpoint::new(serve::OpenAi::new(), stack.clone()), asked.to_string()).await;
                is_read_by_any_client(&told);
                assert!(told.ends_with("data: [DONE]\n\n"), "{told}");
                let mut asked = claude();
                asked["stream"] = true.into();
                let (_, told) = ask(&Endpoint::new(serve::Anthropic::new(), stack), asked.to_string()).await;
                is_read_by_any_client(&told);
                assert!(told.contains("event: message_stop\n"), "{told}");
            }
        }
    })
    .await;
}

fn is_read_by_any_client(stream: &str) {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    let read: Vec<_> = data.map(json).collect();
    assert!(read.len() > 3 && stream.contains("three"), "{stream}");
}

#[tokio::test(start_paused = true)]
async fn a_cut_is_told_in_the_clients_words_and_never_by_a_clean_end() {
    guarded(async {
        let script = || {
            let answer = Answer::default().text("one two three four five six seven");
            Script::seeded(1).answer(answer).fault(When::always(), Fault::truncate(Phase::AfterTokens(3)))
        };
        for (_, stack) in routes(script) {
            let body = value!({ "model": "m", "messages": [{ "role": "user", "content": "?" }], "stream": true, "max_tokens": 9 });
            let (head, told) = ask(&Endpoint::new(serve::OpenAi::new(), stack.clone()), body.to_string()).await;
            assert_eq!(head.status, 200);
            assert!(told.contains("one") && told.contains("three") && !told.contains("[DONE]"), "{told}");
            let last = told.trim_end().rsplit("data: ").next().unwrap();
            assert_eq!(json(last)["error"]["type"], "server_error");

            let (_, told) = ask(&Endpoint::new(serve::Anthropic::new(), stack), body.to_string()).await;
            assert!(!told.contains("message_stop"), "{told}");
            let events: Vec<_> = told.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
            assert_eq!(events[events.len() - 2..], ["content_block_stop", "error"], "the open block is closed first");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_providers_own_trouble_stays_with_us() {
    guarded(async {
        for status in [401, 402, 403, 500] {
            let body = r#"{"error":{"type":"x","message":"key sk-upstream of org-upstream at https://upstream"}}"#;
            for (_, stack) in routes(|| Script::seeded(1).fault(When::always(), Fault::status(status).body(body))) {
                let (head, told) = ask(&Endpoint::new(serve::OpenAi::new(), stack.clone()), gpt().to_string()).await;
                assert_eq!(head.status, 502);
                assert!(!told.contains("upstream"), "{told}");
                let (head, told) = ask(&Endpoint::new(serve::Anthropic::new(), stack), claude().to_string()).await;
                assert_eq!(head.status, 502);
                assert!(!told.contains("upstream"), "{told}");
            }
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_document_in_words_and_a_call_by_a_program_reach_their_own_kind_as_they_were() {
    guarded(async {
        let [_, (anthropic, stack)] = routes(tools);
        let mut claude = claude();
        let document = value!({ "type": "document", "source": { "type": "text", "media_type": "text/plain", "data": "Blau, größtenteils." } });
        claude["messages"][0]["content"][1] = document.clone();
        claude["messages"][1]["content"][0]["caller"] = value!({ "type": "code_execution_20250825", "tool_id": "srvtoolu_1" });
        ask(&Endpoint::new(serve::Anthropic::new(), stack), claude.to_string()).await;
        let told = sent(&anthropic);
        assert_eq!(told["messages"][0]["content"][1], document);
        assert_eq!(told["messages"][1]["content"][0], claude["messages"][1]["content"][0]);
    })
    .await;
}

#[tokio::test]
async fn a_block_on_several_lines_is_one_event_and_what_is_no_block_is_none() {
    use seawall::chat::{Answer, Message, Native, Part, Reply, Request, Role};
    async fn model(_: Request) -> Result<Reply, seawall::Error> {
        let blocks = ["{\n  \"type\": \"search\",\n  \"text\": \"a\\nb\"\n}", "0.25"];
        let raw = |json: &str| serde_json::value::RawValue::from_string(json.to_owned()).unwrap();
        let parts = blocks.map(|json| Part::Native(Native::new("anthropic", raw(json))));
        Ok(Reply::whole(Answer::new(Message::new(Role::Assistant, parts))))
    }
    let endpoint = Endpoint::new(serve::Anthropic::new(), Boxed::new(tower::service_fn(model)));
    let mut body = value!({ "model": "m", "messages": [{ "role": "user", "content": "?" }], "max_tokens": 9 });
    let (_, whole) = ask(&endpoint, body.to_string()).await;
    assert_eq!(json(&whole)["content"].as_array().unwrap().len(), 1, "{whole}");
    body["stream"] = true.into();
    let (_, told) = ask(&endpoint, body.to_string()).await;
    let block = told.lines().find(|line| line.contains("search")).unwrap();
    assert_eq!(json(block.strip_prefix("data: ").unwrap())["content_block"]["text"], "a\nb");
    assert!(!told.contains("0.25"), "{told}");
}
