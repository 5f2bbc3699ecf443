//! An answer as `chat.proto` says it.
use super::{message, proto};
use crate::{
    Usage,
    chat::{Answer, FinishReason, Item, Part},
};
use proto::piece;

pub(super) fn whole(answer: &Answer) -> proto::AskReply {
    proto::AskReply {
        id: answer.id().unwrap_or_default().to_owned(),
        model: answer.model().unwrap_or_default().to_owned(),
        message: Some(message::encode(answer.message())),
        finish_reason: answer.finish_reason().map_or_else(String::new, FinishReason::to_string),
        usage: answer.usage().map(usage),
    }
}

/// What a reader is told of an item: of some nothing.
pub(super) fn piece(item: Item) -> Option<proto::Piece> {
    let kind = match item {
        Item::Started { id, model } => {
            let text = |text: Option<std::sync::Arc<str>>| text.as_deref().unwrap_or_default().to_owned();
            piece::Kind::Started(piece::Started { id: text(id), model: text(model) })
        }
        Item::Text(text) => piece::Kind::Text(text.as_ref().to_owned()),
        Item::Citations(cited) => piece::Kind::Citations(message::native(&cited)),
        Item::Reasoning(text) => piece::Kind::Reasoning(text.as_ref().to_owned()),
        Item::Thought(thoughts) => piece::Kind::Whole(message::part(&Part::Reasoning(thoughts))),
        Item::Refusal(text) => piece::Kind::Refusal(text.as_ref().to_owned()),
        Item::Calling { index, name, arguments } => piece::Kind::Calling(piece::Calling {
            index: u32::try_from(index).unwrap_or(u32::MAX),
            name: name.as_ref().to_owned(),
            arguments: arguments.as_ref().to_owned(),
        }),
        Item::ToolCall(call) => piece::Kind::Whole(message::part(&Part::ToolCall(call))),
        Item::Native(block) => piece::Kind::Whole(message::part(&Part::Native(block))),
        Item::Usage(told) => piece::Kind::Usage(usage(told)),
        Item::Finish(reason) => piece::Kind::FinishReason(reason.to_string()),
        Item::Alive | Item::Skipped | Item::Event { .. } | Item::End => return None,
    };
    Some(proto::Piece { kind: Some(kind) })
}

fn usage(usage: Usage) -> proto::Usage {
    let Usage { input, output, cached, cache_write, reasoning, estimated } = usage;
    proto::Usage { input, output, cached, cache_write, reasoning, estimated }
}
