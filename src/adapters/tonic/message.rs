//! A turn as `chat.proto` says it, both ways.
use super::{proto, request::invalid};
use crate::{
    Error,
    chat::{Media, Message, Native, Part, Reasoning, Role, Source, ToolCall, ToolResult},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use proto::{media, part};
use serde_json::value::RawValue;

pub(super) fn decode(message: proto::Message, at: &str) -> Result<Message, Error> {
    let role = match message.role() {
        proto::Role::User => Role::User,
        proto::Role::Assistant => Role::Assistant,
        proto::Role::Tool => Role::Tool,
        proto::Role::Unspecified => {
            return Err(invalid(format!("{at}.role: is missing, or {}, which is none", message.role)));
        }
    };
    let parts = message.parts.into_iter().enumerate();
    let parts =
        parts.map(|(number, it)| of_wire(it, &format!("{at}.parts[{number}]"))).collect::<Result<Vec<_>, _>>()?;
    Ok(Message::new(role, parts))
}

fn of_wire(part: proto::Part, at: &str) -> Result<Part, Error> {
    Ok(match part.kind.ok_or_else(|| invalid(format!("{at}: is empty")))? {
        part::Kind::Text(text) => Part::Text(text.into()),
        part::Kind::Image(media) => Part::Image(of_media(media, at)?),
        part::Kind::Document(media) => Part::Document(of_media(media, at)?),
        part::Kind::ToolCall(call) => {
            let native = call.native.map(|native| of_native(native, at)).transpose()?;
            Part::ToolCall(ToolCall::new(call.id, call.name, call.arguments).with_native(native))
        }
        part::Kind::ToolResult(result) => {
            let mut given = ToolResult::new(result.call_id, result.content);
            for (number, it) in result.parts.into_iter().enumerate() {
                given = match of_wire(it, &format!("{at}.parts[{number}]"))? {
                    Part::Image(media) => given.image(media),
                    Part::Document(media) => given.document(media),
                    _ => return Err(invalid(format!("{at}.parts[{number}]: a tool gives text, images and documents"))),
                };
            }
            Part::ToolResult(if result.is_error { given.error() } else { given })
        }
        part::Kind::Reasoning(thoughts) => {
            let native = thoughts
                .native
                .ok_or_else(|| invalid(format!("{at}.reasoning.native: is missing: send back what came")))?;
            Part::Reasoning(Reasoning::new(thoughts.text, of_native(native, at)?))
        }
        part::Kind::Refusal(text) => Part::Refusal(text),
        part::Kind::Native(native) => Part::Native(of_native(native, at)?),
    })
}

fn of_media(media: proto::Media, at: &str) -> Result<Media, Error> {
    let source = match media.source.ok_or_else(|| invalid(format!("{at}: says neither a URL nor bytes")))? {
        media::Source::Url(url) => Media::url(url),
        media::Source::Inline(inline) => Media::base64(inline.media_type, BASE64.encode(inline.data)),
    };
    Ok(match media.name {
        Some(name) => source.name(name),
        None => source,
    })
}

fn of_native(native: proto::Native, at: &str) -> Result<Native, Error> {
    Ok(Native::new(native.provider, json(native.json, &format!("{at}.native.json"))?))
}

pub(super) fn json(text: String, at: &str) -> Result<Box<RawValue>, Error> {
    RawValue::from_string(text).map_err(|_| invalid(format!("{at}: is no JSON")))
}

pub(super) fn encode(message: &Message) -> proto::Message {
    let role = match message.role() {
        Role::User => proto::Role::User,
        Role::Assistant => proto::Role::Assistant,
        Role::Tool => proto::Role::Tool,
    };
    proto::Message { role: role.into(), parts: message.parts().iter().map(part).collect() }
}

pub(super) fn part(part: &Part) -> proto::Part {
    let kind = match part {
        Part::Text(text) => part::Kind::Text(text.as_str().to_owned()),
        Part::Reasoning(thoughts) => part::Kind::Reasoning(reasoning(thoughts)),
        Part::Image(media) => part::Kind::Image(shown(media)),
        Part::Document(media) => part::Kind::Document(shown(media)),
        Part::Refusal(text) => part::Kind::Refusal(text.clone()),
        Part::ToolCall(call) => part::Kind::ToolCall(tool_call(call)),
        Part::ToolResult(result) => part::Kind::ToolResult(proto::ToolResult {
            call_id: result.call_id().to_owned(),
            content: result.content().to_owned(),
            is_error: result.is_error(),
            parts: result.parts().iter().map(self::part).collect(),
        }),
        Part::Native(block) => part::Kind::Native(native(block)),
    };
    proto::Part { kind: Some(kind) }
}

pub(super) fn reasoning(thoughts: &Reasoning) -> proto::Reasoning {
    proto::Reasoning { text: thoughts.text().to_owned(), native: Some(native(thoughts.native())) }
}

pub(super) fn tool_call(call: &ToolCall) -> proto::ToolCall {
    proto::ToolCall {
        id: call.id().to_owned(),
        name: call.name().to_owned(),
        arguments: call.arguments().to_owned(),
        native: call.native().map(native),
    }
}

pub(super) fn native(native: &Native) -> proto::Native {
    proto::Native { provider: native.dialect().to_owned(), json: native.json().get().to_owned() }
}

fn shown(media: &Media) -> proto::Media {
    let source = match media.source() {
        Source::Url(url) => media::Source::Url(url.as_ref().to_owned()),
        // What is no base64 is of a provider's making, and was never looked at.
        Source::Base64 { media_type, data } => media::Source::Inline(proto::Inline {
            media_type: media_type.as_ref().to_owned(),
            data: BASE64.decode(data.as_bytes()).unwrap_or_default(),
        }),
    };
    proto::Media { source: Some(source), name: media.title().map(str::to_owned) }
}
