//! What the SDKs make of every reply.
use crate::{
    cases::{self, Case, PLAIN},
    child::{Sdk, lines},
};
use seawall::sim::MockProvider;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// What an SDK's own model finds wrong, and why that is no fault of ours. Each must occur.
pub const KNOWN: [(&str, &str, &str); 5] = [
    ("openai: thinking", THINKS, "the field of DeepSeek, vLLM and others, which OpenAI does not have"),
    ("openai: thinking, then calls", THINKS, "the same"),
    ("openai: thinking cut by length", THINKS, "the same"),
    ("anthropic: status 409", TYPE, "the SDK's list of types has `conflict_error`, its list of bodies not yet"),
    ("anthropic: status 413", TYPE, "Anthropic's page on errors has `request_too_large`, the SDK does not"),
];
const THINKS: &str = "reasoning_content";
const TYPE: &str = "error";

pub fn every_reply(runtime: &Runtime, sdk: &dyn Sdk) {
    tell(runtime, sdk, &cases::replies());
}

pub fn every_stream(runtime: &Runtime, sdk: &dyn Sdk) {
    tell(runtime, sdk, &cases::streams());
}

pub fn every_error(runtime: &Runtime, sdk: &dyn Sdk) {
    tell(runtime, sdk, &cases::errors());
}

fn tell(runtime: &Runtime, sdk: &dyn Sdk, cases: &[Case]) {
    let providers: Vec<_> =
        cases.iter().map(|case| runtime.block_on(MockProvider::start(case.script.clone())).unwrap()).collect();
    let asked = cases.iter().zip(&providers).map(|(case, provider)| case.asked(&provider.base_url())).collect();
    let told = lines(sdk.command("accept"), &asked);
    assert_eq!(told.len(), cases.len());
    let wrong: Vec<_> = cases.iter().zip(told).filter_map(|(case, told)| wrong(sdk, case, told)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn wrong(sdk: &dyn Sdk, case: &Case, mut told: Value) -> Option<String> {
    let name = &case.name;
    let mut expected = case.expected.clone();
    if expected["error"] == PLAIN {
        expected["error"] = sdk.plain_error().into();
    }
    let told = told.as_object_mut().unwrap();
    let problems = told.remove("problems");
    assert_eq!(told.remove("case"), Some(json!(name)));
    if json!(told) != expected {
        return Some(format!("{name}\n  told:     {}\n  expected: {expected}", json!(told)));
    }
    // Node checks nothing when it runs; its types are checked apart.
    let problems = problems?;
    let known = KNOWN.iter().find(|(of, ..)| of == name).map(|(_, word, _)| *word);
    let problems: Vec<_> = problems.as_array().unwrap().iter().filter_map(Value::as_str).map(str::to_owned).collect();
    (!is_known(&problems, known)).then(|| format!("{name}: {problems:?}, expected: {known:?}"))
}

/// Whether there is what is known, and nothing else.
pub fn is_known(problems: &[String], known: Option<&str>) -> bool {
    match known {
        None => problems.is_empty(),
        Some(word) => !problems.is_empty() && problems.iter().all(|problem| problem.contains(word)),
    }
}
