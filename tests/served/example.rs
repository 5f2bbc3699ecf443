//! The example, as a process of its own.
use seawall::sim::MockProvider;
use std::{
    env,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

pub struct Route<'a> {
    pub name: &'static str,
    pub dialect: &'static str,
    pub provider: &'a MockProvider,
}

/// Ends with the test.
pub struct Example {
    pub child: Child,
    pub base: String,
}

impl Example {
    pub fn start(routes: &[Route<'_>], flags: &[&str]) -> Self {
        Self::spawn(Command::new(binary()), routes, flags)
    }

    /// By this command, which ends with the [`binary`].
    pub fn spawn(mut command: Command, routes: &[Route<'_>], flags: &[&str]) -> Self {
        command.args(["--listen", "127.0.0.1:0"]).args(flags).env("SEAWALL_TEST_KEY", "sk-upstream");
        for Route { name, dialect, provider } in routes {
            let base = match *dialect {
                "anthropic" => format!("http://{}", provider.address()),
                _ => provider.base_url(),
            };
            command
                .args(["--route", &format!("name={name},dialect={dialect},base-url={base},key-env=SEAWALL_TEST_KEY")]);
        }
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the example is built: see `binary`");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let base = line.trim().strip_prefix("listening on ").expect(&line).to_owned();
        Self { child, base }
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Cargo builds examples before it runs tests, and tells tests where they are by nothing but their own place.
pub fn binary() -> PathBuf {
    let own = env::current_exe().unwrap();
    own.parent().and_then(|deps| deps.parent()).unwrap().join("examples/axum_service")
}
