//! The programs that hold the SDKs.
use serde_json::Value;
use std::{
    env,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const LIMIT: Duration = Duration::from_secs(120);

/// The SDKs of both providers in one language.
pub trait Sdk {
    fn name(&self) -> &'static str;
    fn command(&self, script: &str) -> Command;
    /// The class of an error, where the languages call it by different names.
    fn plain_error(&self) -> &'static str;
}

pub struct Python(pub String);

pub struct Node {
    pub modules: PathBuf,
}

impl Sdk for Python {
    fn name(&self) -> &'static str {
        "Python"
    }

    fn command(&self, script: &str) -> Command {
        let mut command = Command::new(&self.0);
        command.arg("-B").arg(folder().join(format!("{script}.py")));
        command
    }

    fn plain_error(&self) -> &'static str {
        "APIStatusError"
    }
}

impl Sdk for Node {
    fn name(&self) -> &'static str {
        "Node"
    }

    fn command(&self, script: &str) -> Command {
        let program = env::var("SEAWALL_NODE").unwrap_or_else(|_| "node".to_owned());
        let mut command = Command::new(program);
        command.arg(folder().join(format!("{script}.cjs"))).env("SEAWALL_NODE_MODULES", &self.modules);
        command
    }

    fn plain_error(&self) -> &'static str {
        "APIError"
    }
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdks")
}

/// Ends the program with the test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a program that reads `input` and prints lines of JSON. It may take two minutes.
pub fn lines(mut command: Command, input: &Value) -> Vec<Value> {
    for (name, _) in env::vars_os() {
        let upper = name.to_string_lossy().to_uppercase();
        // No key, address or proxy of whoever runs the test.
        if upper.starts_with("OPENAI_") || upper.starts_with("ANTHROPIC_") || upper.ends_with("_PROXY") {
            command.env_remove(&name);
        }
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let spawned = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut child = Killed(spawned);
    let mut stdin = child.0.stdin.take().unwrap();
    let input = input.to_string();
    // One that ends without reading says why on its other end.
    let writer = thread::spawn(move || stdin.write_all(input.as_bytes()));
    let stdout = reader(child.0.stdout.take().unwrap());
    let stderr = reader(child.0.stderr.take().unwrap());
    let start = Instant::now();
    let status = loop {
        match child.0.try_wait().unwrap() {
            Some(status) => break status,
            None if start.elapsed() > LIMIT => panic!("{command:?} takes more than {LIMIT:?}"),
            None => thread::sleep(Duration::from_millis(10)),
        }
    };
    let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
    assert!(status.success(), "{command:?}: {status}\n{stderr}");
    writer.join().unwrap().unwrap();
    stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

fn reader(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
