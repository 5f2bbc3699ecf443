//! A request as Anthropic's messages say it.
use super::{
    tools::{choice, tools},
    turn,
};
use crate::{
    chat::{Request, ResponseFormat},
    serve::json::{
        Read, Values, Wrong, body, elements, fields, flag, must_be, number, owned, required, stops, text, whole,
    },
};
use serde_json::value::RawValue;

pub(super) fn request(bytes: &[u8], provider: &str) -> Read<Request> {
    let mut asked = Request::new("");
    let (mut has_model, mut has_cap, mut messages, mut cache) = (false, false, Vec::new(), None);
    let mut values = Values::default();
    fields(body(bytes)?, |name, raw| {
        let request = std::mem::replace(&mut asked, Request::new(""));
        asked = match name {
            "model" => {
                has_model = true;
                request.model(text(raw)?)
            }
            "max_tokens" => {
                has_cap = true;
                request.max_tokens(whole(raw)?)
            }
            "messages" => {
                elements(raw, |_, raw| turn::decode(raw, provider, &mut messages, &mut cache))?;
                request
            }
            "system" => system(request, raw, provider, &mut values)?,
            "tools" => tools(request, raw, provider, &mut values)?,
            "tool_choice" => choice(request, raw)?,
            "temperature" => request.temperature(number(raw)?),
            "top_p" => request.top_p(number(raw)?),
            "stop_sequences" => stops(raw)?.into_iter().fold(request, Request::stop),
            "stream" => match flag(raw)? {
                true => request.stream(),
                false => request,
            },
            "output_config" => match schema(raw)? {
                Some(format) => request.response_format(format),
                None => request.extra(provider, name, values.read(raw)?),
            },
            name => request.extra(provider, name, values.read(raw)?),
        };
        Ok(())
    })?;
    required(has_model.then_some(()), "model")?;
    if asked.model_name().is_empty() {
        return Err(Wrong::new("is empty: name one").in_field("model"));
    }
    required(has_cap.then_some(()), "max_tokens")?;
    if messages.is_empty() {
        return Err(Wrong::new("there are none to answer: add one of a user").in_field("messages"));
    }
    asked = asked.history(messages);
    if let Some(cache) = cache.filter(|_| asked.extras(provider).all(|(field, _)| field != "cache_control")) {
        asked = asked.extra(provider, "cache_control", values.read(cache)?);
    }
    Ok(asked)
}

/// The form that an answer must have, if that is all that is said here.
fn schema(raw: &RawValue) -> Read<Option<ResponseFormat>> {
    let (mut format, mut has_more) = (None, false);
    fields(raw, |name, raw| {
        match name {
            "format" => format = Some(raw),
            _ => has_more = true,
        }
        Ok(())
    })?;
    let Some(format) = format.filter(|_| !has_more) else { return Ok(None) };
    let mut schema = None;
    let read = fields(format, |name, raw| {
        match name {
            "type" if text(raw)? != "json_schema" => return Err(Wrong::unsupported("must be `json_schema`")),
            "schema" if !raw.get().starts_with('{') => return Err(must_be("an object", raw)),
            "schema" => schema = Some(owned(raw)),
            _ => {}
        }
        Ok(())
    });
    let schema = read.and_then(|()| required(schema, "schema")).map_err(|wrong| wrong.in_field("format"))?;
    Ok(Some(ResponseFormat::JsonSchema { name: "answer".into(), schema: schema.into(), strict: true }))
}

fn system(request: Request, raw: &RawValue, provider: &str, values: &mut Values) -> Read<Request> {
    if raw.get().starts_with('"') {
        return Ok(request.system(text(raw)?));
    }
    let (mut all, mut says_more) = (String::new(), false);
    elements(raw, |index, raw| {
        let mut said = None;
        fields(raw, |name, raw| {
            match name {
                "type" if text(raw)? != "text" => return Err(Wrong::new("must be `text`")),
                "text" => said = Some(text(raw)?),
                "type" => {}
                _ => says_more = true,
            }
            Ok(())
        })?;
        all.push_str(if index == 0 { "" } else { "\n\n" });
        all.push_str(&required(said, "text")?);
        Ok(())
    })?;
    let request = if all.is_empty() { request } else { request.system(all) };
    Ok(if says_more { request.extra(provider, "system", values.read(raw)?) } else { request })
}
