//! The same days through the Axum example: a caller that asks by HTTP, in either protocol, over routes of either dialect. What it reads
//! is judged by our own client, which takes nothing for an ending that is none.
use crate::{Ask, Days, HTTP, seconds};
use seawall::{
    provider::{Anthropic, OpenAi},
    recovery::Recovery,
    sim::MockProvider,
    stack::Boxed,
};
use std::{
    env,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// Ends with its day.
pub struct Example {
    child: Child,
    base: String,
}

impl Example {
    /// With the settings of the stack in this process.
    pub fn start(days: Days, primary: &MockProvider, fallback: &MockProvider, recovery: Recovery) -> Self {
        let text = |time: Duration| time.as_secs_f64().to_string();
        let pair = |a: f64, b: f64| format!("{},{}", text(seconds(a)), text(seconds(b)));
        let route = |name: &str, provider: &MockProvider, more: &str| {
            let (dialect, base) = match days.routes {
                "anthropic" => ("anthropic", format!("http://{}", provider.address())),
                _ => ("openai", provider.base_url()),
            };
            format!("name={name},dialect={dialect},base-url={base}{more}")
        };
        let recovery = if recovery == Recovery::BufferThenRestart { "restart" } else { "fail" };
        let flags = [
            ("--listen", "127.0.0.1:0".to_owned()),
            ("--route", route("primary", primary, "")),
            ("--route", route("fallback", fallback, ",model=larger,larger=yes")),
            ("--on", "429,overloaded,server,timeout,transport".to_owned()),
            ("--wait-at-most", text(seconds(3.0))),
            ("--retries", "2".to_owned()),
            ("--backoff", pair(0.5, 8.0)),
            ("--whole", text(seconds(30.0))),
            ("--idle", text(seconds(30.0))),
            ("--first-token", text(seconds(10.0))),
            ("--circuit", "10".to_owned()),
            ("--open-for", pair(5.0, 10.0)),
            ("--recovery", recovery.to_owned()),
        ];
        let mut command = Command::new(binary());
        for (flag, value) in flags {
            command.args([flag, &value]);
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let base = line.trim().strip_prefix("listening on ").expect("the example says where it listens").to_owned();
        Self { child, base }
    }

    /// A caller of it, who asks once.
    pub fn ask(&self, days: Days) -> Ask {
        let client = match days.callers {
            "anthropic" => Boxed::new(Anthropic::new("a caller's own").base_url(self.base.as_str()).over(HTTP.clone())),
            _ => Boxed::new(OpenAi::new("a caller's own").base_url(format!("{}/v1", self.base)).over(HTTP.clone())),
        };
        Box::new(move |request| Box::pin(client.ask(request)))
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Cargo builds examples before it runs tests, all of them, and tells tests where they are by nothing but their own place.
fn binary() -> PathBuf {
    let own = env::current_exe().unwrap();
    own.parent().and_then(|deps| deps.parent()).unwrap().join("examples/axum_service")
}

pub fn is_built() -> bool {
    binary().exists()
}
