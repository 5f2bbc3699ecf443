//! A message as Anthropic says it.
use crate::{
    chat::{Media, Message, Native, Part, Reasoning, Role, Text, ToolCall, ToolResult},
    serve::json::{Read, Wrong, elements, fields, flag, must_be, owned, required, text},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Adds what a message says. Results of tools are a turn of their own, in front of what the user says.
pub(super) fn decode<'a>(
    raw: &'a RawValue,
    provider: &str,
    turns: &mut Vec<Message>,
    cache: &mut Option<&'a RawValue>,
) -> Read<()> {
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
    /// Whether it says what is not known here.
    says_more: bool,
}

impl<'a> Block<'a> {
    fn read(raw: &'a RawValue, cache: &mut Option<&'a RawValue>) -> Read<Self> {
        let mut block = Self::default();
        fields(raw, |name, raw| {
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
                "cache_control" => *cache = Some(raw),
                "caller" => block.says_more |= !is_direct(raw)?,
                _ => block.says_more = true,
            }
            Ok(())
        })?;
        Ok(block)
    }
}

/// Whether the model itself calls, as it mostly does.
fn is_direct(caller: &RawValue) -> Read<bool> {
    let mut is_direct = false;
    fields(caller, |name, raw| {
        is_direct |= name == "type" && text(raw)? == "direct";
        Ok(())
    })?;
    Ok(is_direct)
}

fn kind(raw: &RawValue) -> Read<Cow<'_, str>> {
    let mut kind = None;
    fields(raw, |name, raw| {
        if name == "type" {
            kind = Some(text(raw)?);
        }
        Ok(())
    })?;
    required(kind, "type")
}

fn block<'a>(raw: &'a RawValue, provider: &str, cache: &mut Option<&'a RawValue>) -> Read<Option<Part>> {
    let kind = kind(raw)?;
    let native = || Native::new(provider.to_owned(), owned(raw));
    match &*kind {
        "text" | "image" | "document" => return shown(&kind, Block::read(raw, cache)?, provider).map(Some),
        "redacted_thinking" => return Ok(Some(Part::Reasoning(Reasoning::new("", native())))),
        "tool_use" | "tool_result" | "thinking" => {}
        // Of its fields nothing is known but that they go back as they came.
        _ => return Ok(Some(Part::Native(native()))),
    }
    let block = Block::read(raw, cache)?;
    Ok(Some(match &*kind {
        "tool_use" => {
            let input = required(block.input, "input")?;
            if !input.get().starts_with('{') {
                return Err(must_be("an object", input).in_field("input"));
            }
            let call = ToolCall::new(required(block.id, "id")?, required(block.name, "name")?, input.get());
            Part::ToolCall(call.with_native(block.says_more.then(native)))
        }
        "tool_result" => Part::ToolResult(result(block, cache)?),
        // Of another provider's thoughts, which we showed without one, nobody wants to know.
        _ if block.signature.as_deref().unwrap_or_default().is_empty() => return Ok(None),
        _ => Part::Reasoning(Reasoning::new(required(block.thinking, "thinking")?, native())),
    }))
}

/// What may stand in a message, and in a result.
fn shown(kind: &str, block: Block<'_>, provider: &str) -> Read<Part> {
    Ok(match kind {
        "text" => {
            let citations = block.citations.filter(|list| list.get().len() > 2);
            let citations = citations.map(|list| Native::new(provider.to_owned(), owned(list)));
            Part::Text(Text::from(required(block.text, "text")?).with_citations(citations))
        }
        "image" => Part::Image(media(required(block.source, "source")?, "image/png")?),
        _ => {
            let media = media(required(block.source, "source")?, "text/plain")?;
            Part::Document(match block.title {
                Some(title) => media.name(title),
                None => media,
            })
        }
    })
}

/// Its content holds no results, however deep a sender nests them.
fn result<'a>(block: Block<'a>, cache: &mut Option<&'a RawValue>) -> Read<ToolResult> {
    let id = required(block.tool_use_id, "tool_use_id")?;
    let (mut said, mut parts) = (String::new(), Vec::new());
    match block.content {
        None => {}
        Some(raw) if raw.get().starts_with('"') => said = text(raw)?.into_owned(),
        Some(raw) => {
            let read = elements(raw, |_, raw| {
                let kind = kind(raw)?;
                if !["text", "image", "document"].contains(&&*kind) {
                    return Err(Wrong::unsupported("a result here is text, images and documents"));
                }
                match shown(&kind, Block::read(raw, cache)?, "")? {
                    Part::Text(text) => {
                        said.push_str(if said.is_empty() { "" } else { "\n" });
                        said.push_str(text.as_str());
                    }
                    part => parts.push(part),
                }
                Ok(())
            });
            read.map_err(|wrong| wrong.in_field("content"))?;
        }
    }
    let result = parts.into_iter().fold(ToolResult::new(id, said), |result, part| match part {
        Part::Image(media) => result.image(media),
        Part::Document(media) => result.document(media),
        _ => result,
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
