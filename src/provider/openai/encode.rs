//! A request as OpenAI's chat completions say it.
use crate::{
    Invalid,
    chat::{Message, Part, Request, Role, Tool, ToolCall, ToolChoice},
};
use bytes::Bytes;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{json, value::RawValue};

/// Fields that have a setter, or would change the form of what comes back.
const OWN: [&str; 10] =
    ["model", "messages", "tools", "tool_choice", "temperature", "top_p", "stop", "seed", "stream", "n"];

/// The body, with the cap on tokens under the name `cap`.
pub(super) fn body(request: &Request, provider: &str, cap: &'static str) -> Result<Bytes, Invalid> {
    check(request, provider)?;
    match serde_json::to_vec(&Body { request, provider, cap }) {
        Ok(body) => Ok(body.into()),
        Err(_) => Err(Invalid::new("request", "cannot be written as JSON: look at its `extra` fields")),
    }
}

/// Finds what every provider refuses, before anything is sent.
fn check(request: &Request, provider: &str) -> Result<(), Invalid> {
    if request.model_name().is_empty() {
        return Err(Invalid::new("model", "is empty: name one in `Request::new`"));
    }
    if request.messages().is_empty() && request.system_text().is_none() {
        return Err(Invalid::new("messages", "there are none: add one with `user`"));
    }
    let (temperature, top_p) = request.sampling();
    for (setting, number) in [("temperature", temperature), ("top_p", top_p)] {
        if number.is_some_and(|number| !number.is_finite()) {
            return Err(Invalid::new(setting, "is not a finite number: set one, or leave it out"));
        }
    }
    for (index, message) in request.messages().iter().enumerate() {
        if let Some(reason) = misplaced(message) {
            return Err(Invalid::new("messages", format!("message {index}: {reason}")));
        }
    }
    let capped = request.token_cap().is_some();
    let own = |field: &str| OWN.contains(&field) || capped && matches!(field, "max_tokens" | "max_completion_tokens");
    match request.extras(provider).find(|(field, _)| own(field)) {
        Some((field, _)) => {
            Err(Invalid::new("extra", format!("may not set `{field}`, which seawall sets or relies on")))
        }
        None => Ok(()),
    }
}

/// A part in a turn that has no place for it would be lost without a word.
fn misplaced(message: &Message) -> Option<&'static str> {
    let result = |part: &Part| matches!(part, Part::ToolResult(_));
    match message.role() {
        Role::Tool if message.parts().is_empty() => Some("a tool turn without a result: add one with `tool_result`"),
        Role::Tool if !message.parts().iter().all(result) => Some("a tool turn holds results only"),
        Role::User if !message.parts().iter().all(|part| matches!(part, Part::Text(_))) => {
            Some("a user turn holds text only: results belong to a tool turn, calls to the assistant's")
        }
        Role::Assistant if message.parts().iter().any(result) => Some("results belong to a tool turn"),
        _ => None,
    }
}

struct Body<'a> {
    request: &'a Request,
    provider: &'a str,
    cap: &'static str,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { request, provider, cap } = *self;
        let (temperature, top_p) = request.sampling();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", request.model_name())?;
        map.serialize_entry("messages", &Messages(request))?;
        if !request.tools().is_empty() {
            map.serialize_entry("tools", &Tools(request.tools()))?;
        }
        match request.chosen_tools() {
            ToolChoice::Auto => {}
            ToolChoice::Never => map.serialize_entry("tool_choice", "none")?,
            ToolChoice::Required => map.serialize_entry("tool_choice", "required")?,
            ToolChoice::Named(name) => {
                map.serialize_entry("tool_choice", &json!({ "type": "function", "function": { "name": name } }))?;
            }
        }
        optional(&mut map, cap, request.token_cap())?;
        optional(&mut map, "temperature", temperature)?;
        optional(&mut map, "top_p", top_p)?;
        optional(&mut map, "stop", Some(request.stops()).filter(|stops| !stops.is_empty()))?;
        optional(&mut map, "seed", request.chosen_seed())?;
        for (field, value) in request.extras(provider) {
            map.serialize_entry(field, value)?;
        }
        map.end()
    }
}

fn optional<M: SerializeMap>(map: &mut M, field: &str, value: Option<impl Serialize>) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(field, &value))
}

struct Messages<'a>(&'a Request);

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let system = self.0.system_text().map(|text| Turn::System { content: text });
        serializer.collect_seq(system.into_iter().chain(self.0.messages().iter().flat_map(turns)))
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Turn<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Content<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        refusal: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

/// Text where that is all: many servers read nothing else.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Parts(Vec<Text<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "text")]
struct Text<'a> {
    text: &'a str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct Call<'a> {
    id: &'a str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// Each result of a tool is a message of its own here.
fn turns(message: &Message) -> impl Iterator<Item = Turn<'_>> {
    let results = message.parts().iter().filter_map(|part| match part {
        Part::ToolResult(result) => Some(Turn::Tool { tool_call_id: result.call_id(), content: result.content() }),
        _ => None,
    });
    let spoken = match message.role() {
        Role::User => Some(Turn::User { content: content(message) }),
        Role::Assistant => Some(Turn::Assistant {
            content: content(message),
            refusal: message.refusal(),
            tool_calls: message.tool_calls().map(call).collect(),
        }),
        Role::Tool => None,
    };
    results.chain(spoken)
}

/// A turn without a word has the text "": left out, the results that follow would point at nothing.
fn content(message: &Message) -> Content<'_> {
    let mut texts = message.parts().iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    match (texts.next(), texts.next()) {
        (text, None) => Content::Text(text.unwrap_or_default()),
        (first, second) => {
            let all = first.into_iter().chain(second).chain(texts);
            Content::Parts(all.map(|text| Text { text }).collect())
        }
    }
}

fn call(call: &ToolCall) -> Call<'_> {
    Call { id: call.id(), function: Called { name: call.name(), arguments: call.arguments() } }
}

struct Tools<'a>(&'a [Tool]);

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|tool| Function {
            function: Described { name: tool.name(), description: tool.description(), parameters: tool.schema() },
        }))
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct Function<'a> {
    function: Described<'a>,
}

#[derive(Serialize)]
struct Described<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}
