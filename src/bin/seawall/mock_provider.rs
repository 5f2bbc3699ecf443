use seawall::sim::{MockProvider, Record, Script};
use std::{
    error::Error,
    fs,
    io::{self, Write},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{Receiver, channel, sync_channel},
    },
    thread,
    time::Duration,
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
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(script, args.port))
}

async fn serve(script: Script, port: u16) -> Result<(), Box<dyn Error>> {
    let (print, printer) = printer();
    let start = MockProvider::builder(script).port(port).on_record(print).start();
    let provider = start.await.map_err(|error| format!("port {port} of 127.0.0.1: {error}"))?;
    writeln!(io::stdout(), "{}", provider.base_url())?;
    tokio::signal::ctrl_c().await?;
    let log = provider.shutdown().await;
    // Who reads gets the last lines too; who does not read is not waited for.
    let _ = printer.done.recv_timeout(Duration::from_secs(1));
    let attempts = log.records.len() as u64 + log.dropped;
    let unread = match printer.unread.load(Relaxed) {
        0 => String::new(),
        lines => format!(", {lines} of them not printed, as nobody read"),
    };
    let _ = writeln!(io::stderr(), "{attempts} attempts{unread}");
    Ok(())
}

/// How many lines wait for a reader who is slow.
const MOST_LINES: usize = 8 * 1024;

struct Printer {
    unread: Arc<AtomicU64>,
    done: Receiver<()>,
}

/// Prints from a thread of its own: a pipe that nobody reads blocks its writer, and must not block the provider.
fn printer() -> (impl Fn(&Record), Printer) {
    let (lines, queue) = sync_channel(MOST_LINES);
    let (over, done) = channel();
    let unread = Arc::new(AtomicU64::new(0));
    thread::spawn(move || {
        print_all(&queue);
        over.send(())
    });
    let missed = Arc::clone(&unread);
    let print = move |record: &Record| {
        if serde_json::to_string(record).is_ok_and(|line| lines.try_send(line).is_err()) {
            missed.fetch_add(1, Relaxed);
        }
    };
    (print, Printer { unread, done })
}

fn print_all(queue: &Receiver<String>) {
    // Whoever read the lines may have left; the provider goes on without.
    let _ = queue.iter().try_for_each(|line| writeln!(io::stdout(), "{line}"));
}
