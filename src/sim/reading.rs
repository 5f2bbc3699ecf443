//! Scripts as TOML.
use super::{
    Answer, BadEvent, Fault, Framing, Garble, Limits, Phase, Script, Spread, Stream, When, answer::Call, fault::Deed,
    spread::optional_wait,
};
use crate::Invalid;
use serde::Deserialize;
use std::{collections::BTreeMap, time::Duration};

impl Script {
    /// Reads a script in TOML.
    ///
    /// ```
    /// use seawall::sim::Script;
    ///
    /// let script = Script::parse(r#"
    ///     seed = 7
    ///     keep-bodies = 1_000_000           # in the log; none by default
    ///     answer.delay = "20ms..80ms"       # also: framing, text, echo, reasoning, refusal, filtered, cached, cache-written
    ///     answer.stream.per-token = "30ms"  # also: first-token, keep-alive, chunks, line-ends, usage, terminator
    ///     limits.requests-per-minute = 600
    ///
    ///     [[answer.tool-call]]              # in place of text, until there is a result
    ///     name = "add"
    ///     arguments = '{"a": 4, "b": 2}'
    ///
    ///     [[outage]]
    ///     from = "2s"
    ///     to = "3s"
    ///     status = 503
    ///
    ///     [[fault]]
    ///     chance = 0.05                     # also: nth, first, every, from, to, path, model, prompt-over, prefilled
    ///     status = 429                      # also: body, framing, answer
    ///     headers = { retry-after = "1" }
    ///
    ///     [[fault]]
    ///     every = 10
    ///     reset = "in-head"                 # also: delay, silence, cut, truncate, garble, huge-body, huge-header
    ///
    ///     [[fault]]
    ///     every = 7
    ///     event = "error"                   # in a stream; also: "not-json", "not-utf8", { huge = 1_000_000 }
    ///     at = { after-tokens = 20 }        # also for a delay; `cut = { after-tokens = 20 }`
    /// "#)?;
    /// # Ok::<(), seawall::Invalid>(())
    /// ```
    ///
    /// # Errors
    /// If it is no TOML, has a field or a value that no script has, or makes no sense: see [`check`](Self::check). The
    /// message names the line where one is to blame.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let read: Whole = toml::from_str(text).map_err(|error| located(text, &error))?;
        let script = Self {
            seed: read.seed,
            faults: read.fault.into_iter().map(|rule| (rule.when, rule.fault)).collect(),
            outages: read.outage.into_iter().map(|Outage(during, fault)| (during, fault)).collect(),
            limits: read.limits,
            answer: read.answer.into(),
            kept_bodies: read.keep_bodies,
        };
        script.check()?;
        Ok(script)
    }
}

