//! Which piece belongs to which call, as servers tell it or do not.
use super::*;
use seawall::provider::Fit;

/// The calls of a stream of these lists of pieces, one a delta.
async fn calls(deltas: &[Value]) -> Vec<(String, String, String)> {
    let deltas: String = deltas.iter().map(|pieces| delta(&json!({ "tool_calls": pieces }))).collect();
    let read = openai().whole(&(deltas + &finish("tool_calls") + DONE)).await;
    assert_eq!(read.skipped, 0);
    shown_as_given(&read.items);
    let calls = read.answer.message().tool_calls();
    calls.map(|call| (call.id().to_owned(), call.name().to_owned(), call.arguments().to_owned())).collect()
}

/// What was shown of each call is what it is.
fn shown_as_given(items: &[Item]) {
    let calls = items.iter().filter_map(|item| match item {
        Item::ToolCall(call) => Some(call),
        _ => None,
    });
    for (at, call) in calls.enumerate() {
        let mut arguments = String::new();
        for item in items {
            if let Item::Calling { index, arguments: more, .. } = item
                && *index == at
            {
                arguments.push_str(more);
            }
        }
        assert_eq!(arguments, call.arguments(), "{items:#?}");
    }
}

async fn assert_calls(deltas: Value, expected: &[(&str, &str, &str)]) {
    let Value::Array(list) = &deltas else { panic!("a list of deltas") };
    let calls = calls(list).await;
    let calls: Vec<_> = calls.iter().map(|(id, name, arguments)| (&**id, &**name, &**arguments)).collect();
    assert_eq!(calls, expected, "{deltas}");
}

