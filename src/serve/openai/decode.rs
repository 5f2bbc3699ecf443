//! A request as OpenAI's chat completions say it.
use super::turn::{self, Turn};
use crate::{
    chat::{Request, ResponseFormat, Tool, ToolChoice},
    serve::json::{
        Read, Values, Wrong, body, elements, fields, flag, must_be, number, owned, required, stops, text, whole,
    },
};
use serde_json::{Value, value::RawValue};

/// No dialect's name: so what a caller wants of us alone is sent to nobody.
const OURS: &str = "serve::OpenAi";

/// Whether the caller asked for a stream's usage.
pub(super) fn wants_usage(request: &Request) -> bool {
    request.extras(OURS).any(|(field, _)| field == "include_usage")
}

pub(super) fn request(bytes: &[u8], provider: &str) -> Read<Request> {
    let mut asked = Request::new("");
    let (mut has_model, mut messages, mut system) = (false, Vec::new(), String::new());
    let (mut values, mut options) = (Values::default(), StreamOptions::default());
    fields(body(bytes)?, |name, raw| {
        let request = std::mem::replace(&mut asked, Request::new(""));
        asked = match name {
            "model" => {
                has_model = true;
                request.model(text(raw)?)
            }
            "messages" => {
                elements(raw, |_, raw| {
                    match turn::decode(raw, provider)? {
                        Turn::System(more) => {
                            system.push_str(if system.is_empty() || more.is_empty() { "" } else { "\n\n" });
                            system.push_str(&more);
                        }
                        Turn::Message(message) => messages.push(message),
                    }
                    Ok(())
                })?;
                request
            }
            "tools" => {
                let mut request = Some(request);
                elements(raw, |_, raw| {
                    let tool = tool(raw)?;
                    request = request.take().map(|request| request.tool(tool));
                    Ok(())
                })?;
                request.unwrap_or_else(|| Request::new(""))
            }
            "tool_choice" => request.tool_choice(tool_choice(raw)?),
            "parallel_tool_calls" => request.parallel_tool_calls(flag(raw)?),
            "response_format" => request.response_format(response_format(raw)?),
            "max_tokens" | "max_completion_tokens" => request.max_tokens(whole(raw)?),
            "temperature" => request.temperature(number(raw)?),
            "top_p" => request.top_p(number(raw)?),
            "stop" if raw.get().starts_with('"') => request.stop(text(raw)?),
            "stop" if !raw.get().starts_with('[') => return Err(must_be("a text or a list of them", raw)),
            "stop" => stops(raw)?.into_iter().fold(request, Request::stop),
            "seed" => request.seed(whole(raw)?),
            "stream" => match flag(raw)? {
                true => request.stream(),
                false => request,
            },
            "stream_options" => {
                options = stream_options(raw, &mut values)?;
                request
            }
            "n" if whole::<u32>(raw)? == 1 => request,
            "n" => return Err(Wrong::unsupported("one answer is given here: ask as often as you want more")),
            "functions" | "function_call" => return Err(Wrong::unsupported("has given way to `tools`: use these")),
            name => request.extra(provider, name, values.read(raw)?),
        };
        Ok(())
    })?;
    required(has_model.then_some(()), "model")?;
    if asked.model_name().is_empty() {
        return Err(Wrong::new("is empty: name one").in_field("model"));
    }
    if messages.is_empty() && system.is_empty() {
        return Err(Wrong::new("there are none to answer: add one of a user").in_field("messages"));
    }
    asked = asked.history(messages);
    if !system.is_empty() {
        asked = asked.system(system);
    }
    if options.include_usage {
        asked = asked.extra(OURS, "include_usage", true.into());
    }
    if let Some(more) = options.more.filter(|_| asked.is_stream()) {
        asked = asked.extra(provider, "stream_options", more);
    }
    Ok(asked)
}

#[derive(Default)]
struct StreamOptions {
    include_usage: bool,
    /// All of them, where they say more. The usage is asked for then too, for those who count: the caller is told of it if it asked.
    more: Option<Value>,
}

