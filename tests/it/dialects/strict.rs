//! What each provider refuses with a 400, as far as people have met it. The error says which rule.
use serde_json::{Value, json};
use std::collections::HashSet;

pub type Verdict = Result<(), String>;

fn rule(holds: bool, what: &str, at: &Value) -> Verdict {
    if holds { Ok(()) } else { Err(format!("{what}: {at}")) }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn is_legal(id: &Value, longest: usize) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    id.as_str().is_some_and(|id| (1..=longest).contains(&id.len()) && id.chars().all(legal))
}

fn is_blank(text: &Value) -> bool {
    text.as_str().is_none_or(|text| text.trim().is_empty())
}

pub fn anthropic(body: &Value) -> Verdict {
    rule(body["max_tokens"].as_u64().is_some_and(|cap| cap > 0), "max_tokens", body)?;
    rule(body.get("system").is_none_or(|text| !is_blank(text)), "system", body)?;
    let turns = list(&body["messages"]);
    rule(turns.first().is_some_and(|turn| turn["role"] == "user"), "the user begins", body)?;
    rule(turns.windows(2).all(|two| two[0]["role"] != two[1]["role"]), "alternation", body)?;
    let (mut taken, mut open) = (HashSet::new(), HashSet::new());
    for turn in turns {
        let blocks = list(&turn["content"]);
        rule(!blocks.is_empty(), "an empty turn", turn)?;
        let mut answered = HashSet::new();
        let is_result = |block: &Value| block["type"] == "tool_result";
        rule(blocks.is_sorted_by_key(|block| !is_result(block)), "results lead", turn)?;
        for block in blocks {
            anthropic_block(block, turn["role"] == "user")?;
            if is_result(block) {
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                rule(
                    open.contains(id) && answered.insert(id.to_owned()),
                    "a result of no call, or a second one",
                    turn,
                )?;
            }
        }
        rule(answered == open, "an unanswered call", turn)?;
        open = HashSet::new();
        for block in blocks.iter().filter(|block| block["type"] == "tool_use") {
            let id = block["id"].as_str().unwrap_or_default().to_owned();
            rule(is_legal(&block["id"], 64) && taken.insert(id.clone()), "an illegal id, or a doubled one", block)?;
            open.insert(id);
        }
    }
    rule(open.is_empty(), "an unanswered call", body)
}

fn anthropic_block(block: &Value, is_user: bool) -> Verdict {
    let place = match block["type"].as_str().unwrap_or_default() {
        "text" => {
            rule(!is_blank(&block["text"]), "an empty text", block)?;
            true
        }
        "tool_use" => block["input"].is_object() && !is_user,
        "thinking" => block["signature"].as_str().is_some_and(|signed| signed.starts_with("anthropic")) && !is_user,
        "tool_result" => {
            list(&block["content"]).iter().try_for_each(|inner| anthropic_block(inner, true))?;
            let is_told = block["is_error"] != true || !list(&block["content"]).is_empty();
            rule(is_told, "an error without a word", block)?;
            is_user
        }
        "image" | "document" => block["source"].is_object() && is_user,
        _ => false,
    };
    rule(place, "a block that may not stand here", block)
}

pub fn openai(body: &Value) -> Verdict {
    let mut taken = HashSet::new();
    let mut open: HashSet<String> = HashSet::new();
    for turn in list(&body["messages"]) {
        let role = turn["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = turn["tool_call_id"].as_str().unwrap_or_default();
            rule(open.remove(id) && turn["content"].is_string(), "a result of no call", turn)?;
            continue;
        }
        rule(open.is_empty(), "an unanswered call", turn)?;
        let fields: &[&str] = match role {
            "system" | "user" => &["role", "content"],
            "assistant" => &["role", "content", "tool_calls", "refusal"],
            _ => &[],
        };
        let known = turn.as_object().is_some_and(|turn| turn.keys().all(|field| fields.contains(&&**field)));
        rule(known, "an unknown field", turn)?;
        let is_silent = [&turn["content"], &turn["refusal"]].iter().all(|said| **said == "" || said.is_null());
        rule(role != "assistant" || !is_silent || turn["tool_calls"].is_array(), "a turn that says nothing", turn)?;
        for piece in list(&turn["content"]) {
            let kinds: &[&str] = if role == "user" { &["text", "image_url", "file"] } else { &["text"] };
            let kind = piece["type"].as_str().unwrap_or_default();
            rule(kinds.contains(&kind) && piece.get(kind).is_some(), "a piece that may not stand here", turn)?;
        }
        for call in list(&turn["tool_calls"]) {
            let id = call["id"].as_str().unwrap_or_default().to_owned();
            rule(is_legal(&call["id"], 40) && taken.insert(id.clone()), "an illegal id, or a doubled one", call)?;
            rule(call["function"]["arguments"].is_string(), "arguments", call)?;
            open.insert(id);
        }
    }
    rule(open.is_empty() && !list(&body["messages"]).is_empty(), "an unanswered call", body)
}

#[test]
fn the_rules_bite() {
    let request = |turns: Value| json!({ "max_tokens": 1, "messages": turns });
    let text = json!([{ "type": "text", "text": "x" }]);
    let user = json!({ "role": "user", "content": text });
    let used = json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "input": {} }] });
    let called = json!({ "role": "assistant", "tool_calls": [{ "id": "a", "function": { "arguments": "" } }] });
    assert_eq!(anthropic(&request(json!([user]))), Ok(()));
    assert_eq!(openai(&request(json!([{ "role": "user", "content": "x" }]))), Ok(()));
    for turns in [json!([]), json!([user, user]), json!([user, used]), json!([user, used, user])] {
        assert!(anthropic(&request(turns.clone())).is_err(), "{turns}");
    }
    for turns in [json!([]), json!([called]), json!([called, { "role": "user", "content": "x" }])] {
        assert!(openai(&request(turns.clone())).is_err(), "{turns}");
    }
}
