//! Recorded streams: the error in one, or a missing ending.
use super::{
    Classifier,
    body::{self, Body},
    decide::Answer,
    envelope::finished_with,
    json,
};
use crate::{Error, sse};
use http::HeaderMap;
use serde_json::Value;
use std::borrow::Cow;

pub(super) fn judge(classifier: &Classifier, headers: &HeaderMap, body: &[u8]) -> Option<Error> {
    match body::read(body) {
        Body::Empty => classifier.damaged(),
        Body::Json(Value::Array(_)) => frames(classifier, headers, json::items(&body::text(body)).map(Cow::Borrowed)),
        Body::Json(value) => frames(classifier, headers, [value.to_string().into()].into_iter()),
        Body::Html(page) => Some(classifier.verdict(&Answer::refused(title_status(&page), Body::Html(page)), headers)),
        Body::Cut(Some(Value::Array(_)), array) => {
            let mended = |item| body::mend(item).map_or(Cow::Borrowed(item), |value| value.to_string().into());
            frames(classifier, headers, json::items(&array).map(mended)).or_else(|| classifier.damaged())
        }
        Body::Cut(_, lines) => frames(classifier, headers, lines.lines().map(Cow::Borrowed)),
        Body::Text(_) => events(classifier, headers, body),
    }
}

/// JSON, frame by frame.
fn frames<'a>(
    classifier: &Classifier,
    headers: &HeaderMap,
    frames: impl Iterator<Item = Cow<'a, str>>,
) -> Option<Error> {
    let mut ended = false;
    for frame in frames {
        if let Some(error) = classifier.frame_of(None, frame.as_bytes(), headers) {
            return Some(error);
        }
        ended |= json::read(&frame).is_ok_and(|value| is_ending(None, &value));
    }
    if ended { None } else { classifier.damaged() }
}

fn events(classifier: &Classifier, headers: &HeaderMap, body: &[u8]) -> Option<Error> {
    let mut parser = sse::Parser::new(body.len());
    parser.push(body);
    parser.finish();
    let mut ended = false;
    while let Some(frame) = parser.next() {
        let Ok(sse::Frame::Event { name, data }) = frame else { continue };
        if let Some(error) = classifier.frame_of(name, data, headers) {
            return Some(error);
        }
        let value = || std::str::from_utf8(data).ok().and_then(|text| json::read(text).ok());
        ended |= data == b"[DONE]" || value().is_some_and(|value| is_ending(name, &value));
    }
    if ended { None } else { classifier.damaged() }
}

/// Whether a frame is its protocol's own ending, or what comes right before an ending that many leave out.
fn is_ending(event: Option<&str>, value: &Value) -> bool {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let kind = event.or_else(|| text("type")).or_else(|| text("event_type"));
    let named = matches!(
        kind,
        Some("message_stop" | "response.completed" | "response.incomplete" | "message-end" | "stream-end")
    );
    let finished = |name: &str, reason: &str| {
        let items = value.get(name).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(|item| item.get(reason)?.as_str()).any(|reason| reason != "null")
    };
    let aws = value.get("headers").and_then(|headers| headers.get(":event-type")?.as_str());
    let output = value.get("output").and_then(|output| output.get("finish_reason")?.as_str());
    named
        || value.get("done") == Some(&Value::Bool(true))
        || value.get("is_finished") == Some(&Value::Bool(true))
        || text("generated_text").is_some()
        || finished("choices", "finish_reason")
        || finished("candidates", "finishReason")
        || output.is_some_and(|reason| reason != "null")
        || matches!(aws, Some("messageStop" | "metadata"))
        || finished_with(value, "stop")
}

/// The status in the title of an error page: `504 Gateway Time-out`.
fn title_status(page: &str) -> u16 {
    let title =
        page.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>")).map_or("", |title| title.0);
    let words = title.split(|c: char| !c.is_ascii_digit()).filter(|word| word.len() == 3);
    words.filter_map(|word| word.parse().ok()).find(|status| (400..600).contains(status)).unwrap_or(200)
}
