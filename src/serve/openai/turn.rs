//! A message as OpenAI's chat completions say it.
use crate::{
    chat::{Media, Message, Native, Part, Reasoning, Role, Text, ToolCall, ToolResult},
    serve::json::{Read, Wrong, elements, fields, owned, required, text},
};
use serde_json::value::RawValue;
use std::borrow::Cow;

pub(super) enum Turn {
    System(String),
    Message(Message),
}

/// What stands in a message, as it came.
#[derive(Default)]
struct Said<'a> {
    role: Option<Cow<'a, str>>,
    content: Option<&'a RawValue>,
    refusal: Option<Cow<'a, str>>,
    tool_calls: Option<&'a RawValue>,
    tool_call_id: Option<Cow<'a, str>>,
    /// Some give both, as text and in pieces.
    thoughts: [Option<(Cow<'a, str>, &'a RawValue)>; 2],
}

pub(super) fn decode(raw: &RawValue, provider: &str) -> Read<Turn> {
    let mut said = Said::default();
    fields(raw, |name, raw| {
        match name {
            "role" => said.role = Some(text(raw)?),
            "content" => said.content = Some(raw),
            "refusal" => said.refusal = Some(text(raw)?),
            "tool_calls" => said.tool_calls = Some(raw),
            "tool_call_id" => said.tool_call_id = Some(text(raw)?),
            "reasoning_content" if raw.get().starts_with('"') => said.thoughts[0] = Some((text(raw)?, raw)),
            "reasoning_content" => said.thoughts[0] = Some((Cow::default(), raw)),
            "reasoning_details" => said.thoughts[1] = Some((Cow::default(), raw)),
            "function_call" => return Err(Wrong::unsupported("has given way to `tool_calls`: use these")),
            "audio" => return Err(Wrong::unsupported("audio is not taken here")),
            _ => {}
        }
        Ok(())
    })?;
    let role = required(said.role.take(), "role")?;
    match &*role {
        "system" | "developer" => Ok(Turn::System(texts(&said, "\n")?)),
        "user" => {
            let parts = parts(required(said.content, "content")?).map_err(|wrong| wrong.in_field("content"))?;
            Ok(Turn::Message(Message::new(Role::User, parts)))
        }
        "assistant" => assistant(said, provider).map(Turn::Message),
        "tool" => {
            let id = required(said.tool_call_id.take(), "tool_call_id")?;
            let result = ToolResult::new(id, texts(&said, "")?);
            Ok(Turn::Message(Message::new(Role::Tool, [Part::ToolResult(result)])))
        }
        "function" => Err(Wrong::unsupported("has given way to `tool`: use that").in_field("role")),
        _ => Err(Wrong::new("must be `system`, `developer`, `user`, `assistant` or `tool`").in_field("role")),
    }
}

fn assistant(said: Said<'_>, provider: &str) -> Read<Message> {
    let mut all = Vec::new();
    for (shown, raw) in said.thoughts.into_iter().flatten() {
        all.push(Part::Reasoning(Reasoning::new(shown, Native::new(provider, owned(raw)))));
    }
    if let Some(content) = said.content {
        all.extend(parts(content).map_err(|wrong| wrong.in_field("content"))?);
    }
    all.extend(said.refusal.map(|refusal| Part::Refusal(refusal.into_owned())));
    if let Some(raw) = said.tool_calls {
        let read = elements(raw, |_, raw| {
            all.push(Part::ToolCall(tool_call(raw, provider)?));
            Ok(())
        });
        read.map_err(|wrong| wrong.in_field("tool_calls"))?;
    }
    Ok(Message::new(Role::Assistant, all))
}

