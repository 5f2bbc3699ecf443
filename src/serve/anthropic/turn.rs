//! A message as Anthropic says it.
use crate::{
    chat::{Media, Message, Native, Part, Reasoning, Role, Text, ToolCall, ToolResult},
    serve::json::{Read, Wrong, elements, fields, flag, given, must_be, owned, required, text, value},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, value::RawValue};
use std::borrow::Cow;

/// Adds what a message says. Results of tools are a turn of their own, in front of what the user says.
pub(super) fn decode(raw: &RawValue, provider: &str, turns: &mut Vec<Message>, cache: &mut Option<Value>) -> Read<()> {
    let (mut role, mut content) = (None, None);
    fields(raw, |name, raw| {
        match name {
            "role" => role = Some(text(raw)?),
            "content" => content = Some(raw),
            _ => {}
        }
        Ok(())
    })?;
    let content = required(content, "content")?;
    let mut results = Vec::new();
    let mut parts = Vec::new();
    let role = match &*required(role, "role")? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return Err(Wrong::new("must be `user` or `assistant`").in_field("role")),
    };
    let read = match content.get().as_bytes().first() {
        Some(b'"') => text(content).map(|said| parts.push(Part::Text(Text::from(said)))),
        Some(b'[') => elements(content, |_, raw| {
            match block(raw, provider, cache)? {
                Some(Part::ToolResult(_)) if role == Role::Assistant => {
                    return Err(Wrong::new("a result is a user's to give"));
                }
                Some(result @ Part::ToolResult(_)) => results.push(result),
                Some(part) => parts.push(part),
                None => {}
            }
            Ok(())
        }),
        _ => Err(Wrong::new("must be a text, or a list of blocks")),
    };
    read.map_err(|wrong| wrong.in_field("content"))?;
    let is_result = !results.is_empty();
    if is_result {
        turns.push(Message::new(Role::Tool, results));
    }
    if !is_result || !parts.is_empty() {
        turns.push(Message::new(role, parts));
    }
    Ok(())
}

/// What stands in a block, as it came.
#[derive(Default)]
struct Block<'a> {
    kind: Option<Cow<'a, str>>,
    text: Option<Cow<'a, str>>,
    source: Option<&'a RawValue>,
    title: Option<Cow<'a, str>>,
    id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    input: Option<&'a RawValue>,
    tool_use_id: Option<Cow<'a, str>>,
    content: Option<&'a RawValue>,
    is_error: bool,
    thinking: Option<Cow<'a, str>>,
    signature: Option<Cow<'a, str>>,
    citations: Option<&'a RawValue>,
}

