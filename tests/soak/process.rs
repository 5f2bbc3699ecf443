//! What a process holds, as Linux tells it.
use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    time::Duration,
};
use tokio::time::{Instant, sleep};

#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    pub rss_kib: usize,
    pub threads: usize,
    pub descriptors: usize,
    /// Those of its descriptors that are connections of callers.
    pub callers: usize,
}

pub fn is_told() -> bool {
    Path::new("/proc/self/net/tcp").exists()
}

/// `None` where it is gone.
pub fn held(process: u32, port: u16) -> Option<Held> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let status = fs::read_to_string(folder.join("status")).ok()?;
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let links = fs::read_dir(folder.join("fd")).ok()?.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let open: HashSet<_> = links.map(|link| link.to_string_lossy().into_owned()).collect();
    // sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode
    let table = fs::read_to_string(folder.join("net/tcp")).ok()?;
    let (own, listening) = (format!(":{port:04X}"), "0A");
    let is_callers = |line: &&str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let is_own = fields.get(1).is_some_and(|local| local.ends_with(&own)) && fields.get(3) != Some(&listening);
        is_own && fields.get(9).is_some_and(|inode| open.contains(&format!("socket:[{inode}]")))
    };
    Some(Held {
        rss_kib: number("VmRSS:")?,
        threads: number("Threads:")?,
        descriptors: open.len(),
        callers: table.lines().filter(is_callers).count(),
    })
}

/// By the shell's own `kill`, which is everywhere.
pub fn terminate(process: u32) {
    let told = Command::new("sh").args(["-c", &format!("kill -TERM {process}")]).status();
    assert!(told.is_ok_and(|status| status.success()), "SIGTERM is sent");
}

/// How it ended, if it did within the time.
pub async fn exit(child: &mut Child, within: Duration) -> Option<(ExitStatus, Duration)> {
    let start = Instant::now();
    while start.elapsed() < within {
        if let Ok(Some(status)) = child.try_wait() {
            return Some((status, start.elapsed()));
        }
        sleep(Duration::from_millis(20)).await;
    }
    None
}
