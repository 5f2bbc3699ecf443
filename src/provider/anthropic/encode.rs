//! A request as Anthropic's messages say it.
use super::blocks::{has_own, nothing, of_turn};
use crate::{
    Capabilities, Change, Invalid, Mend,
    chat::{Part, Request, ResponseFormat, Tool, ToolChoice},
    provider::{
        Fit,
        check::{at, check},
        ids::IdRule,
        joined::{self, Joined, json},
        turns::{Side, Turn, turns},
        wire::optional,
    },
};
use bytes::Bytes;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Value, value::RawValue};
use std::{borrow::Cow, sync::Arc};

const IDS: IdRule = IdRule::up_to(64);

/// The longest answer that is asked of a model which the table does not know: every Claude since 4.0 gives as much.
const CAP: u32 = 32_000;
/// And of models of others, which answer here too.
const CAP_ELSEWHERE: u32 = 8_192;

/// How a server wants a request. What was encoded is kept by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// Whose thoughts, blocks and `extra` fields are its own.
    pub(super) provider: Cow<'static, str>,
}

pub(super) fn body(request: &Request, form: &Arc<Form>, fit: &mut Fit) -> Result<Bytes, Invalid> {
    joined::body(request, form, &form.provider, fit, |request, fit| {
        let settings = Settings {
            request,
            provider: &form.provider,
            is_thoughtless: false,
            max_output: longest(request, fit.model()),
        };
        check(request, &form.provider, |field| settings.is_own(field))?;
        if matches!(request.format(), ResponseFormat::Json) {
            return Err(Invalid::new(
                "response_format",
                "asks for JSON without a schema: give one, `ResponseFormat::json_schema`",
            ));
        }
        let turns = turns(request, IDS, fit)?;
        settings.prefill(&turns, fit)?;
        let settings = Settings { is_thoughtless: is_thoughtless(&turns, &form.provider), ..settings };
        settings.tell(fit);
        let mut body = Joined::default();
        body.open(json(&settings)?);
        body.push(&b",\"messages\":["[..]);
        body.reserve(4 * turns.len());
        let mut turns = turns.iter().peekable();
        if !turns.peek().is_some_and(|turn| matches!(turn.side, Side::User { .. })) {
            fit.note(Change::Mended { message: 0, how: Mend::Opened });
            said(&mut body, USER, [nothing()?], turns.peek().is_none());
        }
        while let Some(turn) = turns.next() {
            let (role, is_last) =
                (if matches!(turn.side, Side::Assistant(_)) { ASSISTANT } else { USER }, turns.peek().is_none());
            said(&mut body, role, of_turn(turn, is_last, form, fit)?, is_last);
        }
        body.push(&b"]}"[..]);
        Ok(body.whole().into())
    })
}

/// The longest answer of the model, where it is known, as far as its window has room for it behind this prompt: Claude 4.1 and
/// older refuse a cap beyond that.
fn longest(request: &Request, model: &Capabilities) -> Option<u32> {
    let most = model.max_output()?;
    let left = |window: u64| {
        let prompt = request.estimate();
        // The estimate is good to some ten per cent for prose, and to less for code.
        u32::try_from(window.saturating_sub(prompt + prompt / 4)).unwrap_or(u32::MAX).max(LEAST)
    };
    Some(model.context_window().filter(|_| request.token_cap().is_none()).map_or(most, |window| most.min(left(window))))
}

/// Worth asking for all the same, where the prompt seems to leave nothing: it may be shorter than it looks.
const LEAST: u32 = 4_096;

const USER: &[u8] = br#"{"role":"user","content":["#;
const ASSISTANT: &[u8] = br#"{"role":"assistant","content":["#;

fn said(body: &mut Joined, role: &'static [u8], blocks: impl IntoIterator<Item = Bytes>, is_last: bool) {
    body.push(role);
    body.list(blocks);
    body.push(if is_last { &b"]}"[..] } else { b"]}," });
}

/// The widest temperature that it takes.
const WARMEST: f64 = 1.0;

/// All but the messages.
struct Settings<'a> {
    request: &'a Request,
    provider: &'a str,
    /// Whether `thinking` cannot be on, for what the history says.
    is_thoughtless: bool,
    /// The longest answer of the model, where it is known.
    max_output: Option<u32>,
}