fn tool_call(raw: &RawValue, provider: &str) -> Read<ToolCall> {
    let (mut id, mut function, mut says_more) = (None, None, false);
    fields(raw, |name, raw| {
        match name {
            "id" => id = Some(text(raw)?),
            "type" if text(raw)? != "function" => {
                return Err(Wrong::unsupported("only calls of the type `function` are taken here"));
            }
            "function" => function = Some(raw),
            "type" | "index" => {}
            _ => says_more = true,
        }
        Ok(())
    })?;
    let (mut called, mut arguments) = (None, None);
    let read = fields(required(function, "function")?, |name, raw| {
        match name {
            "name" => called = Some(text(raw)?),
            "arguments" => arguments = Some(text(raw)?),
            _ => says_more = true,
        }
        Ok(())
    });
    let named = read.and_then(|()| required(called, "name")).map_err(|wrong| wrong.in_field("function"))?;
    let call = ToolCall::new(required(id, "id")?, named, arguments.unwrap_or_default());
    // Such as the signature of a thought, without which some providers refuse the turn.
    Ok(call.with_native(says_more.then(|| Native::new(provider.to_owned(), owned(raw)))))
}

/// What a content of text alone says.
fn texts(said: &Said<'_>, between: &str) -> Read<String> {
    let parts = parts(required(said.content, "content")?).map_err(|wrong| wrong.in_field("content"))?;
    let mut all = String::new();
    for (at, part) in parts.iter().enumerate() {
        let Part::Text(text) = part else {
            return Err(Wrong::new("only text may stand here").at(at).in_field("content"));
        };
        all.push_str(if at == 0 { "" } else { between });
        all.push_str(text.as_str());
    }
    Ok(all)
}

fn parts(raw: &RawValue) -> Read<Vec<Part>> {
    if raw.get().starts_with('"') {
        let text = text(raw)?;
        return Ok(if text.is_empty() { Vec::new() } else { vec![Part::Text(Text::from(text))] });
    }
    let mut all = Vec::new();
    if !raw.get().starts_with('[') {
        return Err(Wrong::new("must be a text, or a list of parts"));
    }
    elements(raw, |_, raw| {
        all.push(part(raw)?);
        Ok(())
    })?;
    Ok(all)
}

fn part(raw: &RawValue) -> Read<Part> {
    let (mut kind, mut own, mut image, mut file) = (None, None, None, None);
    fields(raw, |name, raw| {
        match name {
            "type" => kind = Some(text(raw)?),
            "text" | "refusal" => own = Some(text(raw)?),
            "image_url" => image = Some(raw),
            "file" => file = Some(raw),
            _ => {}
        }
        Ok(())
    })?;
    match &*required(kind, "type")? {
        "text" => Ok(Part::Text(Text::from(required(own, "text")?))),
        "refusal" => Ok(Part::Refusal(required(own, "refusal")?.into_owned())),
        "image_url" => {
            let url = url(required(image, "image_url")?).map_err(|wrong| wrong.in_field("image_url"))?;
            Ok(Part::Image(Media::url(url)))
        }
        "file" => document(required(file, "file")?).map_err(|wrong| wrong.in_field("file")),
        _ => Err(Wrong::unsupported("parts here are `text`, `image_url`, `file` and `refusal`").in_field("type")),
    }
}

/// Some clients write the URL alone.
fn url(raw: &RawValue) -> Read<Cow<'_, str>> {
    if raw.get().starts_with('"') {
        return text(raw);
    }
    let mut url = None;
    fields(raw, |name, raw| {
        if name == "url" {
            url = Some(text(raw)?);
        }
        Ok(())
    })?;
    required(url, "url")
}

fn document(raw: &RawValue) -> Read<Part> {
    let (mut data, mut title) = (None, None);
    fields(raw, |name, raw| {
        match name {
            "file_data" => data = Some(text(raw)?),
            "filename" => title = Some(text(raw)?),
            "file_id" => return Err(Wrong::unsupported("files are not kept here: send `file_data`")),
            _ => {}
        }
        Ok(())
    })?;
    let media = Media::url(required(data, "file_data")?);
    Ok(Part::Document(match title {
        Some(title) => media.name(title),
        None => media,
    }))
}
