//! Chunks of chat completions, of OpenAI and of those who write them nearly so.
use super::*;
use crate::guarded;
use seawall::{Kind, Usage, chat::FinishReason};
use tokio::time::Instant;

pub fn content(text: &str) -> String {
    delta(&json!({ "content": text }))
}

fn usage(usage: &Value) -> String {
    data(&json!({ "choices": [], "usage": usage }))
}

/// Without the usage that is made up where none comes.
pub async fn items(stream: &str) -> Vec<Item> {
    let mut items = openai().whole(stream).await.items;
    items.retain(|item| !matches!(item, Item::Usage(usage) if usage.estimated));
    items
}

pub fn stop() -> Item {
    Item::Finish(FinishReason::Stop)
}

#[tokio::test]
async fn text_is_given_as_it_comes() {
    let head = json!({ "id": "1", "model": "m-1", "choices": [{ "index": 0, "delta": { "role": "assistant", "content": "" } }] });
    let told =
        usage(&json!({ "prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": { "cached_tokens": 1 } }));
    let stream = data(&head) + &content("Bl\"") + &content("\u{1f30a}\n") + &finish("stop") + &told + DONE;
    let mut counted = Usage::new(3, 2);
    counted.cached = 1;
    let started = Item::Started { id: Some("1".into()), model: Some("m-1".into()) };
    assert_eq!(items(&stream).await, [started, text("Bl\""), text("\u{1f30a}\n"), stop(), Item::Usage(counted)]);
}

#[tokio::test]
async fn a_character_may_be_cut_at_each_of_its_bytes() {
    let stream = content("a\u{1f30a}b") + &finish("stop") + DONE;
    let at = stream.find('\u{1f30a}').unwrap();
    for cut in at..=at + 4 {
        let (front, back) = stream.as_bytes().split_at(cut);
        let read = openai().read([front, back].map(Bytes::copy_from_slice).into()).await;
        assert_eq!((read.items[0].clone(), read.skipped), (text("a\u{1f30a}b"), 0), "cut at {cut}");
    }
    let escaped = r#"data: {"choices":[{"delta":{"content":"\ud83c\udf0a \ud83c"}}]}"#.to_owned() + "\n\n";
    assert_eq!(
        items(&(escaped + &finish("stop"))).await[0],
        text("\u{1f30a} \u{fffd}"),
        "half of one is no reason to lose the rest"
    );
}

#[tokio::test]
async fn who_answers_is_said_once_and_waits_for_what_is_not_known_yet() {
    let chunk = |id: &str, model: &str, text: &str| {
        data(&json!({ "id": id, "model": model, "choices": [{ "index": 0, "delta": { "content": text } }] }))
    };
    let of = |id: &str, model: Option<&str>| Item::Started { id: Some(id.into()), model: model.map(Arc::from) };
    let end = finish("stop");
    let stream = chunk("", "", "") + &chunk("1", "", "") + &chunk("1", "m", "") + &chunk("2", "n", "a") + &end;
    assert_eq!(items(&stream).await, [of("1", Some("m")), text("a"), stop()]);
    let stream = chunk("1", "", "a") + &chunk("1", "m", "b") + &end;
    assert_eq!(items(&stream).await, [of("1", None), text("a"), text("b"), stop()]);
    assert_eq!(items(&(content("a") + &end)).await, [text("a"), stop()]);
}