impl<'a> Block<'a> {
    fn read(raw: &'a RawValue, cache: &mut Option<Value>) -> Read<Self> {
        let mut block = Self::default();
        fields(raw, |name, raw| {
            let Some(raw) = given(raw) else { return Ok(()) };
            match name {
                "type" => block.kind = Some(text(raw)?),
                "text" => block.text = Some(text(raw)?),
                "source" => block.source = Some(raw),
                "title" => block.title = Some(text(raw)?),
                "id" => block.id = Some(text(raw)?),
                "name" => block.name = Some(text(raw)?),
                "input" => block.input = Some(raw),
                "tool_use_id" => block.tool_use_id = Some(text(raw)?),
                "content" => block.content = Some(raw),
                "is_error" => block.is_error = flag(raw)?,
                "thinking" => block.thinking = Some(text(raw)?),
                "signature" => block.signature = Some(text(raw)?),
                "citations" => block.citations = Some(raw).filter(|raw| raw.get().starts_with('[')),
                "cache_control" => *cache = Some(value(raw)?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(block)
    }
}

fn block(raw: &RawValue, provider: &str, cache: &mut Option<Value>) -> Read<Option<Part>> {
    let mut kind = None;
    fields(raw, |name, raw| {
        if name == "type" {
            kind = Some(text(raw)?);
        }
        Ok(())
    })?;
    let kind = required(kind, "type")?;
    let native = || Native::new(provider.to_owned(), owned(raw));
    if !["text", "image", "document", "tool_use", "tool_result", "thinking"].contains(&&*kind) {
        // Of its fields nothing is known but that they go back as they came.
        return Ok(Some(match &*kind {
            "redacted_thinking" => Part::Reasoning(Reasoning::new("", native())),
            _ => Part::Native(native()),
        }));
    }
    let block = Block::read(raw, cache)?;
    Ok(Some(match &*kind {
        "text" => {
            let citations = block.citations.filter(|list| list.get().len() > 2);
            let citations = citations.map(|list| Native::new(provider.to_owned(), owned(list)));
            Part::Text(Text::from(required(block.text, "text")?).with_citations(citations))
        }
        "image" => Part::Image(media(required(block.source, "source")?, "image/png")?),
        "document" => {
            let media = media(required(block.source, "source")?, "text/plain")?;
            Part::Document(match block.title {
                Some(title) => media.name(title),
                None => media,
            })
        }
        "tool_use" => {
            let input = required(block.input, "input")?;
            if !input.get().starts_with('{') {
                return Err(must_be("an object", input).in_field("input"));
            }
            Part::ToolCall(ToolCall::new(required(block.id, "id")?, required(block.name, "name")?, input.get()))
        }
        "tool_result" => Part::ToolResult(result(block, cache)?),
        // Of another provider's thoughts, which we showed without one, nobody wants to know.
        _ if block.signature.as_deref().unwrap_or_default().is_empty() => return Ok(None),
        _ => Part::Reasoning(Reasoning::new(required(block.thinking, "thinking")?, native())),
    }))
}

fn result(block: Block<'_>, cache: &mut Option<Value>) -> Read<ToolResult> {
    let id = required(block.tool_use_id, "tool_use_id")?;
    let (mut said, mut shown) = (String::new(), Vec::new());
    match block.content {
        None => {}
        Some(raw) if raw.get().starts_with('"') => said = text(raw)?.into_owned(),
        Some(raw) => {
            let read = elements(raw, |_, raw| {
                match self::block(raw, "", cache)? {
                    Some(Part::Text(text)) => {
                        said.push_str(if said.is_empty() { "" } else { "\n" });
                        said.push_str(text.as_str());
                    }
                    Some(Part::Image(media)) => shown.push((true, media)),
                    Some(Part::Document(media)) => shown.push((false, media)),
                    _ => return Err(Wrong::unsupported("a result here is text, images and documents")),
                }
                Ok(())
            });
            read.map_err(|wrong| wrong.in_field("content"))?;
        }
    }
    let result = shown.into_iter().fold(ToolResult::new(id, said), |result, (is_image, media)| match is_image {
        true => result.image(media),
        false => result.document(media),
    });
    Ok(if block.is_error { result.error() } else { result })
}

fn media(raw: &RawValue, usual: &'static str) -> Read<Media> {
    let (mut kind, mut media_type, mut data, mut url) = (None, None, None, None);
    let read = fields(raw, |name, raw| {
        match name {
            "type" => kind = Some(text(raw)?),
            "media_type" => media_type = Some(text(raw)?),
            "data" => data = Some(text(raw)?),
            "url" => url = Some(text(raw)?),
            _ => {}
        }
        Ok(())
    });
    let read = read.and_then(|()| match &*required(kind, "type")? {
        "base64" => Ok(Media::base64(required(media_type, "media_type")?, required(data, "data")?)),
        "url" => Ok(Media::url(required(url, "url")?)),
        "text" => Ok(Media::base64(
            media_type.unwrap_or_else(|| usual.into()),
            BASE64.encode(required(data, "data")?.as_bytes()),
        )),
        _ => Err(Wrong::unsupported("sources here are `base64`, `url` and `text`").in_field("type")),
    });
    read.map_err(|wrong| wrong.in_field("source"))
}