const TWO: [(&str, &str, &str); 2] = [("a", "look", r#"{"at":1}"#), ("b", "listen", r#"{"to":2}"#)];

#[tokio::test]
async fn a_call_in_pieces_is_shown_as_it_comes_and_given_when_it_is_whole() {
    let stream = [
        delta(&json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "look", "arguments": "" } }] })),
        delta(&json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "{\"at\"" } }] })),
        delta(&json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "" } }] })),
        delta(&json!({ "tool_calls": [{ "index": 0, "function": { "arguments": ":1}" } }] })),
        finish("tool_calls"),
    ];
    let read = openai().whole(&(stream.concat() + DONE)).await;
    let [opened, first, second, whole, finish, usage] = &read.items[..] else { panic!("{:#?}", read.items) };
    assert_eq!(
        [opened, first, second],
        [&calling(0, "look", ""), &calling(0, "look", "{\"at\""), &calling(0, "look", ":1}")]
    );
    assert_eq!(whole, &called("a", "look", r#"{"at":1}"#));
    assert!(matches!(finish, Item::Finish(chat::FinishReason::ToolCalls)));
    assert!(matches!(usage, Item::Usage(usage) if usage.estimated));
}

#[tokio::test]
async fn the_index_tells_and_where_there_is_none_the_id() {
    let by_index = json!([
        [{ "index": 0, "id": "a", "function": { "name": "look" } }, { "index": 1, "id": "b", "function": { "name": "listen" } }],
        [{ "index": 1, "function": { "arguments": "{\"to\"" } }],
        [{ "index": 0, "function": { "arguments": "{\"at\":" } }],
        [{ "index": 1, "function": { "arguments": ":2}" } }, { "index": 0, "function": { "arguments": "1}" } }],
    ]);
    assert_calls(by_index, &TWO).await;
    let by_id = json!([
        [{ "id": "a", "function": { "name": "look" } }],
        [{ "id": "b", "index": null, "function": { "name": "listen", "arguments": "{\"to\"" } }],
        [{ "id": "a", "index": -1, "function": { "name": "look", "arguments": "{\"at\":1}" } }],
        [{ "id": "b", "function": { "name": "", "arguments": ":2}" } }],
    ]);
    assert_calls(by_id, &TWO).await;
    let by_order = json!([
        [{ "id": "a", "function": { "name": "look", "arguments": "{\"at\"" } }],
        [{ "function": { "arguments": ":1}" } }],
        [{ "id": "b", "function": { "name": "listen", "arguments": "" } }],
        [{ "function": { "arguments": "{\"to\":2}" } }],
    ]);
    assert_calls(by_order, &TWO).await;
    let learned_later = json!([
        [{ "id": "a", "function": { "name": "look" } }],
        [{ "index": 0, "function": { "arguments": "{\"at\":1}" } }],
        [{ "index": 1, "id": "b", "function": { "name": "listen" } }],
        [{ "index": 1, "function": { "arguments": "{\"to\":2}" } }],
    ]);
    assert_calls(learned_later, &TWO).await;
}

#[tokio::test]
async fn another_id_under_the_same_index_is_another_call() {
    let one_by_one = json!([
        [{ "index": 0, "id": "a", "function": { "name": "look", "arguments": "{\"at\"" } }],
        [{ "index": 0, "id": "a", "function": { "name": "look", "arguments": ":1}" } }],
        [{ "index": 0, "id": "b", "function": { "name": "listen", "arguments": "" } }],
        [{ "index": 0, "function": { "arguments": "{\"to\":2}" } }],
    ]);
    assert_calls(one_by_one, &TWO).await;
    let interleaved = json!([
        [{ "index": 0, "id": "a", "function": { "name": "look", "arguments": "{\"at\"" } },
         { "index": 0, "id": "b", "function": { "name": "listen", "arguments": "{\"to\"" } }],
        [{ "index": 0, "id": "a", "function": { "arguments": ":1}" } }],
        [{ "index": 0, "id": "b", "function": { "arguments": ":2}" } }],
    ]);
    assert_calls(interleaved, &TWO).await;
}

#[tokio::test]
async fn the_same_id_under_another_index_is_another_call() {
    let twice = json!([
        [{ "index": 0, "id": "x", "function": { "name": "look", "arguments": "{\"at\":1}" } }],
        [{ "index": 1, "id": "x", "function": { "name": "look", "arguments": "{\"at\":2}" } }],
    ]);
    assert_calls(twice, &[("x", "look", r#"{"at":1}"#), ("x", "look", r#"{"at":2}"#)]).await;
}

#[tokio::test]
async fn whole_calls_without_an_id_are_told_apart_by_their_ends() {
    let expected = [("", "look", r#"{"at":"}]{"}"#), ("", "listen", "{}"), ("", "listen", r#"{"to":[2]}"#)];
    let look = json!({ "index": 0, "id": "", "function": { "name": "look", "arguments": r#"{"at":"}]{"}"# } });
    let listen = |arguments: &str| json!({ "index": 0, "function": { "name": "listen", "arguments": arguments } });
    assert_calls(json!([[look], [listen("{}")], [listen(r#"{"to":[2]}"#)]]), &expected).await;
    assert_calls(json!([[look, listen("{}"), listen(r#"{"to":[2]}"#)]]), &expected).await;
    let unnumbered = |name: &str, arguments: &str| json!({ "function": { "name": name, "arguments": arguments } });
    let all =
        [unnumbered("look", r#"{"at":"}]{"}"#), unnumbered("listen", "{}"), unnumbered("listen", r#"{"to":[2]}"#)];
    assert_calls(json!([all]), &expected).await;
    assert_calls(json!([[all[0]], [all[1]], [all[2]]]), &expected).await;
    let repeated = json!([
        [unnumbered("look", "{\"at\""), unnumbered("listen", "")],
        [unnumbered("listen", "{\"to\"")],
        [unnumbered("listen", ":2}")],
        [unnumbered("listen", "\n")],
    ]);
    assert_calls(repeated, &[("", "look", "{\"at\""), ("", "listen", "{\"to\":2}\n")]).await;
}

#[tokio::test]
async fn ids_and_names_may_come_late_in_pieces_or_not_at_all() {
    let late = json!([
        [{ "index": 0, "function": { "arguments": "{\"at\"" } }],
        [{ "index": 0, "function": { "name": "lo" } }],
        [{ "index": 0, "function": { "name": "ok", "arguments": ":1}" } }],
        [{ "index": 0, "function": { "name": "look" } }],
        [{ "index": 0, "id": "a" }],
        [{ "index": 1, "id": "b" }, { "index": 1, "function": { "name": "listen", "arguments": { "to": 2 } } }],
    ]);
    assert_calls(late, &TWO).await;
    let unnumbered = json!([
        [{ "id": "a" }],
        [{ "function": { "name": "look" } }],
        [{ "function": { "arguments": "{\"at\":1}" } }],
        [{ "function": { "name": "listen", "arguments": "{\"to\"" } }],
        [{ "id": "b", "function": { "arguments": ":2}" } }],
    ]);
    assert_calls(unnumbered, &TWO).await;
    let nameless =
        json!([[{ "index": 0, "id": "a", "function": { "name": "", "arguments": "{}" } }], [{ "index": 0 }], [{}]]);
    assert_calls(nameless, &[("a", "", "{}")]).await;
}

#[tokio::test]
async fn pieces_that_say_nothing_and_empty_lists_are_no_calls() {
    for nothing in [json!([]), json!([{}]), json!([{ "index": 0 }]), json!([{ "function": { "arguments": "" } }])] {
        assert_calls(json!([nothing]), &[]).await;
    }
}

#[tokio::test]
async fn calls_are_given_whatever_the_finish_reason_says_and_also_behind_it() {
    let call = |id: &str| json!({ "tool_calls": [{ "index": 0, "id": id, "function": { "name": "look", "arguments": "{}" } }] });
    let stream = delta(&call("a")) + &finish("stop") + &delta(&call("b")) + DONE;
    let read = openai().whole(&stream).await;
    let ids: Vec<_> = read.answer.message().tool_calls().map(ToolCall::id).collect();
    assert_eq!(ids, ["a", "b"]);
}

#[tokio::test]
async fn an_answer_of_more_calls_than_there_is_room_for_fails_rather_than_to_lose_some() {
    let piece = |at: usize| json!({ "index": at, "id": format!("c{at}"), "function": { "name": "look" } });
    let list = |from: usize, to: usize| delta(&json!({ "tool_calls": (from..to).map(piece).collect::<Vec<_>>() }));
    let end = finish("tool_calls") + DONE;
    let read = openai().whole(&(list(0, 1000) + &list(1000, 1024) + &end)).await;
    assert_eq!(read.answer.message().tool_calls().count(), 1024);
    assert_eq!(openai().failing(&(list(0, 1024) + &list(1024, 1025) + &end)).await.kind(), seawall::Kind::Server);
    assert_eq!(openai().failing(&(list(0, 3000) + &end)).await.kind(), seawall::Kind::Server);
    let nothing = vec![json!({}); 3000];
    assert!(openai().failing(&(delta(&json!({ "tool_calls": nothing })) + &end)).await.is_retryable());
    let name = delta(&json!({ "tool_calls": [{ "index": 0, "function": { "name": "long".repeat(200) } }] }));
    assert_eq!(openai().whole(&(name.clone() + &name + &end)).await.answer.message().tool_calls().count(), 1);
    let longer = name.replace("long", "more");
    assert_eq!(openai().failing(&(name + &longer + &end)).await.kind(), seawall::Kind::Server);
}

/// Gemini's signature comes with a call or in a piece of its own, and Claude says which program calls.
#[tokio::test]
async fn what_else_is_said_of_a_call_goes_back_with_it() {
    let signed = json!({ "google": { "thought_signature": "EqQB/+==" } });
    let call = json!({ "id": "a", "type": "function", "function": { "name": "look", "arguments": "{\"at\": 1.0}" } });
    let whole = json!({ "id": "a", "extra_content": signed, "function": call["function"] });
    let apart = json!({ "extra_content": signed });
    for deltas in [vec![json!([whole])], vec![json!([call]), json!([apart])]] {
        let deltas: String = deltas.iter().map(|pieces| delta(&json!({ "tool_calls": pieces }))).collect();
        let answer = openai().whole(&(deltas + &finish("stop") + DONE)).await.answer;
        let sent = provider::OpenAi::without_key().encode(&again(&answer), &mut Fit::default()).unwrap();
        let body: Value = serde_json::from_slice(sent.body()).unwrap();
        let mut expected = call.clone();
        expected["extra_content"] = signed.clone();
        assert_eq!(body["messages"][1]["tool_calls"], json!([expected]));
    }
    let caller = json!({ "type": "code_execution_20250825", "tool_id": "s" });
    let block = json!({ "type": "tool_use", "id": "a", "name": "look", "input": {}, "caller": caller });
    let input = json!({ "type": "input_json_delta", "partial_json": "{\"at\":1.5}" });
    let stream = anthropic::start()
        + &event(&json!({ "type": "content_block_start", "index": 0, "content_block": block }))
        + &event(&json!({ "type": "content_block_delta", "index": 0, "delta": input }))
        + &event(&json!({ "type": "content_block_stop", "index": 0 }))
        + &anthropic::stop("tool_use");
    let answer = anthropic().whole(&stream).await.answer;
    let sent = provider::Anthropic::without_key().encode(&again(&answer), &mut Fit::default()).unwrap();
    let body: Value = serde_json::from_slice(sent.body()).unwrap();
    let mut expected = block;
    expected["input"] = json!({ "at": 1.5 });
    assert_eq!(body["messages"][1]["content"], json!([expected]));
}

fn again(answer: &Answer) -> chat::Request {
    chat::Request::new("m").user("?").message(answer.message().clone()).message(chat::Message::tool("a", "1"))
}