#[tokio::test]
async fn only_the_first_choice_counts() {
    let choices = json!({ "choices": [
        { "index": 1, "delta": { "content": "no" }, "finish_reason": "stop" },
        { "index": 0, "delta": { "content": "yes" } },
    ] });
    let other = json!({ "choices": [{ "index": 1, "delta": { "content": "no" }, "finish_reason": "length" }] });
    assert_eq!(items(&(data(&choices) + &data(&other) + &finish("stop"))).await, [text("yes"), stop()]);
    assert_eq!(openai().failing(&(data(&choices) + &data(&other))).await.kind(), Kind::Transport);
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_at_its_protocols_ending_though_the_connection_stays_open() {
    guarded(async {
        let told = json!({ "prompt_tokens": 3, "completion_tokens": 2 });
        let counts = usage(&told);
        let both = |finish: &str| {
            data(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": finish }], "usage": told }))
        };
        let zeros = json!({ "prompt_tokens": 0, "completion_tokens": 0 });
        let none_yet = data(&json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }], "usage": zeros }));
        for (stream, waits) in [
            (content("a") + &finish("stop") + DONE, false),
            (content("a") + &finish("stop") + &counts, false),
            (content("a") + &both("stop"), false),
            (content("a") + &finish("stop"), true),
            (content("a") + &none_yet, true),
            (content("a") + &counts + &finish("stop"), true),
            (content("a") + &none_yet + &counts, false),
        ] {
            let start = Instant::now();
            let read = openai().left_open(&stream).await;
            assert!(read.error.is_none() && read.items.contains(&stop()), "{stream}: {:?}", read.error);
            assert_eq!(start.elapsed() >= crate::seconds(1), waits, "{stream}");
            if stream.contains(&counts) {
                assert_eq!(read.answer.usage(), Some(Usage::new(3, 2)), "{stream}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn an_end_without_a_finish_reason_is_a_cut_whatever_stands_there() {
    let empty = |reason: &Value| data(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }));
    let told = usage(&json!({ "prompt_tokens": 3, "completion_tokens": 2 }));
    for end in [DONE.to_owned(), empty(&json!("")), empty(&json!("null")), empty(&json!(null)), told, String::new()] {
        let read = openai().read(vec![Bytes::from(content("a") + &end)]).await;
        assert_eq!(read.error.unwrap().kind(), Kind::Transport, "{end}");
        assert_eq!(read.answer.message().text(), "a");
    }
}

#[tokio::test]
async fn what_comes_behind_the_finish_reason_all_the_same_is_not_lost() {
    let late = finish("stop") + &content("a") + &finish("stop") + &content("b") + DONE;
    assert_eq!(items(&(content("z") + &late)).await, [text("z"), stop(), text("a"), text("b")]);
}

#[tokio::test]
async fn a_whole_message_in_the_place_of_deltas_is_read_and_one_beside_them_is_not() {
    let message =
        json!({ "content": "ab", "tool_calls": [{ "id": "c", "function": { "name": "look", "arguments": "{}" } }] });
    let chunk = |choice: Value| data(&json!({ "choices": [choice] }));
    let whole = chunk(json!({ "message": message, "finish_reason": "stop" }));
    assert_eq!(items(&whole).await, [text("ab"), calling(0, "look", "{}"), called("c", "look", "{}"), stop()]);
    let beside = chunk(json!({ "delta": { "content": "a" }, "message": { "content": "a" } }))
        + &chunk(json!({ "delta": { "content": "b" }, "message": { "content": "ab" } }))
        + &chunk(json!({ "message": { "content": "ab" }, "finish_reason": "stop" }));
    assert_eq!(items(&beside).await, [text("a"), text("b"), stop()]);
}

#[tokio::test]
async fn the_usage_is_read_wherever_it_stands_and_the_last_one_holds() {
    let counts = json!({ "prompt_tokens": 3, "completion_tokens": 2 });
    let chunk = |more: Value| {
        let mut chunk = json!({ "choices": [{ "index": 0, "delta": { "content": "a" } }] });
        chunk.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        data(&chunk)
    };
    for event in [
        chunk(json!({ "usage": counts })),
        chunk(json!({ "usage": null, "x_groq": { "id": "r", "usage": counts } })),
        data(&json!({ "choices": [{ "delta": { "content": "a" }, "usage": counts }] })),
        content("a") + &data(&json!({ "usage": counts })),
    ] {
        let answer = openai().whole(&(event.clone() + &finish("stop") + DONE)).await.answer;
        assert_eq!(answer.usage(), Some(Usage::new(3, 2)), "{event}");
    }
    let more = usage(&json!({ "prompt_tokens": 3, "completion_tokens": 9 }));
    let stream = chunk(json!({ "usage": counts })) + &finish("stop") + &more + DONE;
    assert_eq!(openai().whole(&stream).await.answer.usage(), Some(Usage::new(3, 9)));
}
