//! Blocks of messages, of Anthropic and of those who write them nearly so.
use super::*;
use seawall::{Kind, Usage, chat::FinishReason, provider::Fit};

pub fn start() -> String {
    event(
        &json!({ "type": "message_start", "message": { "id": "1", "model": "m", "usage": { "input_tokens": 3, "output_tokens": 1 } } }),
    )
}

fn begin(index: usize, block: &Value) -> String {
    event(&json!({ "type": "content_block_start", "index": index, "content_block": block }))
}

fn add(index: usize, delta: &Value) -> String {
    event(&json!({ "type": "content_block_delta", "index": index, "delta": delta }))
}

fn end(index: usize) -> String {
    event(&json!({ "type": "content_block_stop", "index": index }))
}

pub fn stop(reason: &str) -> String {
    let usage = json!({ "output_tokens": 9 });
    event(&json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": usage })) + &over()
}

pub fn over() -> String {
    event(&json!({ "type": "message_stop" }))
}

fn says(text: &str) -> Value {
    json!({ "type": "text_delta", "text": text })
}

fn inputs(json: &str) -> Value {
    json!({ "type": "input_json_delta", "partial_json": json })
}

/// A text block.
pub fn said(index: usize, text: &str) -> String {
    begin(index, &json!({ "type": "text", "text": "" })) + &add(index, &says(text)) + &end(index)
}

fn tool(id: &str) -> Value {
    json!({ "type": "tool_use", "id": id, "name": "look", "input": {} })
}

/// What blocks give, without the head and the tail that all streams here have.
async fn items(blocks: &str) -> Vec<Item> {
    let mut items = anthropic().whole(&(start() + blocks + &stop("end_turn"))).await.items;
    assert!(matches!(items[..2], [Item::Started { .. }, Item::Usage(_)]), "{items:?}");
    assert!(matches!(items.pop(), Some(Item::Finish(FinishReason::Stop))), "{items:?}");
    items.retain(|item| !matches!(item, Item::Started { .. } | Item::Usage(_)));
    items
}

#[tokio::test]
async fn blocks_are_shown_as_they_come_and_given_when_they_are_whole() {
    let blocks = [
        begin(0, &json!({ "type": "thinking", "thinking": "", "signature": "" })),
        add(0, &json!({ "type": "thinking_delta", "thinking": "Hm" })),
        add(0, &json!({ "type": "thinking_delta", "thinking": "." })),
        add(0, &json!({ "type": "signature_delta", "signature": "c2ln" })),
        end(0),
        said(1, "I look."),
        begin(2, &tool("a")),
        add(2, &inputs("")),
        add(2, &inputs("{\"at\"")),
        add(2, &inputs(": 1.0}")),
        end(2),
        begin(3, &tool("b")) + &end(3),
    ];
    let thinking = r#"{"signature":"c2ln","thinking":"Hm.","type":"thinking"}"#;
    assert_eq!(
        items(&blocks.concat()).await,
        [
            Item::Reasoning("Hm".into()),
            Item::Reasoning(".".into()),
            Item::Thought(chat::Reasoning::new("Hm.", native("anthropic", thinking))),
            text("I look."),
            calling(0, "look", ""),
            calling(0, "look", "{\"at\""),
            calling(0, "look", ": 1.0}"),
            called("a", "look", "{\"at\": 1.0}"),
            calling(1, "look", ""),
            called("b", "look", "{}"),
        ]
    );
}

#[tokio::test]
async fn signed_thinking_goes_back_as_it_came() {
    let thoughts = "Let \u{1f30a}\n\"me\" \\ see\u{0}\u{7f}";
    let blocks = begin(0, &json!({ "type": "thinking", "thinking": "", "signature": "", "more": 1.0 }))
        + &thoughts
            .chars()
            .map(|c| add(0, &json!({ "type": "thinking_delta", "thinking": c.to_string() })))
            .collect::<String>()
        + &add(0, &json!({ "type": "signature_delta", "signature": "EqQ+/B==" }))
        + &end(0)
        + &begin(1, &json!({ "type": "redacted_thinking", "data": "Emw+/w==" }))
        + &end(1)
        + &begin(2, &tool("a"))
        + &end(2);
    let answer = anthropic().whole(&(start() + &blocks + &stop("tool_use"))).await.answer;
    let history =
        chat::Request::new("m").user("?").message(answer.message().clone()).message(chat::Message::tool("a", "1"));
    let body = provider::Anthropic::without_key().encode(&history, &mut Fit::default()).unwrap();
    let body: Value = serde_json::from_slice(body.body()).unwrap();
    let content = &body["messages"][1]["content"];
    assert_eq!(content[0], json!({ "type": "thinking", "thinking": thoughts, "signature": "EqQ+/B==", "more": 1.0 }));
    assert_eq!(content[1], json!({ "type": "redacted_thinking", "data": "Emw+/w==" }));
    assert_eq!(content[2]["id"], "a");
}

#[tokio::test]
async fn each_block_is_given_in_its_place_though_several_are_under_way() {
    let blocks = begin(0, &tool("a"))
        + &begin(1, &tool("b"))
        + &add(1, &inputs("{\"b\":"))
        + &add(0, &inputs("{\"a\":"))
        + &add(1, &inputs("2}"))
        + &end(1)
        + &begin(2, &json!({ "type": "text", "text": "" }))
        + &add(2, &says("Both."))
        + &add(0, &inputs("1}"))
        + &end(0)
        + &end(2);
    assert_eq!(
        items(&blocks).await,
        [
            calling(0, "look", ""),
            calling(0, "look", "{\"a\":"),
            calling(0, "look", "1}"),
            called("a", "look", "{\"a\":1}"),
            calling(1, "look", "{\"b\":2}"),
            called("b", "look", "{\"b\":2}"),
            text("Both."),
        ]
    );
}

#[tokio::test]
async fn a_block_that_never_stops_gives_what_it_showed_and_holds_nothing_back_for_good() {
    let open = |block: &Value, delta: &Value| begin(0, block) + &add(0, delta);
    let text_block = json!({ "type": "text", "text": "" });
    let blocks = open(&text_block, &says("a")) + &said(1, "b");
    assert_eq!(items(&blocks).await, [text("a"), text("b")]);
    let blocks = open(&tool("a"), &inputs("{\"a\":")) + &said(1, "b");
    assert_eq!(items(&blocks).await, [calling(0, "look", ""), calling(0, "look", "{\"a\":"), text("b")]);
    let thinking = json!({ "type": "thinking", "thinking": "" });
    let blocks = open(&text_block, &says("---"))
        + &open(&thinking, &json!({ "type": "thinking_delta", "thinking": "Hm" }))
        + &end(0)
        + &said(1, "b");
    let thought =
        Item::Thought(chat::Reasoning::new("Hm", native("anthropic", r#"{"thinking":"Hm","type":"thinking"}"#)));
    assert_eq!(
        items(&blocks).await,
        [text("---"), Item::Reasoning("Hm".into()), thought, text("b")],
        "the next has its number"
    );
}

#[tokio::test]
async fn what_a_text_cites_is_given_at_its_end() {
    let cites = |at: u32| json!({ "type": "citations_delta", "citation": { "at": at } });
    let cited = begin(0, &json!({ "type": "text", "text": "", "citations": [] }))
        + &add(0, &cites(1))
        + &add(0, &says("a"))
        + &add(0, &cites(2));
    let list = Item::Citations(native("anthropic", r#"[{"at":1},{"at":2}]"#));
    assert_eq!(items(&(cited.clone() + &end(0))).await, [text("a"), list.clone()]);
    let empty = begin(1, &json!({ "type": "text", "text": "" })) + &add(1, &cites(3)) + &end(1);
    assert_eq!(items(&(cited.clone() + &end(0) + &empty)).await, [text("a"), list], "what says nothing cites nothing");
    let next = begin(1, &json!({ "type": "text", "text": "" })) + &add(1, &says("b")) + &add(1, &cites(3)) + &end(1);
    let answer = anthropic().whole(&(start() + &cited + &end(0) + &next + &stop("end_turn"))).await.answer;
    let parts = answer.message().parts().iter().map(|part| match part {
        chat::Part::Text(text) => (text.as_str(), text.citations().unwrap().json().get()),
        other => panic!("{other:?}"),
    });
    assert_eq!(parts.collect::<Vec<_>>(), [("a", r#"[{"at":1},{"at":2}]"#), ("b", r#"[{"at":3}]"#)]);
}

#[tokio::test]
async fn unknown_blocks_are_kept_whole_with_their_input_in_its_place() {
    let search = json!({ "type": "server_tool_use", "id": "s", "input": {}, "name": "web_search" });
    let blocks = begin(0, &search) + &add(0, &inputs("{\"query\": ")) + &add(0, &inputs("1.0}")) + &end(0);
    let kept = r#"{"id":"s","input":{"query": 1.0},"name":"web_search","type":"server_tool_use"}"#;
    assert_eq!(items(&blocks).await, [Item::Native(native("anthropic", kept))]);
    let as_it_came = |json: &str| Item::Native(native("anthropic", json));
    let blocks = begin(0, &search) + &add(0, &inputs("{\"query\"")) + &end(0);
    assert_eq!(items(&blocks).await, [as_it_came(&search.to_string())], "an input that is no JSON has no place");
    let news = |news: &Value| add(0, news);
    let blocks = begin(0, &json!({ "type": "news", "a": null, "b": 1 }))
        + &news(&json!({ "type": "news_delta", "a": "x\"", "c": [1.0], "d": null }))
        + &news(&json!({ "type": "news_delta", "a": "y", "c": [2.0] }))
        + &end(0);
    assert_eq!(items(&blocks).await, [as_it_came(r#"{"a":"x\"y","b":1,"type":"news","c":[2.0]}"#)]);
    let many: String = (0..1030).map(|at| begin(at, &json!({ "type": "news" })) + &end(at)).collect();
    assert_eq!(items(&many).await.len(), 1024, "as many as of a whole reply");
}

#[tokio::test]
async fn what_is_new_to_seawall_is_no_damage() {
    let news = event(&json!({ "type": "fallback_started", "to": "m-2" })) + &event(&json!({ "type": "ping" })) + DONE;
    let odd = begin(0, &json!({ "type": "text", "text": "" }))
        + &add(0, &json!({ "type": "shine_delta", "text": 7 }))
        + &add(0, &says("a"))
        + &end(0);
    let read = anthropic().whole(&(start() + &news + &odd + &news + &stop("pause_turn"))).await;
    assert_eq!((&*read.answer.message().text(), read.skipped), ("a", 0));
    assert_eq!(read.answer.finish_reason(), Some(&FinishReason::Other("pause_turn".into())));
}

#[tokio::test]
async fn the_end_is_message_stop_and_nothing_else() {
    let front = start() + &said(0, "a");
    let stopped = front.clone()
        + &event(
            &json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 9 } }),
        );
    for cut in
        [front.clone(), stopped.clone(), stopped.clone() + DONE, stopped.clone() + &event(&json!({ "type": "ping" }))]
    {
        let read = anthropic().read(vec![Bytes::from(cut.clone())]).await;
        assert_eq!(read.error.unwrap().kind(), Kind::Transport, "{cut}");
        let output = if cut.len() > front.len() { 9 } else { 1 };
        assert_eq!(read.answer.usage(), Some(Usage::new(3, output)), "what was told until then is kept");
    }
    assert!(anthropic().left_open(&(stopped + &over())).await.error.is_none(), "at once");
    let late = front
        + &begin(1, &tool("b"))
        + &stop("tool_use").replace(&over(), "")
        + &add(1, &inputs("{}"))
        + &end(1)
        + &over();
    let items = anthropic().whole(&late).await.items;
    assert!(matches!(&items[items.len() - 2..], [Item::ToolCall(_), Item::Finish(_)]), "{items:?}");
}

#[tokio::test]
async fn counts_of_a_stream_are_of_all_that_came_until_then() {
    let begun = json!({ "type": "message_start", "message": { "usage":
        { "input_tokens": 3, "cache_read_input_tokens": 10, "cache_creation_input_tokens": null, "output_tokens": 1 } } });
    let later = json!({ "type": "message_delta", "delta": {}, "usage": { "input_tokens": 5, "output_tokens": 4 } });
    let last = json!({ "type": "message_delta", "delta": { "stop_reason": "max_tokens" }, "usage":
        { "input_tokens": 0, "cache_creation_input_tokens": 100, "output_tokens": 9, "output_tokens_details": { "thinking_tokens": 6 } } });
    let stream = event(&begun) + &said(0, "a") + &event(&later) + &event(&last) + &over();
    let answer = anthropic().whole(&stream).await.answer;
    let mut usage = Usage::new(115, 9);
    (usage.cached, usage.cache_write, usage.reasoning) = (10, 100, 6);
    assert_eq!((answer.usage(), answer.finish_reason()), (Some(usage), Some(&FinishReason::Length)));
}

#[tokio::test]
async fn servers_that_leave_something_out_are_understood() {
    let unnamed = said(0, "a").replace("event: content_block_delta\n", "")
        + &said(1, "b").replace("\"type\":\"content_block_delta\"", "\"x\":1");
    assert_eq!(items(&unnamed).await, [text("a"), text("b")], "a name, or a type");
    let unnumbered = said(0, "a").replace("\"index\":0,", "") + &said(1, "b").replace("\"index\":1,", "");
    assert_eq!(items(&unnumbered).await, [text("a"), text("b")]);
    assert_eq!(items(&add(0, &says("a"))).await, [text("a")], "a text that was not begun");
    let at_once = begin(0, &json!({ "type": "text", "text": "a" }))
        + &end(0)
        + &begin(1, &json!({ "type": "tool_use", "id": "b", "name": "look", "input": { "at": 1.0 } }))
        + &end(1);
    assert_eq!(items(&at_once).await, [text("a"), calling(0, "look", ""), called("b", "look", "{\"at\":1.0}")]);
}

#[tokio::test]
async fn an_answer_of_more_open_blocks_than_there_is_room_for_fails() {
    let open = |from: usize, to: usize| (from..to).map(|at| begin(at, &tool("a"))).collect::<String>();
    assert!(anthropic().whole(&(start() + &open(0, 1024) + &stop("tool_use"))).await.error.is_none());
    let error = anthropic().failing(&(start() + &open(0, 1025) + &stop("tool_use"))).await;
    assert_eq!(error.kind(), Kind::Server);
}
