//! Errors in a stream end it, and damage is counted.
use super::{
    anthropic::{over, said, start},
    openai::{content, items},
    *,
};
use seawall::{Kind, chat::FinishReason};

#[tokio::test]
async fn an_error_in_the_chunks_is_its_end_first_or_in_the_middle() {
    let overloaded = json!({ "error": { "code": 529, "type": "overloaded_error", "message": "Overloaded" } });
    let chunk = |reason: &str| finish(reason);
    for (event, kind) in [
        (data(&overloaded), Kind::Overloaded),
        (format!("event: error\n{}", data(&json!({ "message": "x" }))), Kind::Server),
        ("event: error\ndata: upstream gone\n\n".to_owned(), Kind::Server),
        (data(&json!([overloaded])), Kind::Overloaded),
        (chunk("error"), Kind::Server),
        (chunk("content_filter"), Kind::ContentFiltered),
        (
            data(&json!({ "choices": [{ "delta": {}, "error": { "code": 429, "message": "Rate limit exceeded" } }] })),
            Kind::RateLimited,
        ),
        (
            data(&json!({ "choices": [], "base_resp": { "status_code": 1002, "status_msg": "rate limit" } })),
            Kind::RateLimited,
        ),
        (data(&json!({ "choices": [], "x_groq": { "error": "over capacity" } })), Kind::Server),
    ] {
        let first = openai().failing(&(event.clone() + DONE)).await;
        assert_eq!((first.kind(), first.is_delivered()), (kind, false), "{event}");
        let read = openai().read(vec![Bytes::from(content("a") + &event + DONE)]).await;
        let error = read.error.unwrap();
        assert_eq!((error.kind(), error.is_delivered()), (kind, true), "{event}");
        assert_eq!(read.answer.message().text(), "a");
    }
    let nothing = json!({ "error": null, "base_resp": { "status_code": 0 }, "choices": [{ "delta": { "content": "a" }, "error": {} }] });
    assert_eq!(
        items(&(data(&nothing) + &finish("eos"))).await,
        [text("a"), Item::Finish(FinishReason::Other("eos".into()))]
    );
}

#[tokio::test]
async fn a_chunk_that_nobody_can_read_is_passed_over_and_counted() {
    for damaged in [
        r#"{"choices":[{"delta":{"content":"#,
        "Hello",
        "7",
        "[]",
        "{}",
        r#"{"choices":"no"}"#,
        r#"{"choices":[{"delta":{"content":7}}]}"#,
        r#"{"choices":[{"delta":{"content":[7]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[7]}}]}"#,
        r#"["1","m",[]]"#,
    ] {
        let event = format!("data: {damaged}\n\n");
        let read = openai().whole(&(content("a") + &event + &content("b") + &finish("stop") + DONE)).await;
        assert_eq!((&*read.answer.message().text(), read.skipped), ("ab", 1), "{damaged}");
    }
    let bytes = [content("a").into_bytes(), b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\n\n".to_vec()];
    let read = openai().read(vec![Bytes::from([bytes.concat(), finish("stop").into_bytes()].concat())]).await;
    assert_eq!((&*read.answer.message().text(), read.skipped), ("a", 1));
}

#[tokio::test]
async fn what_is_not_understood_beside_the_text_is_no_damage() {
    let odd = json!({ "content": "a", "refusal": false, "reasoning": 7, "reasoning_details": "x", "annotations": {}, "audio": {} });
    let read = openai().whole(&(delta(&odd) + &finish("stop"))).await;
    assert_eq!((&*read.answer.message().text(), read.skipped), ("a", 0));
}

#[tokio::test]
async fn an_error_between_the_blocks_is_its_end_first_or_in_the_middle() {
    let overloaded = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    for (event, kind) in [
        (event(&overloaded), Kind::Overloaded),
        (data(&overloaded), Kind::Overloaded),
        (data(&json!({ "error": { "type": "rate_limit_error", "message": "Slow down" } })), Kind::RateLimited),
        ("event: error\ndata: gone\n\n".to_owned(), Kind::Server),
    ] {
        assert_eq!(anthropic().failing(&(event.clone() + &over())).await.kind(), kind, "{event}");
        let error = anthropic().failing(&(start() + &said(0, "a") + &event + &over())).await;
        assert_eq!((error.kind(), error.is_delivered()), (kind, true), "{event}");
    }
}

#[tokio::test]
async fn an_event_that_nobody_can_read_is_passed_over_and_counted() {
    for damaged in [
        r#"{"type":"content_block_delta","index":0,"#,
        "Hello",
        "{}",
        "[]",
        r#"{"type":7}"#,
        r#"{"type":"content_block_delta","index":0,"delta":"a"}"#,
        r#"{"type":"content_block_start","index":7}"#,
        r#"{"type":"message_start"}"#,
    ] {
        let event = format!("data: {damaged}\n\n");
        let read =
            anthropic().whole(&(start() + &said(0, "a") + &event + &said(1, "b") + &anthropic::stop("end_turn"))).await;
        assert_eq!((&*read.answer.message().text(), read.skipped), ("ab", 1), "{damaged}");
    }
}
