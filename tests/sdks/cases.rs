//! All that the mock provider says, and what an SDK should make of it.
use seawall::sim::{Answer, BadEvent, Fault, Limits, Phase, Script, Stream, When};
use serde_json::{Value, json};
use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Api {
    OpenAi,
    Anthropic,
}

impl Api {
    pub const BOTH: [Self; 2] = [Self::OpenAi, Self::Anthropic];

    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }
}

/// A request, and the script that it meets.
pub struct Case {
    pub name: String,
    pub api: Api,
    pub script: Script,
    pub max_tokens: Option<u32>,
    pub stop: &'static [&'static str],
    pub requests: u32,
    pub stream: bool,
    /// In place of a chat.
    pub path: Option<&'static str>,
    pub model: Value,
    pub expected: Value,
}

impl Case {
    fn new(api: Api, name: &str, script: Script, expected: Value) -> Self {
        let name = format!("{}: {name}", api.name());
        let model = json!(if api == Api::OpenAi { "gpt-4o" } else { "claude-sonnet-4-5" });
        Self { name, api, script, max_tokens: None, stop: &[], requests: 1, stream: false, path: None, model, expected }
    }

    pub fn asked(&self, base_url: &str) -> Value {
        json!({
            "name": self.name, "api": self.api.name(), "base_url": base_url, "model": self.model,
            "max_tokens": self.max_tokens, "stop": self.stop, "requests": self.requests, "path": self.path,
            "stream": self.stream,
        })
    }
}

const THOUGHT: &str = "I should add.";

/// Every kind of answer.
pub fn replies() -> Vec<Case> {
    Api::BOTH.into_iter().flat_map(replies_of).collect()
}

