//! What is read of an answer, whoever writes it.
use super::*;
use seawall::{Kind, chat::Part};

fn said(message: &str) -> Result<Reply, Error> {
    let openrouter = openai().name("openrouter").base_url("https://openrouter.ai/api/v1");
    decoded(&openrouter, &format!(r#"{{"choices":[{{"message":{message}}}]}}"#))
}

/// The text of the thoughts, and what is kept of them.
fn thought(message: &str) -> Option<(String, String)> {
    let reply = said(message).unwrap();
    let mut all = reply.message().reasoning();
    let first = all.next().map(|thoughts| {
        assert_eq!(thoughts.native().dialect(), "openrouter");
        (thoughts.text().to_owned(), thoughts.native().json().get().to_owned())
    });
    assert!(all.next().is_none(), "{message}");
    first
}

#[test]
fn openrouters_details_of_thoughts_are_kept_byte_for_byte() {
    let details = r#"[{"type":"reasoning.summary", "summary":"Caf\u00e9? ","index":0},
        {"type":"reasoning.encrypted","data":"gA==","id":"call_1"},
        {"type":"reasoning.text","text":"Yes.","signature":"x","id":null},{"type":"reasoning.text","text":null},{},7]"#;
    let with = |more: &str| thought(&format!(r#"{{"content":"Yes.",{more}"reasoning_details":{details}}}"#)).unwrap();
    let kept = |text: &str| (text.to_owned(), details.to_owned());
    assert_eq!(with(""), kept("Café? Yes."));
    assert_eq!(with(r#""reasoning":null,"#), kept("Café? Yes."));
    assert_eq!(with(r#""reasoning":"Hm.","#), kept("Hm."));
    assert_eq!(with(r#""reasoning":"","reasoning_content":"So.","#), kept("So."));
    let hidden = r#"[{"type":"reasoning.encrypted","data":"gA=="}]"#;
    let reply = thought(&format!(r#"{{"content":null,"reasoning_details":{hidden}}}"#)).unwrap();
    assert_eq!(reply, (String::new(), hidden.to_owned()), "what is hidden has to go back as well");
    for none in ["[]", "null", "7", "{}"] {
        let plain = format!(r#"{{"reasoning":"Hm.","reasoning_details":{none}}}"#);
        assert_eq!(thought(&plain).unwrap(), ("Hm.".to_owned(), "\"Hm.\"".to_owned()), "{none}");
        assert_eq!(thought(&format!(r#"{{"content":"","reasoning_details":{none}}}"#)), None, "{none}");
    }
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
