//! A request as `chat.proto` says it.
use super::{message, proto};
use crate::{
    Error, Kind,
    chat::{Request, ResponseFormat, Tool, ToolChoice},
};
use proto::{response_format, tool_choice};

pub(super) fn decode(asked: proto::AskRequest) -> Result<Request, Error> {
    if asked.model.is_empty() {
        return Err(invalid("model: is empty: name one"));
    }
    if asked.messages.is_empty() {
        return Err(invalid("messages: there are none: add one"));
    }
    let messages = asked.messages.into_iter().enumerate();
    let messages =
        messages.map(|(at, it)| message::decode(it, &format!("messages[{at}]"))).collect::<Result<Vec<_>, _>>()?;
    let mut request = Request::new(asked.model).history(messages);
    if let Some(text) = asked.system {
        request = request.system(text);
    }
    for (at, it) in asked.tools.into_iter().enumerate() {
        request = request.tool(tool(it, at)?);
    }
    if let Some(choice) = asked.tool_choice.and_then(|choice| choice.kind) {
        request = request.tool_choice(match choice {
            tool_choice::Kind::Tool(name) => ToolChoice::Named(name.into()),
            tool_choice::Kind::Mode(mode) => match tool_choice::Mode::try_from(mode) {
                Ok(tool_choice::Mode::Auto) => ToolChoice::Auto,
                Ok(tool_choice::Mode::Never) => ToolChoice::Never,
                Ok(tool_choice::Mode::Required) => ToolChoice::Required,
                Err(_) => return Err(invalid(format!("tool_choice.mode: {mode} is none"))),
            },
        });
    }
    if let Some(allowed) = asked.parallel_tool_calls {
        request = request.parallel_tool_calls(allowed);
    }
    if let Some(kind) = asked.response_format.and_then(|format| format.kind) {
        request = request.response_format(match kind {
            response_format::Kind::Json(_) => ResponseFormat::Json,
            response_format::Kind::JsonSchema(schema) => ResponseFormat::JsonSchema {
                name: schema.name.into(),
                schema: message::json(schema.schema, "response_format.json_schema.schema")?.into(),
                strict: schema.strict,
            },
        });
    }
    if let Some(tokens) = asked.max_tokens {
        request = request.max_tokens(tokens);
    }
    if let Some(temperature) = number(asked.temperature, "temperature")? {
        request = request.temperature(temperature);
    }
    if let Some(share) = number(asked.top_p, "top_p")? {
        request = request.top_p(share);
    }
    if let Some(seed) = asked.seed {
        request = request.seed(seed);
    }
    request = asked.stop.into_iter().fold(request, Request::stop);
    for (at, extra) in asked.extra.into_iter().enumerate() {
        let value =
            serde_json::from_str(&extra.value).map_err(|_| invalid(format!("extra[{at}].value: is no JSON")))?;
        request = request.extra(extra.provider, extra.field, value);
    }
    Ok(request)
}

fn tool(tool: proto::Tool, at: usize) -> Result<Tool, Error> {
    let mut told = Tool::new(tool.name, tool.description);
    if !tool.parameters.is_empty() {
        told = told.raw_parameters(message::json(tool.parameters, &format!("tools[{at}].parameters"))?);
    }
    Ok(if tool.strict { told.strict() } else { told })
}

/// JSON has neither infinities nor NaN.
fn number(number: Option<f64>, field: &str) -> Result<Option<f64>, Error> {
    match number {
        Some(number) if !number.is_finite() => Err(invalid(format!("{field}: {number} is no number that can be sent"))),
        number => Ok(number),
    }
}

pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::refusal(Kind::InvalidRequest).with_message(message.into())
}
