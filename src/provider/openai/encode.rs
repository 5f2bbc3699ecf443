//! A request as OpenAI's chat completions say it.
use super::{
    content::{Content, Results, shown, spoken},
    form::{Form, Thoughts},
};
use crate::{
    Invalid,
    chat::{Part, Request, ResponseFormat, Source, Tool, ToolCall, ToolChoice},
    provider::{
        Fit,
        check::{at, check},
        turns::{Id, Spoken, Turn, turns},
        wire::optional,
    },
};
use bytes::Bytes;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{json, value::RawValue};
use std::sync::{Arc, LazyLock};

/// Fields that have a setter, or would change the form of what comes back.
const OWN: [&str; 10] =
    ["model", "messages", "tools", "tool_choice", "temperature", "top_p", "stop", "seed", "stream", "n"];

pub(super) fn body(request: &Request, form: &Arc<Form>, fit: &mut Fit) -> Result<Bytes, Invalid> {
    let own = |field: &str| match field {
        "max_tokens" | "max_completion_tokens" => request.token_cap().is_some(),
        "response_format" => !matches!(request.format(), ResponseFormat::Text),
        "parallel_tool_calls" => request.parallel_calls().is_some(),
        field => OWN.contains(&field),
    };
    check(request, &form.provider, own)?;
    documents(request)?;
    match serde_json::to_vec(&Body { request, form, cap: fit.model().token_cap_field(&form.cap) }) {
        Ok(body) => Ok(body.into()),
        Err(_) => Err(Invalid::new("request", "cannot be written as JSON: look at its `extra` fields")),
    }
}

/// OpenAI fetches images, and no documents.
fn documents(request: &Request) -> Result<(), Invalid> {
    let afar = |part: &Part| matches!(part, Part::Document(media) if matches!(media.source(), Source::Url(_)));
    let any = |part: &Part| match part {
        Part::ToolResult(result) => result.parts().iter().any(afar),
        part => afar(part),
    };
    match request.messages().iter().position(|message| message.parts().iter().any(any)) {
        Some(index) => Err(at(index, "OpenAI fetches no documents: give the bytes, with `Media::base64`")),
        None => Ok(()),
    }
}

struct Body<'a> {
    request: &'a Request,
    form: &'a Form,
    cap: &'a str,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { request, form, cap } = *self;
        let (temperature, top_p) = request.sampling();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", request.model_name())?;
        map.serialize_entry("messages", &Messages { request, form })?;
        if !request.tools().is_empty() {
            map.serialize_entry("tools", &Tools(request.tools()))?;
            optional(&mut map, "parallel_tool_calls", request.parallel_calls())?;
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
        optional(&mut map, &form.seed, request.chosen_seed())?;
        optional(&mut map, "response_format", Format::of(request.format()))?;
        for (field, value) in request.extras(&form.provider) {
            map.serialize_entry(field, value)?;
        }
        map.end()
    }
}

struct Messages<'a> {
    request: &'a Request,
    form: &'a Form,
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let system = self.request.system_text().map(|text| Said::System { content: text });
        let turns = turns(self.request.messages(), self.form.ids);
        serializer.collect_seq(system.into_iter().chain(turns.iter().flat_map(|turn| said(turn, self.form))))
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Said<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Content<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        refusal: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Results<'a>,
    },
}

/// Each call's results are a message of their own here, and all of them stand right behind the calls.
fn said<'a>(turn: &'a Turn<'a>, form: &'a Form) -> Vec<Said<'a>> {
    match turn {
        Turn::Assistant(spoken) => spoken.iter().map(|spoken| assistant(spoken, form)).collect(),
        Turn::User { results, messages } => {
            let tools = results
                .iter()
                .map(|answered| Said::Tool { tool_call_id: &answered.id, content: Results(&answered.results) });
            let beside = shown(results).map(|content| Said::User { content });
            let users = messages.iter().map(|message| Said::User { content: spoken(message) });
            tools.chain(beside).chain(users).collect()
        }
    }
}

/// `""`, as JSON.
static NO_THOUGHTS: LazyLock<Box<RawValue>> =
    LazyLock::new(|| RawValue::from_string("\"\"".to_owned()).expect("two quotes are JSON"));

/// A turn without a word stays one: left out, the results that follow would point at nothing.
fn assistant<'a>(turn: &'a Spoken<'a>, form: &'a Form) -> Said<'a> {
    let message = turn.message;
    let tool_calls: Vec<_> = message.tool_calls().zip(&turn.ids).map(|(called, id)| call(called, id)).collect();
    let content = match spoken(message) {
        Content::Text("") if !tool_calls.is_empty() => form.no_text.content(),
        content => Some(content),
    };
    // A provider that speaks in two ways has one name, and here its thoughts are text.
    let is_text = |json: &&RawValue| json.get().starts_with('"');
    let own = || message.reasoning().find_map(|reasoning| reasoning.native().json_for(&form.provider).filter(is_text));
    let reasoning_content =
        (form.thoughts == Thoughts::WithCalls && !tool_calls.is_empty()).then(|| own().unwrap_or_else(|| &NO_THOUGHTS));
    Said::Assistant { content, reasoning_content, refusal: message.refusal(), tool_calls }
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

fn call<'a>(call: &'a ToolCall, id: &'a Id<'a>) -> Call<'a> {
    Call { id, function: Called { name: call.name(), arguments: call.arguments() } }
}

struct Tools<'a>(&'a [Tool]);

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|tool| Function {
            function: Described {
                name: tool.name(),
                description: tool.description(),
                parameters: tool.schema(),
                strict: tool.is_strict(),
            },
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
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'a> {
    JsonObject,
    JsonSchema { json_schema: Schema<'a> },
}

#[derive(Serialize)]
struct Schema<'a> {
    name: &'a str,
    schema: &'a RawValue,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
}

impl<'a> Format<'a> {
    fn of(format: &'a ResponseFormat) -> Option<Self> {
        match format {
            ResponseFormat::Text => None,
            ResponseFormat::Json => Some(Self::JsonObject),
            ResponseFormat::JsonSchema { name, schema, strict } => {
                Some(Self::JsonSchema { json_schema: Schema { name, schema, strict: *strict } })
            }
        }
    }
}
