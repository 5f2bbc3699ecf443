use seawall::sim::{MockProvider, Record, Script};
use std::{
    error::Error,
    fs,
    io::{self, Write},
    path::PathBuf,
};

/// Prints the base URL on the first line, then each attempt, as it ends, as one line of JSON. Ctrl-C ends it.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What the provider does: see examples/scripts
    script: PathBuf,
    /// Listens on this port of 127.0.0.1; any that is free by default
    #[arg(long, default_value_t = 0)]
    port: u16,
}

pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let name = args.script.display();
    let text = fs::read_to_string(&args.script).map_err(|error| format!("{name}: {error}"))?;
    let script = Script::parse(&text).map_err(|error| format!("{name}: {error}"))?;
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(script, args.port))?;
    Ok(())
}

async fn serve(script: Script, port: u16) -> io::Result<()> {
    let provider = MockProvider::builder(script).port(port).on_record(print).start().await?;
    writeln!(io::stdout(), "{}", provider.base_url())?;
    tokio::signal::ctrl_c().await?;
    let log = provider.shutdown().await;
    let _ = writeln!(io::stderr(), "{} attempts", log.records.len() as u64 + log.dropped);
    Ok(())
}

fn print(record: &Record) {
    // Whoever read the lines may have left; the provider goes on without.
    if let Ok(line) = serde_json::to_string(record) {
        let _ = writeln!(io::stdout(), "{line}");
    }
}
