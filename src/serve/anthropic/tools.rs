//! The tools of a request.
use crate::{
    chat::{Request, Tool, ToolChoice},
    serve::json::{Read, Values, Wrong, elements, fields, flag, must_be, owned, required, text},
};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Those of Anthropic's own, and what is said of others that nobody else understands, are for it alone.
pub(super) fn tools(request: Request, raw: &RawValue, provider: &str, values: &mut Values) -> Read<Request> {
    let (mut all, mut says_more) = (Vec::new(), false);
    elements(raw, |_, raw| {
        match tool(raw, &mut says_more)? {
            Some(tool) => all.push(tool),
            None => says_more = true,
        }
        Ok(())
    })?;
    let request = all.into_iter().fold(request, Request::tool);
    Ok(if says_more { request.extra(provider, "tools", values.read(raw)?) } else { request })
}

fn tool(raw: &RawValue, says_more: &mut bool) -> Read<Option<Tool>> {
    let (mut kind, mut called, mut description, mut schema, mut is_strict) = (None, None, None, None, false);
    fields(raw, |name, raw| {
        match name {
            "type" => kind = Some(text(raw)?),
            "name" => called = Some(text(raw)?),
            "description" => description = Some(text(raw)?),
            "input_schema" if !raw.get().starts_with('{') => return Err(must_be("an object", raw)),
            "input_schema" => schema = Some(owned(raw)),
            "strict" => is_strict = flag(raw)?,
            _ => *says_more = true,
        }
        Ok(())
    })?;
    if kind.is_some_and(|kind| kind != "custom") {
        return Ok(None);
    }
    let tool = Tool::new(required(called, "name")?, description.unwrap_or_default())
        .raw_parameters(required(schema, "input_schema")?);
    Ok(Some(if is_strict { tool.strict() } else { tool }))
}

pub(super) fn choice(request: Request, raw: &RawValue) -> Read<Request> {
    let (mut kind, mut called, mut one) = (None, None, None);
    fields(raw, |name, raw| {
        match name {
            "type" => kind = Some(text(raw)?),
            "name" => called = Some(text(raw)?),
            "disable_parallel_tool_use" => one = Some(flag(raw)?),
            _ => {}
        }
        Ok(())
    })?;
    let choice = match &*required(kind, "type")? {
        "auto" => ToolChoice::Auto,
        "any" => ToolChoice::Required,
        "none" => ToolChoice::Never,
        "tool" => ToolChoice::Named(required(called, "name").map(Cow::into_owned)?.into()),
        _ => return Err(Wrong::new("must be `auto`, `any`, `tool` or `none`").in_field("type")),
    };
    let request = request.tool_choice(choice);
    Ok(one.map_or_else(|| request.clone(), |one| request.clone().parallel_tool_calls(!one)))
}
