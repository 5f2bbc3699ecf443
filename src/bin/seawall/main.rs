//! The `seawall` command.

mod mock_provider;

use clap::{Parser, Subcommand};
use std::{fmt::Display, process::ExitCode};

/// Keeps calls to LLM providers standing.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs a provider that misbehaves as a script says
    MockProvider(mock_provider::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::MockProvider(args) => mock_provider::run(&args),
    };
    outcome.map_or_else(failed, |()| ExitCode::SUCCESS)
}

fn failed(error: impl Display) -> ExitCode {
    eprintln!("seawall: {error}");
    ExitCode::FAILURE
}
