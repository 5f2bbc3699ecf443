//! The events of a streamed answer.
use super::encode::{Block, Tokens};
use bytes::{BufMut, BytesMut};
use serde::Serialize;
use serde_json::value::RawValue;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Event<'a> {
    MessageStart { message: Start<'a> },
    ContentBlockStart { index: u32, content_block: Block<'a> },
    ContentBlockDelta { index: u32, delta: Delta<'a> },
    ContentBlockStop { index: u32 },
    MessageDelta { delta: Stop, usage: Tokens },
    MessageStop,
    Ping,
}

#[derive(Serialize)]
pub(super) struct Start<'a> {
    pub(super) id: &'a str,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) role: &'static str,
    pub(super) model: &'a str,
    pub(super) content: [(); 0],
    pub(super) stop_reason: (),
    pub(super) stop_sequence: (),
    pub(super) usage: Tokens,
}

#[derive(Serialize)]
pub(super) struct Stop {
    pub(super) stop_reason: &'static str,
    pub(super) stop_sequence: (),
}

#[derive(Serialize)]
#[serde(tag = "type")]
pub(super) enum Delta<'a> {
    #[serde(rename = "text_delta")]
    Text { text: &'a str },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: &'a str },
    #[serde(rename = "signature_delta")]
    Signature { signature: &'a str },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: &'a str },
    #[serde(rename = "citations_delta")]
    Citations { citation: &'a RawValue },
}

impl Event<'_> {
    fn name(&self) -> &'static str {
        match self {
            Self::MessageStart { .. } => "message_start",
            Self::ContentBlockStart { .. } => "content_block_start",
            Self::ContentBlockDelta { .. } => "content_block_delta",
            Self::ContentBlockStop { .. } => "content_block_stop",
            Self::MessageDelta { .. } => "message_delta",
            Self::MessageStop => "message_stop",
            Self::Ping => "ping",
        }
    }

    pub(super) fn write(&self, out: &mut BytesMut) {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(self.name().as_bytes());
        out.extend_from_slice(b"\ndata: ");
        // Writing to memory does not fail, and no name in it is anything but text.
        let begin = out.len();
        let _ = serde_json::to_writer(out.writer(), self);
        // A block that is sent as it was received may stand on several lines. In JSON these are blanks: texts have them escaped.
        for byte in &mut out[begin..] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        out.extend_from_slice(b"\n\n");
    }
}