impl Settings<'_> {
    /// Whether the field is written here, or would change the form of what comes back.
    fn is_own(&self, field: &str) -> bool {
        let (temperature, top_p) = self.request.sampling();
        match field {
            "model" | "messages" | "max_tokens" | "stream" => true,
            "tool_choice" => self.choice().is_some(),
            "temperature" => temperature.is_some(),
            "top_p" => top_p.is_some(),
            "stop_sequences" => self.stops().next().is_some(),
            "output_config" => !matches!(self.request.format(), ResponseFormat::Text),
            _ => false,
        }
    }

    fn system(&self) -> Option<&str> {
        self.request.system_text().filter(|text| !text.trim().is_empty() && !self.has_extra("system"))
    }

    /// Whether something stands in the place of what other providers are told: tools of Anthropic's own, say, or system text in
    /// blocks of which some are to be cached.
    fn has_extra(&self, field: &str) -> bool {
        self.request.extras(self.provider).any(|(name, _)| name == field)
    }

    /// Blank ones are refused.
    fn stops(&self) -> impl Iterator<Item = &str> {
        self.request.stops().iter().map(|stop| &**stop).filter(|stop| !stop.trim().is_empty())
    }

    /// Whether a field of `extra` would be refused for what the history says.
    fn is_refused(&self, field: &str, value: &Value) -> bool {
        self.is_thoughtless && field == "thinking" && value["type"] == "enabled"
    }

    /// Tells what of the request is not sent as it was asked.
    fn tell(&self, fit: &mut Fit) {
        let request = self.request;
        let seed = request.chosen_seed().map(|_| "seed");
        let stop = (self.stops().count() < request.stops().len()).then_some("stop");
        let thinking = request.extras(self.provider).any(|(field, value)| self.is_refused(field, value));
        for field in seed.into_iter().chain(stop).chain(thinking.then_some("thinking")) {
            fit.note(Change::LeftOut { field: field.into() });
        }
        if request.sampling().0.is_some_and(|temperature| temperature > WARMEST) {
            fit.note(Change::Bounded { field: "temperature".into() });
        }
    }

    /// Newer models do not go on with a turn of their own, but with one that was paused.
    fn prefill(&self, turns: &[Turn<'_>], fit: &Fit) -> Result<(), Invalid> {
        match turns.last() {
            Some(Turn { side: Side::Assistant(last), .. })
                if fit.model().refuses("prefill") && !has_own(last, self.provider) =>
            {
                let reason = "is the model's own, and this model does not go on with one: end with a user turn";
                Err(at(self.request.messages().len() - 1, reason))
            }
            _ => Ok(()),
        }
    }

    fn cap(&self) -> u32 {
        let usual = if self.request.model_name().contains("claude") { CAP } else { CAP_ELSEWHERE };
        self.request.token_cap().or(self.max_output).unwrap_or(usual)
    }

    /// A choice is refused where there is nothing to choose from, so that one which changes nothing then is not sent.
    fn choice(&self) -> Option<Choice<'_>> {
        let no_tools = self.request.tools().is_empty() && !self.has_extra("tools");
        let one = self.request.parallel_calls() == Some(false);
        match self.request.chosen_tools() {
            ToolChoice::Auto | ToolChoice::Never if no_tools => None,
            ToolChoice::Auto => one.then_some(Choice::Auto { disable_parallel_tool_use: one }),
            ToolChoice::Never => Some(Choice::None),
            ToolChoice::Required => Some(Choice::Any { disable_parallel_tool_use: one }),
            ToolChoice::Named(name) => Some(Choice::Tool { name, disable_parallel_tool_use: one }),
        }
    }
}

impl Serialize for Settings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { request, provider, .. } = *self;
        let (temperature, top_p) = request.sampling();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", request.model_name())?;
        map.serialize_entry("max_tokens", &self.cap())?;
        optional(&mut map, "system", self.system())?;
        if !request.tools().is_empty() && !self.has_extra("tools") {
            map.serialize_entry("tools", &Tools(request.tools()))?;
        }
        optional(&mut map, "tool_choice", self.choice())?;
        optional(&mut map, "temperature", temperature.map(|temperature| temperature.min(WARMEST)))?;
        optional(&mut map, "top_p", top_p)?;
        let stops: Vec<_> = self.stops().collect();
        optional(&mut map, "stop_sequences", Some(stops).filter(|stops| !stops.is_empty()))?;
        if let ResponseFormat::JsonSchema { schema, .. } = request.format() {
            map.serialize_entry("output_config", &Output { format: Format::JsonSchema { schema } })?;
        }
        if request.is_stream() {
            map.serialize_entry("stream", &true)?;
        }
        for (field, value) in request.extras(provider).filter(|(field, value)| !self.is_refused(field, value)) {
            map.serialize_entry(field, value)?;
        }
        map.end()
    }
}

/// Whether the calls that are being answered did not begin with thoughts of this provider's. With `thinking` on it answers
/// 400 then ("a final `assistant` message must start with a thinking block"), and with it off where they did. To it all that
/// the model says with nothing but results in between is one turn, and only its first call need have thoughts in front.
fn is_thoughtless(turns: &[Turn<'_>], provider: &str) -> bool {
    let mut began = None;
    for turn in turns.iter().rev() {
        match &turn.side {
            Side::Assistant(spoken) if began.is_none() && spoken.iter().all(|spoken| spoken.calls.is_empty()) => {
                return false;
            }
            Side::Assistant(spoken) => began = Some(spoken),
            Side::User { messages, .. } if began.is_some() && !messages.is_empty() => break,
            Side::User { .. } => {}
        }
    }
    let is_own = |part: &Part| matches!(part, Part::Reasoning(thoughts) if thoughts.native().dialect() == provider);
    began.is_some_and(|spoken| {
        let first = spoken.iter().find_map(|spoken| spoken.message.parts().first());
        !first.is_some_and(is_own)
    })
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Choice<'a> {
    None,
    Auto {
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        disable_parallel_tool_use: bool,
    },
    Any {
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        disable_parallel_tool_use: bool,
    },
    Tool {
        name: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        disable_parallel_tool_use: bool,
    },
}

struct Tools<'a>(&'a [Tool]);

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|tool| Described {
            name: tool.name(),
            description: Some(tool.description()).filter(|text| !text.is_empty()),
            input_schema: tool.schema(),
            strict: tool.is_strict(),
        }))
    }
}

#[derive(Serialize)]
struct Described<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    input_schema: &'a RawValue,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
}

#[derive(Serialize)]
struct Output<'a> {
    format: Format<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'a> {
    JsonSchema { schema: &'a RawValue },
}
