//! Requests of strangers, made to take many times their size in memory. Counted is all that is ever asked for, freed or not, so that the most
//! that is held at a time is below it.
use super::answers::asked_for;
use bytes::Bytes;
use seawall::serve::{Anthropic, OpenAi, Protocol};
use std::hint::black_box;

const BYTES: usize = 1 << 20;

/// A body of parts without number, and how many times its size it may ask for.
struct Hostile {
    open: String,
    part: &'static str,
    close: &'static str,
    times: usize,
    bytes: usize,
}

impl Hostile {
    /// With fewer values than may stand in the fields that are handed on unread.
    fn few(self) -> Self {
        Self { bytes: BYTES / 16, ..self }
    }

    fn body(&self, bytes: usize) -> Bytes {
        let Self { open, part, close, .. } = self;
        Bytes::from([open, &part.repeat(bytes / part.len()), *close].concat())
    }

    fn holds(&self, protocol: &impl Protocol) {
        let asked = |bytes| {
            let body = self.body(bytes);
            asked_for(|| drop(black_box(protocol.decode(black_box(&body)))))
        };
        let (once, twice) = (asked(self.bytes), asked(2 * self.bytes));
        let name = format!("{}: {} in {}", protocol.name(), self.part, self.open);
        let most = self.times * self.bytes;
        assert!(once <= most, "{name}: {once} bytes for a body of {}", self.bytes);
        // Lists grow by doubling, which shifts where they last grew.
        assert!(twice <= once * 5 / 2 + self.bytes, "{name}: {once} bytes, and {twice} for twice the body");
    }
}

pub(super) fn are_bounded() {
    for hostile in openai() {
        hostile.holds(&OpenAi::new());
    }
    for hostile in anthropic() {
        hostile.holds(&Anthropic::new());
    }
    println!(
        "requests of strangers: at most 22 times their size is asked for, of unknown blocks 35, of the values of unknown fields, which are capped, 120"
    );
}

fn hostile(open: impl Into<String>, part: &'static str, close: &'static str, times: usize) -> Hostile {
    Hostile { open: open.into(), part, close, times, bytes: BYTES }
}

