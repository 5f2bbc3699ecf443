//! Most bodies are plainly an answer: known without a tree of them.
use serde::de::{Deserialize, Deserializer as _, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Deserializer;
use std::fmt;

/// Whether nothing in a body could be an error: it is JSON, and has no field but those that answers have. Where it is in doubt, the
/// body is to be read as a tree.
pub(super) fn is_answer(body: &[u8]) -> bool {
    let mut json = Deserializer::from_slice(body);
    json.deserialize_map(Answer).is_ok() && json.end().is_ok()
}

/// Fields in which no provider tells an error.
const FIELDS: &[&str] = &[
    "content",
    "created",
    "id",
    "model",
    "role",
    "service_tier",
    "stop_reason",
    "stop_sequence",
    "system_fingerprint",
    "usage",
];
const FINISHED: &[&str] = &["stop", "length", "tool_calls", "function_call", "content_filter"];

struct Answer;

impl<'de> Visitor<'de> for Answer {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an answer")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<&str>()? {
            let is_plain = match name {
                "object" => fields.next_value::<&str>()? == "chat.completion",
                "type" => fields.next_value::<&str>()? == "message",
                "choices" => fields.next_value::<Choices>().map(|Choices| true)?,
                name => FIELDS.contains(&name) && fields.next_value::<IgnoredAny>().map(|_| true)?,
            };
            if !is_plain {
                return Err(A::Error::custom("in doubt"));
            }
        }
        Ok(())
    }
}

struct Choices;

impl<'de> Deserialize<'de> for Choices {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Self)
    }
}

impl<'de> Visitor<'de> for Choices {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("choices")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Choice>()?.is_some() {}
        Ok(self)
    }
}

struct Choice;

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self)
    }
}

impl<'de> Visitor<'de> for Choice {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a choice")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self, A::Error> {
        while let Some(name) = fields.next_key::<&str>()? {
            let is_plain = match name {
                "finish_reason" => fields.next_value::<Option<&str>>()?.is_none_or(|reason| FINISHED.contains(&reason)),
                "error" => false,
                _ => fields.next_value::<IgnoredAny>().map(|_| true)?,
            };
            if !is_plain {
                return Err(A::Error::custom("in doubt"));
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::classify::{body, envelope};

    #[test]
    fn what_is_plainly_an_answer_is_no_error_in_full_either() {
        let answers = [
            r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"{\"error\":1}"},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}"#,
            r#" {"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"error"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1}} "#,
        ];
        for answer in answers {
            assert!(is_answer(answer.as_bytes()), "{answer}");
            let body::Body::Json(value) = body::read(answer.as_bytes()) else { panic!("{answer}") };
            assert!(envelope::error_in(None, &value).is_none());
        }
    }

    #[test]
    fn what_is_in_doubt_is_looked_at_in_full() {
        let doubts = [
            "",
            "[]",
            "{",
            "{}x",
            r#"{"error":null}"#,
            r#"{"id":1,"error":{}}"#,
            r#"{"\u0065rror":{}}"#,
            r#"{"object":"error"}"#,
            r#"{"type":"error"}"#,
            r#"{"type":"mess\u0061ge"}"#,
            r#"{"choices":[{"error":{}}]}"#,
            r#"{"choices":[{"finish_reason":"error"}]}"#,
            r#"{"choices":[{"finish_reason":"ERROR"}]}"#,
            r#"{"choices":[{"finish_reason":1}]}"#,
            r#"{"choices":[1]}"#,
            r#"{"choices":{}}"#,
            r#"{"base_resp":{"status_code":1}}"#,
            r#"{"code":1,"message":"no"}"#,
            r#"{"finish_reason":"error"}"#,
        ];
        for doubt in doubts {
            assert!(!is_answer(doubt.as_bytes()), "{doubt}");
        }
    }
}
