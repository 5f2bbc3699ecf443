//! Whether an answer is one, and this call's own.
use crate::{
    call::{Call, Protocol},
    script::TOOL,
    wire::Head,
};
use seawall::sse::{Frame, Parser};
use serde_json::Value;

/// How a call ended that was not left.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// With this id of the answer.
    Whole(String),
    Refused(u16),
    /// An error event behind content.
    Event,
}

type Judged = Result<End, String>;

pub fn judge(call: &Call, head: &Head, body: &[u8]) -> Judged {
    let text = std::str::from_utf8(body).map_err(|_| "no UTF-8".to_owned())?;
    let end = match (head.status, head.get("content-type").unwrap_or_default()) {
        (200, "text/event-stream; charset=utf-8") if call.is_stream => stream(call, text),
        (200, "application/json") if !call.is_stream => plain(call, text),
        (status @ 400..600, "application/json") => refused(call, status, head, text),
        (status, kind) => Err(format!("a {status} of {kind:?}")),
    };
    let end = if text.contains("sk-upstream") { Err("it tells our key".to_owned()) } else { end };
    end.map_err(|wrong| format!("{wrong}: {}", text.chars().take(3000).collect::<String>()))
}

fn read(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("no JSON ({error})"))
}

fn is_said(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

fn is_error(call: &Call, body: &Value) -> bool {
    let error = &body["error"];
    let envelope = call.protocol == Protocol::OpenAi || body["type"] == "error";
    envelope && is_said(&error["type"]) && is_said(&error["message"])
}

fn refused(call: &Call, status: u16, head: &Head, text: &str) -> Judged {
    let wait = head.get("retry-after");
    if wait.is_some_and(|wait| wait.parse::<u32>().is_err()) {
        return Err(format!("retry-after: {wait:?}"));
    }
    if is_error(call, &read(text)?) { Ok(End::Refused(status)) } else { Err("an error of no form".to_owned()) }
}

/// What an answer says.
#[derive(Default)]
struct Said {
    id: String,
    text: String,
    /// Names and arguments.
    calls: Vec<(String, String)>,
    finishes: usize,
}

impl Said {
    fn id(&mut self, id: &Value) -> Result<(), String> {
        match id.as_str() {
            Some(id) if self.id.is_empty() || self.id == id => self.id = id.to_owned(),
            id => return Err(format!("the id {id:?} behind {:?}", self.id)),
        }
        Ok(())
    }

    fn whole(self, call: &Call) -> Judged {
        let places = ["sea", "land"];
        let is_place = |(at, (name, arguments)): (usize, &(String, String))| {
            name == TOOL
                && read(arguments).is_ok_and(|it| Some(&it["at"]) == places.get(at).map(|it| Value::from(*it)).as_ref())
        };
        let is_well = match call.has_tools {
            true => self.text.is_empty() && self.calls.len() == 2 && self.calls.iter().enumerate().all(is_place),
            false => self.calls.is_empty() && self.text == call.echo,
        };
        let is_well = is_well && self.finishes == 1 && !self.id.is_empty();
        if is_well { Ok(End::Whole(self.id)) } else { Err("not the whole answer of this call".to_owned()) }
    }

    fn broken(&self, call: &Call) -> Judged {
        let is_well = match call.has_tools {
            true => self.text.is_empty() && self.calls.len() <= 2,
            false => self.calls.is_empty() && call.echo.starts_with(&self.text),
        };
        if is_well { Ok(End::Event) } else { Err("not the beginning of this call's answer".to_owned()) }
    }
}

fn plain(call: &Call, text: &str) -> Judged {
    let body = read(text)?;
    let mut said = Said::default();
    said.id(&body["id"])?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    match call.protocol {
        Protocol::OpenAi => {
            let choice = &body["choices"][0];
            said.text = choice["message"]["content"].as_str().unwrap_or_default().to_owned();
            let function = |it: &Value| (text_of(&it["function"]["name"]), text_of(&it["function"]["arguments"]));
            said.calls = list(&choice["message"]["tool_calls"]).iter().map(function).collect();
            said.finishes = usize::from(is_said(&choice["finish_reason"]) && list(&body["choices"]).len() == 1);
        }
        Protocol::Anthropic => {
            for block in list(&body["content"]) {
                match block["type"].as_str() {
                    Some("text") => said.text += block["text"].as_str().unwrap_or_default(),
                    _ => said.calls.push((text_of(&block["name"]), block["input"].to_string())),
                }
            }
            said.finishes = usize::from(is_said(&body["stop_reason"]));
        }
    }
    said.whole(call)
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The last event is the protocol's ending, or an error, and nothing stands behind it.
fn stream(call: &Call, text: &str) -> Judged {
    let (mut parser, mut said, mut end) = (Parser::new(1 << 20), Said::default(), None);
    let mut blocks = Blocks::default();
    parser.push(text.as_bytes());
    // No `finish`: an event without its empty line is half an event.
    while let Some(frame) = parser.next() {
        let Ok(Frame::Event { name, data }) = frame else { continue };
        if end.is_some() {
            return Err("an event behind the end".to_owned());
        }
        let data = String::from_utf8_lossy(data);
        if call.protocol == Protocol::OpenAi && data == "[DONE]" {
            end = Some(true);
            continue;
        }
        let event = read(&data)?;
        let is_failure = !event["error"].is_null();
        if is_failure {
            end = Some(false);
        }
        match call.protocol {
            _ if is_failure && !is_error(call, &event) => return Err("an error event of no form".to_owned()),
            Protocol::OpenAi if is_failure => {}
            Protocol::OpenAi => chunk(&event, &mut said)?,
            Protocol::Anthropic if name != event["type"].as_str() => return Err("an event of another name".to_owned()),
            Protocol::Anthropic => {
                blocks.take(&event, &mut said)?;
                if event["type"] == "message_stop" {
                    end = Some(true);
                }
            }
        }
    }
    if !text.ends_with("\n\n") {
        return Err("half an event".to_owned());
    }
    if blocks.open.is_some() {
        return Err("a block is left open".to_owned());
    }
    match end {
        None => Err("a stream without an end".to_owned()),
        Some(true) => said.whole(call),
        Some(false) => said.broken(call),
    }
}

fn chunk(event: &Value, said: &mut Said) -> Result<(), String> {
    said.id(&event["id"])?;
    let Some(choice) = event["choices"].get(0) else { return Ok(()) };
    if said.finishes > 0 {
        return Err("a choice behind its finish".to_owned());
    }
    let delta = &choice["delta"];
    said.text += delta["content"].as_str().unwrap_or_default();
    for piece in delta["tool_calls"].as_array().into_iter().flatten() {
        let index = piece["index"].as_u64().unwrap_or_default() as usize;
        if index >= said.calls.len() {
            said.calls.push((String::new(), String::new()));
        }
        let call = said.calls.get_mut(index).ok_or("a call is missing")?;
        call.0 += piece["function"]["name"].as_str().unwrap_or_default();
        call.1 += piece["function"]["arguments"].as_str().unwrap_or_default();
    }
    said.finishes += usize::from(is_said(&choice["finish_reason"]));
    Ok(())
}

/// Anthropic's blocks, which open and close one after the other.
#[derive(Default)]
struct Blocks {
    open: Option<u64>,
    next: u64,
    has_begun: bool,
}

impl Blocks {
    fn take(&mut self, event: &Value, said: &mut Said) -> Result<(), String> {
        let kind = event["type"].as_str().unwrap_or_default();
        let index = event["index"].as_u64();
        let in_order = match kind {
            "message_start" => !std::mem::replace(&mut self.has_begun, true),
            "ping" | "error" => true,
            "content_block_start" => {
                self.has_begun && self.open.is_none() && index == Some(self.next) && said.finishes == 0
            }
            "content_block_delta" | "content_block_stop" => index.is_some() && index == self.open,
            "message_delta" => self.open.is_none() && said.finishes == 0,
            "message_stop" => said.finishes == 1,
            _ => false,
        };
        if !in_order {
            return Err(format!("{kind} out of its order"));
        }
        match kind {
            "message_start" => said.id(&event["message"]["id"])?,
            "content_block_start" => {
                self.open = index;
                self.next += 1;
                if event["content_block"]["type"] == "tool_use" {
                    said.calls.push((text_of(&event["content_block"]["name"]), String::new()));
                }
            }
            "content_block_delta" => {
                said.text += event["delta"]["text"].as_str().unwrap_or_default();
                if let (Some(call), Some(more)) = (said.calls.last_mut(), event["delta"]["partial_json"].as_str()) {
                    call.1 += more;
                }
            }
            "content_block_stop" => self.open = None,
            "message_delta" => said.finishes += usize::from(is_said(&event["delta"]["stop_reason"])),
            _ => {}
        }
        Ok(())
    }
}