fn openai() -> Vec<Hostile> {
    let asks = r#"{"model":"m","messages":["#;
    let user = r#"{"model":"m","messages":[{"role":"user","content":"#;
    let last = r#"{"role":"user","content":""}]}"#;
    vec![
        hostile(asks, r#"{"role":"user","content":""},"#, last, 8),
        hostile(asks, r#"{"role":"user","content":[]},"#, last, 8),
        hostile(asks, r#"{"role":"system","content":""},"#, last, 4),
        hostile(asks, r#"{"role":"system","content":"a"},"#, last, 7),
        hostile(asks, r#"{"role":"tool","tool_call_id":"a","content":""},"#, last, 10),
        hostile(format!("{user}["), r#"{"type":"text","text":""},"#, r#"{"type":"text","text":""}]}]}"#, 14),
        hostile(
            format!("{user}["),
            r#"{"type":"image_url","image_url":{"url":""}},"#,
            r#"{"type":"text","text":""}]}]}"#,
            10,
        ),
        hostile(format!("{user}\""), r"\n", r#""}]}"#, 2),
        hostile(format!("{user}\""), r"\u0000", r#""}]}"#, 1),
        hostile(format!("{user}\"\\n"), "a", r#""}]}"#, 4),
        hostile(
            r#"{"model":"m","messages":[{"role":"assistant","tool_calls":["#,
            r#"{"id":"","function":{"name":"","arguments":""}},"#,
            r#"{"id":"a","function":{"name":"a","arguments":"{}"}}]}]}"#,
            11,
        ),
        hostile(
            r#"{"model":"m","messages":[{"role":"user","content":"a"}],"tools":["#,
            r#"{"type":"function","function":{"name":"a"}},"#,
            r#"{"type":"function","function":{"name":"a"}}]}"#,
            10,
        ),
        hostile(
            r#"{"model":"m","messages":[{"role":"user","content":"a"}],"tools":["#,
            r#"{"type":"function","function":{"name":"a","parameters":{}}},"#,
            r#"{"type":"function","function":{"name":"a"}}]}"#,
            9,
        ),
        hostile(r#"{"model":"m","messages":[{"role":"user","content":"a"}],"stop":["#, r#""","#, r#"""]}"#, 1),
        hostile(r#"{"model":"m","messages":[{"role":"user","content":"a"}],"x":["#, "0,", "0]}", 1),
        hostile(r#"{"model":"m","messages":[{"role":"user","content":"a"}],"x":["#, "0,", "0]}", 72).few(),
        hostile(r#"{"model":"m","messages":[{"role":"user","content":"a"}],"x":["#, r#"{"":0},"#, "0]}", 120).few(),
        hostile(r#"{"model":"m","messages":[{"role":"user","content":"a"}],"x":["#, r#"{"":0},"#, "0]}", 1),
        hostile(r#"{"model":"m","messages":[{"role":"user","content":"a"}],"x":"#, "[", "", 3),
        hostile(r#"{"model":"m","messages":[{"role":"user","content":"a"}],"x":"#, r#"{"a":"#, "", 1),
        hostile(user, "[", "", 5),
        hostile(r#"{"model":"m","messages":[{"role":"user","content":"a"}],"#, r#""x":0,"#, r#""y":0}"#, 1),
        hostile(r#"{"model":"m","messages":[{"role":"user","content":"a"}],"x":""#, r"\n", r#""}"#, 2),
    ]
}

fn anthropic() -> Vec<Hostile> {
    let asks = r#"{"model":"m","max_tokens":9,"messages":["#;
    let user = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"#;
    let last = r#"{"role":"user","content":""}]}"#;
    let text = r#"{"type":"text","text":""}]}]}"#;
    let with = |field: &str| {
        format!(r#"{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":"a"}}],"{field}":["#)
    };
    vec![
        hostile(asks, r#"{"role":"user","content":""},"#, last, 18),
        hostile(asks, r#"{"role":"user","content":[]},"#, last, 8),
        hostile(format!("{user}["), r#"{"type":"text","text":""},"#, text, 18),
        hostile(format!("{user}["), r#"{"type":"text","text":"","cache_control":{}},"#, text, 10),
        hostile(format!("{user}["), r#"{"type":"text","text":"","citations":[]},"#, text, 10),
        hostile(format!("{user}["), r#"{"type":"tool_result","tool_use_id":""},"#, text, 14),
        hostile(format!("{user}["), r#"{"type":"x"},"#, text, 35),
        hostile(format!("{user}["), r#"{"type":"thinking","thinking":"","signature":""},"#, text, 5),
        hostile(format!("{user}["), r#"{"type":"image","source":{"type":"url","url":""}},"#, text, 12),
        hostile(
            format!("{user}[{{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":["),
            r#"{"type":"text","text":""},"#,
            r#"{"type":"text","text":""}]}]}]}"#,
            9,
        ),
        hostile(
            r#"{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":["#,
            r#"{"type":"tool_use","id":"","name":"","input":{}},"#,
            r#"{"type":"text","text":""}]}]}"#,
            11,
        ),
        hostile(format!("{user}\""), r"\n", r#""}]}"#, 2),
        hostile(format!("{user}\"\\n"), "a", r#""}]}"#, 4),
        hostile(with("tools"), r#"{"name":"a","input_schema":{}},"#, r#"{"name":"a","input_schema":{}}]}"#, 22),
        hostile(with("tools"), r#"{"name":"a","input_schema":{},"x":0},"#, r#"{"name":"a","input_schema":{}}]}"#, 13),
        hostile(with("tools"), r#"{"type":"x"},"#, r#"{"type":"x"}]}"#, 9),
        hostile(with("system"), r#"{"type":"text","text":""},"#, r#"{"type":"text","text":""}]}"#, 5),
        hostile(with("system"), r#"{"type":"text","text":"","x":0},"#, r#"{"type":"text","text":""}]}"#, 4),
        hostile(with("stop_sequences"), r#""","#, r#"""]}"#, 1),
        hostile(with("x"), "0,", "0]}", 1),
        hostile(with("x"), "0,", "0]}", 72).few(),
        hostile(with("x"), r#"{"":0},"#, "0]}", 120).few(),
        hostile(with("x"), r#"{"":0},"#, "0]}", 1),
        hostile(with("x"), "[", "", 5),
        hostile(user, "[", "", 5),
    ]
}
