//! What every provider refuses, found before anything is sent.
use crate::{
    Invalid,
    chat::{Message, Part, Request, Role, ToolChoice},
};
use std::collections::HashSet;

/// `own` tells the fields that `extra` may not set.
pub(super) fn check(request: &Request, provider: &str, own: impl Fn(&str) -> bool) -> Result<(), Invalid> {
    if request.model_name().is_empty() {
        return Err(Invalid::new("model", "is empty: name one in `Request::new`"));
    }
    if request.messages().is_empty() && request.system_text().is_none() {
        return Err(Invalid::new("messages", "there are none: add one with `user`"));
    }
    numbers(request)?;
    tools(request, provider)?;
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

fn numbers(request: &Request) -> Result<(), Invalid> {
    let (temperature, top_p) = request.sampling();
    for (setting, number, most) in [("temperature", temperature, 2.0), ("top_p", top_p, 1.0)] {
        if number.is_some_and(|number| !(0.0..=most).contains(&number)) {
            return Err(Invalid::new(setting, format!("is not between 0 and {most}: set it so, or leave it out")));
        }
    }
    match request.token_cap() {
        Some(0) => Err(Invalid::new("max_tokens", "is zero, which leaves no answer: set more, or leave it out")),
        _ => Ok(()),
    }
}

fn tools(request: &Request, provider: &str) -> Result<(), Invalid> {
    let mut names = HashSet::new();
    if let Some(tool) = request.tools().iter().find(|tool| tool.name().is_empty() || !names.insert(tool.name())) {
        let reason = match tool.name() {
            "" => "one has no name: give it one".to_owned(),
            name => format!("two are called `{name}`: rename one, or leave it out"),
        };
        return Err(Invalid::new("tools", reason));
    }
    if request.extras(provider).any(|(field, _)| field == "tools") {
        return Ok(());
    }
    match request.chosen_tools() {
        ToolChoice::Required if names.is_empty() => {
            Err(Invalid::new("tool_choice", "requires a tool, and there are none: add one with `tool`"))
        }
        ToolChoice::Named(name) if !names.contains(&**name) => {
            Err(Invalid::new("tool_choice", format!("names the tool `{name}`, and there is none: add it with `tool`")))
        }
        _ => Ok(()),
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