fn stream_options(raw: &RawValue, values: &mut Values) -> Read<StreamOptions> {
    let (mut include_usage, mut says_more) = (false, false);
    fields(raw, |name, raw| {
        match name {
            "include_usage" => include_usage = flag(raw)?,
            _ => says_more = true,
        }
        Ok(())
    })?;
    let mut more = says_more.then(|| values.read(raw)).transpose()?;
    if let Some(more) = &mut more {
        more["include_usage"] = true.into();
    }
    Ok(StreamOptions { include_usage, more })
}

fn tool(raw: &RawValue) -> Read<Tool> {
    let mut function = None;
    fields(raw, |name, raw| {
        match name {
            "type" if text(raw)? != "function" => {
                return Err(Wrong::unsupported("only tools of the type `function` are taken here"));
            }
            "function" => function = Some(raw),
            _ => {}
        }
        Ok(())
    })?;
    let (mut called, mut description, mut schema, mut is_strict) = (None, None, None, false);
    let function = required(function, "function")?;
    let read = fields(function, |name, raw| {
        match name {
            "name" => called = Some(text(raw)?),
            "description" => description = Some(text(raw)?),
            "parameters" if !raw.get().starts_with('{') => return Err(must_be("an object", raw)),
            "parameters" => schema = Some(owned(raw)),
            "strict" => is_strict = flag(raw)?,
            _ => {}
        }
        Ok(())
    });
    read.and_then(|()| {
        let mut tool = Tool::new(required(called, "name")?, description.unwrap_or_default());
        tool = if is_strict { tool.strict() } else { tool };
        Ok(schema.map_or_else(|| tool.clone(), |schema| tool.clone().raw_parameters(schema)))
    })
    .map_err(|wrong| wrong.in_field("function"))
}

fn tool_choice(raw: &RawValue) -> Read<ToolChoice> {
    if raw.get().starts_with('"') {
        return match &*text(raw)? {
            "auto" => Ok(ToolChoice::Auto),
            "none" => Ok(ToolChoice::Never),
            "required" => Ok(ToolChoice::Required),
            _ => Err(Wrong::new("must be `auto`, `none`, `required` or a function")),
        };
    }
    let mut named = None;
    fields(raw, |name, raw| {
        match name {
            "type" if text(raw)? != "function" => {
                return Err(Wrong::unsupported("must be `auto`, `none`, `required` or a function"));
            }
            "function" => fields(raw, |name, raw| {
                if name == "name" {
                    named = Some(text(raw)?);
                }
                Ok(())
            })?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(ToolChoice::Named(required(named, "function.name")?.into()))
}

fn response_format(raw: &RawValue) -> Read<ResponseFormat> {
    let (mut kind, mut described) = (None, None);
    fields(raw, |name, raw| {
        match name {
            "type" => kind = Some(text(raw)?),
            "json_schema" => described = Some(raw),
            _ => {}
        }
        Ok(())
    })?;
    match &*required(kind, "type")? {
        "text" => Ok(ResponseFormat::Text),
        "json_object" => Ok(ResponseFormat::Json),
        "json_schema" => {
            json_schema(required(described, "json_schema")?).map_err(|wrong| wrong.in_field("json_schema"))
        }
        _ => Err(Wrong::new("must be `text`, `json_object` or `json_schema`").in_field("type")),
    }
}

fn json_schema(raw: &RawValue) -> Read<ResponseFormat> {
    let (mut called, mut schema, mut strict) = (None, None, false);
    fields(raw, |name, raw| {
        match name {
            "name" => called = Some(text(raw)?),
            "schema" if !raw.get().starts_with('{') => return Err(must_be("an object", raw)),
            "schema" => schema = Some(owned(raw)),
            "strict" => strict = flag(raw)?,
            _ => {}
        }
        Ok(())
    })?;
    let (name, schema) = (required(called, "name")?.into(), required(schema, "schema")?.into());
    Ok(ResponseFormat::JsonSchema { name, schema, strict })
}
