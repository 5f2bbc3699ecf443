//! Thoughts and citations of chat completions, in the forms in which they must go back.
use super::{
    openai::{content, items, stop},
    *,
};
use seawall::provider::Fit;

fn reasoning(text: &str) -> String {
    delta(&json!({ "reasoning_content": text }))
}

#[tokio::test]
async fn thoughts_are_shown_as_they_come_and_given_whole_before_what_follows_them() {
    let stream = reasoning("Hm\"") + &reasoning(".") + &content("Blue") + &content(".") + &finish("stop");
    let thought = Item::Thought(chat::Reasoning::new("Hm\".", native("openai", r#""Hm\".""#)));
    let [hm, dot] = ["Hm\"", "."].map(|text| Item::Reasoning(text.into()));
    assert_eq!(items(&stream).await, [hm.clone(), dot.clone(), thought.clone(), text("Blue"), text("."), stop()]);
    let stream = reasoning("Hm\"") + &reasoning(".") + &finish("stop");
    assert_eq!(items(&stream).await, [hm, dot, thought, stop()], "and nothing but thoughts is an answer too");
    let both = delta(&json!({ "reasoning": "a", "reasoning_content": "a" }))
        + &delta(&json!({ "reasoning": "b", "reasoning_content": "" }));
    let thought = Item::Thought(chat::Reasoning::new("ab", native("openai", r#""ab""#)));
    let [a, b] = ["a", "b"].map(|text| Item::Reasoning(text.into()));
    assert_eq!(items(&(both + &finish("stop"))).await, [a, b, thought, stop()]);
}

#[tokio::test]
async fn thoughts_between_texts_go_back_as_one() {
    let call = json!({ "tool_calls": [{ "index": 0, "id": "c", "function": { "name": "look", "arguments": "{}" } }] });
    let stream = reasoning("One, ") + &content("a") + &reasoning("two.") + &delta(&call) + &finish("tool_calls");
    let answer = openai().whole(&stream).await.answer;
    assert_eq!(answer.message().reasoning().map(|thoughts| thoughts.text()).collect::<Vec<_>>(), ["One, ", "two."]);
    let dialect = provider::OpenAi::without_key().send_reasoning();
    let history =
        chat::Request::new("m").user("?").message(answer.message().clone()).message(chat::Message::tool("c", "1"));
    let body: Value = serde_json::from_slice(dialect.encode(&history, &mut Fit::default()).unwrap().body()).unwrap();
    assert_eq!(body["messages"][1]["reasoning_content"], "One, two.");
}

/// The details of a stream of such lists, in the form that goes back.
async fn details(lists: &[Value]) -> Value {
    let stream: String = lists.iter().map(|list| delta(&json!({ "reasoning_details": list }))).collect();
    let answer = openai().whole(&(stream + &content("a") + &finish("stop"))).await.answer;
    let thoughts = answer.message().reasoning().next().unwrap();
    serde_json::from_str(thoughts.native().json().get()).unwrap()
}

#[tokio::test]
async fn fragments_of_details_become_the_blocks_that_they_were() {
    let piece = |text: &str| json!([{ "type": "reasoning.text", "text": text, "format": "f", "index": 0 }]);
    let signed = |by: &str| json!([{ "type": "reasoning.text", "signature": by, "format": "f", "index": 0 }]);
    let block = |text: &str, by: &str| json!({ "type": "reasoning.text", "text": text, "format": "f", "index": 0, "signature": by });
    let two = [piece("a"), piece("b"), signed("x"), piece("c"), signed("y")];
    assert_eq!(
        details(&two).await,
        json!([block("ab", "x"), block("c", "y")]),
        "behind a signature another block begins"
    );
    let summary = |text: &str| json!([{ "type": "reasoning.summary", "summary": text, "index": 0 }]);
    let hidden = json!([{ "type": "reasoning.encrypted", "data": "gA==", "id": "r", "index": 0 }]);
    let mixed = [summary("a"), summary("b"), hidden.clone(), summary("c")];
    let joined = json!([{ "type": "reasoning.summary", "summary": "ab", "index": 0 }, hidden[0], summary("c")[0]]);
    assert_eq!(details(&mixed).await, joined);
    let numbered = |index: u32| json!([{ "type": "reasoning.text", "text": "a", "index": index }]);
    assert_eq!(details(&[numbered(0), numbered(1)]).await, json!([numbered(0)[0], numbered(1)[0]]));
    assert_eq!(
        details(&[json!([7, { "type": null }]), json!([]), piece("a")]).await,
        json!([7, { "type": null }, piece("a")[0]])
    );
}

#[tokio::test]
async fn details_that_come_behind_the_text_are_kept_too() {
    let hidden = json!({ "reasoning_details": [{ "type": "reasoning.encrypted", "data": "gA==" }] });
    let shown = json!({ "reasoning": "Hm", "reasoning_details": [{ "type": "reasoning.text", "text": "Hm" }] });
    let stream = delta(&shown) + &content("a") + &delta(&hidden) + &finish("stop");
    let answer = openai().whole(&stream).await.answer;
    let all: Vec<_> =
        answer.message().reasoning().map(|thoughts| (thoughts.text(), thoughts.native().json().get())).collect();
    let kept = [r#"[{"text":"Hm","type":"reasoning.text"}]"#, r#"[{"data":"gA==","type":"reasoning.encrypted"}]"#];
    assert_eq!(all, [("Hm", kept[0]), ("", kept[1])]);
}

#[tokio::test]
async fn what_a_text_cites_stays_with_it_whatever_follows() {
    let cites = |at: u32| delta(&json!({ "annotations": [{ "at": at }] }));
    let list = || Item::Citations(native("openai", r#"[{"at":1},{"at":2}]"#));
    let front = cites(1) + &content("a") + &content("b") + &cites(2);
    assert_eq!(items(&(front.clone() + &finish("stop"))).await, [text("a"), text("b"), list(), stop()]);
    let refused = items(&(front.clone() + &delta(&json!({ "refusal": "No." })) + &finish("stop"))).await;
    assert_eq!(refused, [text("a"), text("b"), list(), Item::Refusal("No.".into()), stop()]);
    let thought = openai().whole(&(front + &reasoning("Hm") + &content("c") + &finish("stop"))).await.answer;
    let chat::Part::Text(cited) = &thought.message().parts()[0] else { panic!("{thought:?}") };
    assert_eq!(cited.citations().unwrap().json().get(), r#"[{"at":1},{"at":2}]"#);
}
