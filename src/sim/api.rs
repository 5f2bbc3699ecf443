//! The words of the two providers that the mock one can be, by the path that it is asked at.
use super::{
    Stream,
    asked::Asked,
    chunks::chunks,
    completion::completion,
    deltas::{deltas, ping},
    frame::Frame,
    message::Message,
    reply::Reply,
    said::Said,
};
use serde_json::json;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Api {
    OpenAi,
    Anthropic,
}

impl Api {
    /// `None` where it knows no such path. A query is no part of it.
    pub(super) fn at(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or(path);
        if path.ends_with("/chat/completions") {
            return Some(Self::OpenAi);
        }
        path.ends_with("/messages").then_some(Self::Anthropic)
    }

    /// What stands before the rest of the name of a limit's header.
    pub(super) fn limits(self) -> &'static str {
        match self {
            Self::OpenAi => "x-ratelimit-",
            Self::Anthropic => "anthropic-ratelimit-",
        }
    }

    /// The error that the provider's own would be at this status.
    pub(super) fn error(self, status: u16) -> Reply {
        if (200..300).contains(&status) {
            return Reply::json(self, status, &json!({}));
        }
        match self {
            Self::OpenAi => {
                let (kind, code, message) = openai_error(status);
                self.says(status, kind, code, message)
            }
            Self::Anthropic => {
                let (kind, message) = anthropic_error(status);
                self.says(status, kind, None, message)
            }
        }
    }

    pub(super) fn says(self, status: u16, kind: &str, code: Option<&str>, message: &str) -> Reply {
        let body = match self {
            Self::OpenAi => json!({"error": {"message": message, "type": kind, "param": null, "code": code}}),
            Self::Anthropic => {
                json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": null})
            }
        };
        Reply::json(self, status, &body)
    }

    pub(super) fn whole(self, said: &Said<'_>) -> Reply {
        match self {
            Self::OpenAi => Reply::json(self, 200, &completion(said)),
            Self::Anthropic => Reply::json(self, 200, &Message::of(said)),
        }
    }

    pub(super) fn stream(self, said: &Said<'_>, asked: &Asked<'_>, stream: &Stream) -> Reply {
        let events = match self {
            Self::OpenAi => chunks(said, asked, stream),
            Self::Anthropic => deltas(said, stream),
        };
        Reply::events(self, events)
    }

    /// An event of a stream that shows nothing, but for `OpenAi`, which has none.
    pub(super) fn ping(self) -> Option<Frame> {
        match self {
            Self::OpenAi => None,
            Self::Anthropic => Some(ping()),
        }
    }

    /// The event that says what went wrong, in these words or in those for a status.
    pub(super) fn error_event(self, status: u16, data: Option<&str>) -> Frame {
        let name = (self == Self::Anthropic).then_some("error");
        match data {
            Some(data) => Frame::new(name, data),
            None => Frame::new(name, self.error(status).body),
        }
    }

    /// An event of the kind that shows tokens, whatever its data.
    pub(super) fn event(self, data: impl Into<Vec<u8>>) -> Frame {
        Frame::new((self == Self::Anthropic).then_some("content_block_delta"), data)
    }

    /// An event that stops in the middle.
    pub(super) fn broken(self) -> &'static str {
        match self {
            Self::OpenAi => r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":" mal"#,
            Self::Anthropic => r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" mal"#,
        }
    }

    /// The data of an event that shows nothing, around a text that nobody looks at.
    pub(super) fn around(self) -> (&'static str, &'static str) {
        match self {
            Self::OpenAi => (r#"{"object":"chat.completion.chunk","choices":[],"filler":""#, r#""}"#),
            Self::Anthropic => (r#"{"type":"ping","filler":""#, r#""}"#),
        }
    }

    /// The header that names the request in every answer.
    pub(super) fn request_id(self) -> &'static str {
        match self {
            Self::OpenAi => "x-request-id",
            Self::Anthropic => "request-id",
        }
    }
}

fn openai_error(status: u16) -> (&'static str, Option<&'static str>, &'static str) {
    match status {
        401 => ("invalid_request_error", Some("invalid_api_key"), "Incorrect API key provided."),
        403 => ("invalid_request_error", None, "You are not allowed to use this model."),
        404 => ("invalid_request_error", Some("model_not_found"), "The model does not exist."),
        409 => ("conflict_error", None, "The request conflicts with another one."),
        429 => ("requests", Some("rate_limit_exceeded"), "Rate limit reached. Please slow down."),
        400..=499 => ("invalid_request_error", None, "The request is invalid."),
        503 => ("server_error", None, "The server is currently unavailable."),
        529 => ("overloaded_error", None, "Overloaded"),
        _ => ("server_error", None, "The server had an error while processing your request."),
    }
}

fn anthropic_error(status: u16) -> (&'static str, &'static str) {
    match status {
        401 => ("authentication_error", "invalid x-api-key"),
        403 => ("permission_error", "Your API key does not have permission to use the specified resource."),
        404 => ("not_found_error", "model: not found"),
        409 => ("conflict_error", "The request conflicts with another one."),
        413 => ("request_too_large", "Request exceeds the maximum size"),
        429 => ("rate_limit_error", "Number of requests has exceeded your rate limit."),
        400..=499 => ("invalid_request_error", "The request is invalid."),
        504 => ("timeout_error", "The request timed out."),
        529 => ("overloaded_error", "Overloaded"),
        _ => ("api_error", "Internal server error"),
    }
}