fn replies_of(api: Api) -> Vec<Case> {
    let finish = |openai: &'static str, anthropic: &'static str| if api == Api::OpenAi { openai } else { anthropic };
    let answer = || Answer::default().text("Six.");
    let one = || answer().tool_call("add", r#"{"b":4,"a":[2.5,"é"]}"#);
    let two = || one().tool_call("now", "{}");
    let (add, now) = (json!(["add", r#"{"b":4,"a":[2.5,"é"]}"#]), json!(["now", "{}"]));
    let seen = |finish: &str, changed: Value| {
        let mut seen =
            json!({"finish": finish, "text": null, "refusal": null, "reasoning": null, "calls": [], "tokens": [0, 0]});
        seen.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        json!({"seen": seen})
    };
    let case = |name, answer: Answer, expected| Case::new(api, name, Script::seeded(7).answer(answer), expected);
    let (stop, calls, length) =
        (finish("stop", "end_turn"), finish("tool_calls", "tool_use"), finish("length", "max_tokens"));
    // A cut before any text: an empty one at OpenAI, no block at Anthropic.
    let nothing = if api == Api::OpenAi { json!("") } else { Value::Null };
    vec![
        case("text", answer(), seen(stop, json!({"text": "Six."}))),
        case(
            "text of its own",
            Answer::default(),
            seen(stop, json!({"text": "This is answer 1 of the mock provider."})),
        ),
        Case {
            max_tokens: Some(1),
            ..case("text cut by length", answer().text("Sixteen."), seen(length, json!({"text": "Sixt"})))
        },
        Case {
            stop: &["x", "."],
            ..case("text ended by a stop text", answer(), seen(finish("stop", "stop_sequence"), json!({"text": "Si"})))
        },
        case("one call", one(), seen(calls, json!({"calls": [add]}))),
        case("parallel calls", two(), seen(calls, json!({"calls": [add, now]}))),
        Case { max_tokens: Some(8), ..case("calls cut by length", two(), seen(length, json!({"calls": [add]}))) },
        Case { max_tokens: Some(1), ..case("no call before the cut", two(), seen(length, json!({}))) },
        case(
            "thinking",
            answer().reasoning(THOUGHT),
            seen(stop, json!({"text": "Six.", "reasoning": THOUGHT, "tokens": [0, 4]})),
        ),
        case(
            "thinking, then calls",
            two().reasoning(THOUGHT),
            seen(calls, json!({"calls": [add, now], "reasoning": THOUGHT, "tokens": [0, 4]})),
        ),
        Case {
            max_tokens: Some(2),
            ..case(
                "thinking cut by length",
                answer().reasoning(THOUGHT),
                seen(length, json!({"text": nothing, "reasoning": "I should", "tokens": [0, 2]})),
            )
        },
        case(
            "refusal",
            Answer::default().refusal("I will not."),
            seen(finish("stop", "refusal"), json!({"refusal": "I will not."})),
        ),
        case("cache", answer().cached(10).cache_written(5), seen(stop, json!({"text": "Six.", "tokens": [10, 0]}))),
    ]
}

/// The same piece by piece, in more shapes than one, and errors that come in it.
pub fn streams() -> Vec<Case> {
    let stream = |case: Case| Case { stream: true, ..case };
    Api::BOTH.into_iter().flat_map(replies_of).chain(Api::BOTH.into_iter().flat_map(in_streams)).map(stream).collect()
}

fn in_streams(api: Api) -> Vec<Case> {
    let (stop, mut others) = (if api == Api::OpenAi { "stop" } else { "end_turn" }, Vec::new());
    let seen = json!({"seen": {
        "finish": stop, "text": "Six is even.", "refusal": null, "reasoning": null, "calls": [], "tokens": [0, 0],
    }});
    let mut shape = |name, stream: Stream| {
        let script = Script::seeded(7).answer(Answer::default().text("Six is even.").stream(stream));
        others.push(Case::new(api, name, script, seen.clone()));
    };
    let ms = Duration::from_millis;
    shape("chunks of three bytes", Stream::default().chunks(NonZeroUsize::MIN.saturating_add(2)));
    shape("signs of life", Stream::default().per_token(ms(20)).keep_alive(ms(5)));
    for (status, openai, anthropic) in
        [(500, "server_error", "api_error"), (529, "overloaded_error", "overloaded_error")]
    {
        let kind = if api == Api::OpenAi { openai } else { anthropic };
        for at in [Phase::BeforeBody, Phase::AfterTokens(2)] {
            let fault = Fault::event(at, BadEvent::Error).with_status(status);
            let script = Script::seeded(7).fault(When::always(), fault);
            others.push(Case::new(api, &format!("error {status} {at:?}"), script, json!({"stream_error": kind})));
        }
    }
    others
}

/// Status; type and code at OpenAI; type at Anthropic; class there, where it is not that of both.
const ERRORS: [(u16, &str, Option<&str>, &str, &str, Option<&str>); 14] = [
    (400, "invalid_request_error", None, "invalid_request_error", "BadRequestError", None),
    (401, "invalid_request_error", Some("invalid_api_key"), "authentication_error", "AuthenticationError", None),
    (403, "invalid_request_error", None, "permission_error", "PermissionDeniedError", None),
    (404, "invalid_request_error", Some("model_not_found"), "not_found_error", "NotFoundError", None),
    (409, "conflict_error", None, "conflict_error", "ConflictError", None),
    (413, "invalid_request_error", None, "request_too_large", PLAIN, Some("ContentTooLargeError")),
    (422, "invalid_request_error", None, "invalid_request_error", "UnprocessableEntityError", None),
    (429, "requests", Some("rate_limit_exceeded"), "rate_limit_error", "RateLimitError", None),
    (451, "invalid_request_error", None, "invalid_request_error", PLAIN, None),
    (500, "server_error", None, "api_error", "InternalServerError", None),
    (502, "server_error", None, "api_error", "InternalServerError", None),
    (503, "server_error", None, "api_error", "InternalServerError", Some("ServiceUnavailableError")),
    (504, "server_error", None, "timeout_error", "InternalServerError", Some("GatewayTimeoutError")),
    (529, "overloaded_error", None, "overloaded_error", "InternalServerError", Some("OverloadedError")),
];

/// Where an SDK has no class for a status.
pub const PLAIN: &str = "(the SDK's class for any other status)";

/// Every kind of error.
pub fn errors() -> Vec<Case> {
    Api::BOTH.into_iter().flat_map(errors_of).collect()
}

fn errors_of(api: Api) -> Vec<Case> {
    let error = |class: &str, status: u16, kind: &str, code: Option<&str>, retry_after: Option<&str>, number: u32| {
        json!({
            "error": class, "status": status, "type": kind, "code": code.filter(|_| api == Api::OpenAi),
            "request_id": format!("req_mock_{number}"), "retry_after": retry_after,
        })
    };
    let of_status = |(status, openai, code, anthropic, class, class_there): (u16, _, _, _, _, Option<_>)| {
        let (kind, class) = match api {
            Api::OpenAi => (openai, class),
            Api::Anthropic => (anthropic, class_there.unwrap_or(class)),
        };
        let script = Script::seeded(7).fault(When::always(), Fault::status(status));
        Case::new(api, &format!("status {status}"), script, error(class, status, kind, code, None, 1))
    };
    let limited = |kind, retry_after, number| {
        let kind = if api == Api::OpenAi { kind } else { "rate_limit_error" };
        error("RateLimitError", 429, kind, Some("rate_limit_exceeded"), retry_after, number)
    };
    let limits = |limits| Script::seeded(7).limits(limits);
    let one = NonZeroU32::MIN;
    let invalid = error("BadRequestError", 400, "invalid_request_error", None, None, 1);
    // What is no chat is answered in OpenAI's form.
    let unknown = error("NotFoundError", 404, "invalid_request_error", Some("unknown_url"), None, 1);
    let mut cases: Vec<_> = ERRORS.into_iter().map(of_status).collect();
    cases.push(Case {
        requests: 2,
        ..Case::new(
            api,
            "limit of requests",
            limits(Limits::default().requests_per_minute(one)),
            limited("requests", Some("60"), 2),
        )
    });
    let tokens = Limits::default().tokens_per_minute(one);
    cases.push(Case::new(api, "larger than the limit of tokens", limits(tokens), limited("tokens", None, 1)));
    cases.push(Case { model: json!(5), ..Case::new(api, "no request", Script::seeded(7), invalid) });
    if api == Api::OpenAi {
        cases.push(Case { path: Some("/models"), ..Case::new(api, "unknown path", Script::seeded(7), unknown) });
    }
    cases
}
