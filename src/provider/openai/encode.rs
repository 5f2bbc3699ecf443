//! A request as OpenAI's chat completions say it.
use super::{form::Form, turn};
use crate::{
    Invalid,
    chat::{Part, Request, ResponseFormat, Source, Tool, ToolChoice},
    provider::{
        Fit,
        check::{at, check},
        joined::{self, Joined, json},
        turns::turns,
        wire::optional,
    },
};
use bytes::Bytes;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{json, value::RawValue};
use std::sync::Arc;

/// Fields that have a setter, or would change the form of what comes back.
const OWN: [&str; 10] =
    ["model", "messages", "tools", "tool_choice", "temperature", "top_p", "stop", "seed", "stream", "n"];

pub(super) fn body(request: &Request, form: &Arc<Form>, fit: &mut Fit) -> Result<Bytes, Invalid> {
    fit.refuse(form.refuses);
    joined::body(request, form, &form.provider, fit, |request, fit| {
        let own = |field: &str| match field {
            "max_tokens" | "max_completion_tokens" => request.token_cap().is_some(),
            "response_format" => !matches!(request.format(), ResponseFormat::Text),
            "parallel_tool_calls" => request.parallel_calls().is_some(),
            field if *field == form.cap => request.token_cap().is_some(),
            field => OWN.contains(&field) || *field == form.seed,
        };
        check(request, &form.provider, own)?;
        documents(request)?;
        if !form.has_schemas && matches!(request.format(), ResponseFormat::JsonSchema { .. }) {
            let reason = "asks for JSON by a schema, which this provider refuses: ask for `ResponseFormat::Json`, and tell the schema in the prompt";
            return Err(Invalid::new("response_format", reason));
        }
        let cap = fit.token_cap_field(&form.cap);
        let mut pieces = Vec::with_capacity(request.messages().len() + 1);
        if let Some(content) = request.system_text() {
            let role = if form.has_developer && fit.model().wants_developer() { "developer" } else { "system" };
            pieces.push(json(&System { role, content })?.into());
        }
        for turn in &turns(request, form.ids, fit)? {
            turn::add(turn, form, fit, &mut pieces)?;
        }
        let mut body = Joined::default();
        body.open(json(&Settings { request, form, cap })?);
        body.push(&b",\"messages\":["[..]);
        body.reserve(2 * pieces.len());
        body.list(pieces);
        body.push(&b"]}"[..]);
        Ok(body.whole().into())
    })
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

#[derive(Serialize)]
struct System<'a> {
    role: &'static str,
    content: &'a str,
}

/// All but the messages.
struct Settings<'a> {
    request: &'a Request,
    form: &'a Form,
    cap: &'a str,
}

impl Serialize for Settings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { request, form, cap } = *self;
        let (temperature, top_p) = request.sampling();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", request.model_name())?;
        if !request.tools().is_empty() {
            map.serialize_entry("tools", &Tools(request.tools()))?;
            optional(&mut map, "parallel_tool_calls", request.parallel_calls())?;
        }
        match request.chosen_tools() {
            // Where there are no tools it is refused, and changes nothing.
            ToolChoice::Never if request.tools().is_empty() => {}
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
        if request.is_stream() {
            map.serialize_entry("stream", &true)?;
            let is_set = request.extras(&form.provider).any(|(field, _)| field == "stream_options");
            let usage = form.tells_usage_if_asked && !is_set;
            optional(&mut map, "stream_options", usage.then_some(StreamOptions { include_usage: true }))?;
        }
        for (field, value) in request.extras(&form.provider) {
            map.serialize_entry(field, value)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
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
