//! The `seawall` command.

mod explain;
mod mock_provider;

use clap::{Parser, Subcommand};
use std::{
    fmt::Display,
    io::{self, Write},
    process::ExitCode,
};

/// Keeps calls to LLM providers standing.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Says what a provider's answer is, and what the stack would do about it
    Explain(explain::Explain),
    /// Runs a provider that misbehaves as a script says
    MockProvider(mock_provider::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Explain(explain) => explain.run().map_err(Into::into),
        Command::MockProvider(args) => mock_provider::run(&args),
    };
    outcome.map_or_else(failed, |()| ExitCode::SUCCESS)
}

fn failed(error: impl Display) -> ExitCode {
    // Nobody may be left to read it, which is no reason to panic.
    let _ = writeln!(io::stderr(), "seawall: {error}");
    ExitCode::FAILURE
}