fn located(text: &str, error: &toml::de::Error) -> Invalid {
    let message = error.message();
    let before = error.span().and_then(|span| text.get(..span.start));
    let reason = match before {
        None => message.to_owned(),
        Some(before) => {
            let number = before.matches('\n').count();
            let line: String = text.lines().nth(number).unwrap_or_default().trim().chars().take(80).collect();
            format!("line {} ({line}): {message}", number + 1)
        }
    };
    Invalid::new("script", reason)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
#[derive(Default)]
struct Whole {
    seed: u64,
    fault: Vec<Rule>,
    outage: Vec<Outage>,
    limits: Limits,
    answer: How,
    keep_bodies: usize,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct How {
    delay: Spread,
    framing: Framing,
    text: Option<String>,
    echo: bool,
    reasoning: Option<String>,
    refusal: Option<String>,
    tool_call: Vec<Called>,
    cached: u32,
    cache_written: u32,
    filtered: bool,
    stream: Stream,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Called {
    name: String,
    arguments: String,
}

impl From<How> for Answer {
    fn from(how: How) -> Self {
        let How { delay, framing, text, echo, reasoning, refusal, tool_call, cached, cache_written, filtered, stream } =
            how;
        let call = |Called { name, arguments }| Call { name, arguments };
        let tool_calls = tool_call.into_iter().map(call).collect();
        Self { delay, framing, text, echo, reasoning, refusal, tool_calls, cached, cache_written, filtered, stream }
    }
}

#[derive(Deserialize)]
#[serde(try_from = "Table")]
struct Rule {
    when: When,
    fault: Fault,
}

#[derive(Deserialize)]
#[serde(try_from = "Rule")]
struct Outage(std::ops::Range<Duration>, Fault);

/// A `[[fault]]` or an `[[outage]]` as it is written. Flat, because serde's `flatten` would lose lines and typos.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Table {
    nth: Option<u64>,
    first: Option<u64>,
    every: Option<u64>,
    chance: Option<f64>,
    #[serde(deserialize_with = "optional_wait")]
    from: Option<Duration>,
    #[serde(deserialize_with = "optional_wait")]
    to: Option<Duration>,
    path: Option<String>,
    model: Option<String>,
    prompt_over: Option<u32>,
    prefilled: bool,

    status: Option<u16>,
    headers: BTreeMap<String, String>,
    body: Option<String>,
    framing: Option<Framing>,
    answer: Option<How>,

    delay: Option<Spread>,
    at: Option<Phase>,
    silence: Option<Phase>,
    #[serde(deserialize_with = "optional_wait")]
    lasting: Option<Duration>,
    cut: Option<Phase>,
    reset: Option<Phase>,
    garble: Option<Garble>,
    huge_body: Option<u64>,
    huge_header: Option<u32>,
    truncate: Option<Phase>,
    event: Option<BadEvent>,
}

impl Table {
    fn deed(&self) -> Result<Deed, Invalid> {
        let deeds = [
            self.delay.map(|wait| Deed::Delay(self.at.unwrap_or(Phase::BeforeHead), wait)),
            self.silence.map(|phase| Deed::Silence(phase, self.lasting)),
            self.cut.map(Deed::Cut),
            self.reset.map(Deed::Reset),
            self.garble.map(Deed::Garble),
            self.huge_body.map(Deed::HugeBody),
            self.huge_header.map(Deed::HugeHeader),
            self.truncate.map(Deed::Truncate),
            self.event.map(|event| Deed::Event(self.at.unwrap_or(Phase::BeforeBody), event)),
        ];
        let mut deeds = deeds.into_iter().flatten();
        let says = self.status.is_some() || self.body.is_some() || self.answer.is_some() || !self.headers.is_empty();
        match (deeds.next(), deeds.next()) {
            (Some(_), Some(_)) => {
                let reason = "one of delay, silence, cut, reset, truncate, event, garble, huge-body, huge-header; write a second fault";
                Err(Invalid::new("fault", reason))
            }
            (Some(deed), None) => Ok(deed),
            (None, _) if says => Ok(Deed::Answer),
            (None, _) => {
                Err(Invalid::new("fault", "says nothing and does nothing; give it a status, a reset, a delay …"))
            }
        }
    }
}

impl TryFrom<Table> for Rule {
    type Error = Invalid;

    fn try_from(table: Table) -> Result<Self, Invalid> {
        if table.at.is_some() && table.delay.is_none() && table.event.is_none() {
            return Err(Invalid::new(
                "at",
                "is the phase of a `delay` or an `event`; the others name theirs: `reset = \"in-body\"`",
            ));
        }
        if table.lasting.is_some() && table.silence.is_none() {
            return Err(Invalid::new("lasting", "is for a `silence`"));
        }
        let deed = table.deed()?;
        let Table { nth, first, every, chance, from, to, path, model, prompt_over, prefilled, .. } = table;
        let Table { status, headers, body, framing, answer, .. } = table;
        let when = When { nth, first, every, chance, from, to, path, model, prompt_over, prefilled };
        let answer = answer.map(|how| Box::new(how.into()));
        let fault = Fault { status, headers: headers.into_iter().collect(), body, framing, answer, deed };
        when.check()?;
        fault.check()?;
        Ok(Self { when, fault })
    }
}

impl TryFrom<Rule> for Outage {
    type Error = Invalid;

    fn try_from(Rule { when, fault }: Rule) -> Result<Self, Invalid> {
        let (Some(from), Some(to)) = (when.from, when.to) else {
            return Err(Invalid::new("outage", "needs `from` and `to`"));
        };
        if (When { from: None, to: None, ..when }) != When::always() {
            return Err(Invalid::new(
                "outage",
                "takes every request from `from` to `to`; for some of them write a fault",
            ));
        }
        Ok(Self(from..to, fault))
    }
}
