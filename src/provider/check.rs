//! What every provider refuses, found before anything is sent.
use crate::{
    Invalid,
    chat::{Message, Part, Request, Role},
};

/// `own` tells the fields that `extra` may not set.
pub(super) fn check(request: &Request, provider: &str, own: impl Fn(&str) -> bool) -> Result<(), Invalid> {
    if request.model_name().is_empty() {
        return Err(Invalid::new("model", "is empty: name one in `Request::new`"));
    }
    if request.messages().is_empty() && request.system_text().is_none() {
        return Err(Invalid::new("messages", "there are none: add one with `user`"));
    }
    let (temperature, top_p) = request.sampling();
    for (setting, number) in [("temperature", temperature), ("top_p", top_p)] {
        if number.is_some_and(|number| !number.is_finite()) {
            return Err(Invalid::new(setting, "is not a finite number: set one, or leave it out"));
        }
    }
    for (index, message) in request.messages().iter().enumerate() {
        if let Some(reason) = misplaced(message) {
            return Err(at(index, reason));
        }
    }
    match request.extras(provider).find(|(field, _)| own(field)) {
        Some((field, _)) => {
            Err(Invalid::new("extra", format!("may not set `{field}`, which seawall sets or relies on")))
        }
        None => Ok(()),
    }
}

/// Names the message that is to blame.
pub(super) fn at(index: usize, reason: &str) -> Invalid {
    Invalid::new("messages", format!("message {index}: {reason}"))
}

/// A part in a turn that has no place for it would be lost without a word.
fn misplaced(message: &Message) -> Option<&'static str> {
    let any = |wrong: fn(&Part) -> bool| message.parts().iter().any(wrong);
    match message.role() {
        Role::Tool if message.parts().is_empty() => Some("a tool turn without a result: add one with `tool_result`"),
        Role::Tool if any(|part| !is_result(part)) => Some("a tool turn holds results only"),
        Role::User if any(|part| !is_shown(part)) => Some(
            "a user turn holds text, images and documents only: results belong to a tool turn, calls to the assistant's",
        ),
        Role::Assistant if any(is_result) => Some("results belong to a tool turn"),
        Role::Assistant if any(is_media) => Some("images and documents belong to a user turn or to a result"),
        _ => None,
    }
}

/// A result whose extra parts are what a result may have: one that was stored may say anything.
fn is_result(part: &Part) -> bool {
    matches!(part, Part::ToolResult(result) if result.parts().iter().all(is_media))
}

fn is_media(part: &Part) -> bool {
    matches!(part, Part::Image(_) | Part::Document(_))
}

fn is_shown(part: &Part) -> bool {
    matches!(part, Part::Text(_)) || is_media(part)
}
