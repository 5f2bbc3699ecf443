//! The official SDKs of both providers against the mock one: they accept what it says, and their encoders mean what ours do.
//!
//! The SDKs are told of by `SEAWALL_PYTHON` (an interpreter that has them) and `SEAWALL_NODE_MODULES` (a folder that holds
//! them; `SEAWALL_NODE` is the program, by default `node`). What is not at hand is said and passed over, unless
//! `SEAWALL_SDKS_REQUIRED=1`. CONTRIBUTING.md says how to get them.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, unreachable_pub)]

mod accept;
mod cases;
mod child;
mod converse;
mod differences;
mod schema;

use child::{Node, Python, Sdk};
use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
};
use tokio::runtime::{Builder, Runtime};

fn main() -> ExitCode {
    // The servers live on the worker; this thread waits for the SDKs.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let python = variable("SEAWALL_PYTHON").map(Python);
    let node = variable("SEAWALL_NODE_MODULES").map(|modules| Node { modules: std::path::absolute(modules).unwrap() });
    let mut well = true;
    match &python {
        Some(python) => well &= run(&runtime, python),
        None => missing("Python", "SEAWALL_PYTHON"),
    }
    match &node {
        Some(node) => {
            well &= run(&runtime, node);
            well &= check("the types of Node's SDKs fit every reply", || schema::fits_the_types(&runtime, node));
        }
        None => missing("Node", "SEAWALL_NODE_MODULES"),
    }
    let required = variable("SEAWALL_SDKS_REQUIRED").is_some_and(|value| value == "1");
    if required && (python.is_none() || node.is_none()) {
        eprintln!("sdks: FAILED: SEAWALL_SDKS_REQUIRED=1, and not all SDKs are at hand");
        well = false;
    }
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(runtime: &Runtime, sdk: &dyn Sdk) -> bool {
    let name = sdk.name();
    let replies = check(&format!("{name} accepts every reply"), || accept::every_reply(runtime, sdk));
    let streams = check(&format!("{name} accepts every stream"), || accept::every_stream(runtime, sdk));
    let errors = check(&format!("{name} knows every error"), || accept::every_error(runtime, sdk));
    let same =
        |talk| check(&format!("{name} and we mean the same: {talk:?}"), || converse::same_meaning(runtime, sdk, talk));
    converse::TALKS.map(same).into_iter().all(|same| same) && replies && streams && errors
}

/// Goes on behind one that fails, so that one run tells all.
fn check(name: &str, body: impl FnOnce()) -> bool {
    let well = catch_unwind(AssertUnwindSafe(body)).is_ok();
    println!("sdks: {name}: {}", if well { "ok" } else { "FAILED" });
    well
}

fn missing(language: &str, name: &str) {
    println!(
        "sdks: NOT RUN: the {language} SDKs are not at hand ({name} is not set); `.ci/run` gets them, see CONTRIBUTING.md"
    );
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
