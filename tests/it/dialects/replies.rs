//! What is read of an answer, whoever writes it.
use super::*;
use seawall::{Kind, chat::Part};

fn said(message: &str) -> Result<Reply, Error> {
    let openrouter = openai().name("openrouter").base_url("https://openrouter.ai/api/v1");
    decoded(&openrouter, &format!(r#"{{"choices":[{{"message":{message}}}]}}"#))
}

#[test]
fn what_is_empty_takes_no_place_and_the_rest_stands_in_its_order() {
    let reply = said(
        r#"{"reasoning":"Hm.","content":[{"type":"text","text":""},{"text":"a"},{"type":"image"},{"text":null},
        {"text":"\u0062"}],"refusal":"No.","tool_calls":[{"function":{"name":"look","arguments":{"at": 1.0}}},
        {"id":"x","function":{"name":"look"}}],"annotations":[1]}"#,
    );
    let parts = reply.unwrap().message().parts().to_vec();
    let [
        Part::Reasoning(_),
        Part::Text(a),
        Part::Text(b),
        Part::Refusal(refusal),
        Part::ToolCall(first),
        Part::ToolCall(last),
    ] = parts.as_slice()
    else {
        panic!("{parts:?}")
    };
    assert_eq!((a.as_str(), b.as_str(), refusal.as_str()), ("a", "b", "No."));
    assert!(a.citations().is_some() && b.citations().is_none());
    assert_eq!((first.id(), first.name(), first.arguments()), ("", "look", r#"{"at": 1.0}"#));
    assert_eq!((last.id(), last.arguments()), ("x", ""));
}

/// It would be shorter on the wire than all that is made of it.
#[test]
fn a_list_in_the_place_of_an_object_is_of_no_dialect() {
    for message in [r#"{"content":[["a"]]}"#, r#"{"tool_calls":[["x",{"name":"look","arguments":"{}"}]]}"#] {
        assert_eq!(said(message).unwrap_err().kind(), Kind::Unknown, "{message}");
    }
    for block in [r#"["x"]"#, r#"["thinking"]"#] {
        let error = decoded(&anthropic(), &format!(r#"{{"content":[{block}]}}"#)).unwrap_err();
        assert_eq!(error.kind(), Kind::Unknown, "{block}");
    }
}
