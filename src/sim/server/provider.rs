use super::connection;
use crate::{
    sim::{
        FaultKind, Log, Phase, Record, Script,
        core::{Core, Listener},
    },
    time,
};
use std::{
    collections::BTreeMap,
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::TcpListener,
    sync::oneshot,
    task::{JoinHandle, JoinSet},
};

/// A provider over real HTTP/1.1 on 127.0.0.1, and on no other address.
///
/// It serves 1,024 connections at a time (more wait to be accepted), and reads heads of 64 KiB and bodies of 8 MiB at
/// most. Dropped, it ends its tasks and connections. See the [module docs](crate::sim#example) for an example.
#[must_use = "dropped, the provider is shut down"]
pub struct MockProvider {
    core: Arc<Core>,
    address: SocketAddr,
    /// Dropped, it ends the task, which ends its connections first.
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

/// How a [`MockProvider`] is started, where the defaults do not do.
#[must_use = "nothing runs before `start`"]
pub struct Builder {
    script: Script,
    port: u16,
    listener: Option<Listener>,
}

const MOST_CONNECTIONS: usize = 1024;

impl MockProvider {
    /// Starts a provider on a free port, in the current runtime.
    ///
    /// # Errors
    /// `InvalidInput` if the script makes no sense, and whatever binding a port gives.
    pub async fn start(script: Script) -> io::Result<Self> {
        Self::builder(script).start().await
    }

    /// Starts one with a port of choice, or with a listener.
    pub fn builder(script: Script) -> Builder {
        Builder { script, port: 0, listener: None }
    }

    /// What a client takes for `https://api.openai.com/v1`: `http://127.0.0.1:PORT/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The address it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it saw so far.
    #[must_use]
    pub fn log(&self) -> Log {
        self.core.log()
    }

    /// How often each fault was given at each phase.
    #[must_use]
    pub fn hits(&self) -> BTreeMap<(FaultKind, Phase), u64> {
        self.core.hits()
    }

    /// How many requests it has seen.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.core.seen()
    }

    /// How many requests are under way.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.core.in_flight()
    }

    /// Waits until no request is under way: a client may have an answer a moment before the log knows.
    ///
    /// # Cancel safety
    /// Safe: it only looks.
    pub async fn settled(&self) {
        self.core.settled().await;
    }

    /// Ends every connection, and waits until nothing is left. Returns the whole log.
    pub async fn shutdown(mut self) -> Log {
        self.stop = None;
        // A task that panicked has nothing left either.
        let _ = (&mut self.task).await;
        self.core.log()
    }
}

impl Builder {
    /// Listens on this port. By default on any that is free.
    pub fn port(self, port: u16) -> Self {
        Self { port, ..self }
    }

    /// Tells each attempt as it ends. Called in the task of its connection, so keep it short.
    pub fn on_record(self, listener: impl Fn(&Record) + Send + Sync + 'static) -> Self {
        Self { listener: Some(Box::new(listener)), ..self }
    }

    /// Starts the provider, in the current runtime.
    ///
    /// # Errors
    /// `InvalidInput` if the script makes no sense, and whatever binding the port gives.
    pub async fn start(self) -> io::Result<MockProvider> {
        let invalid = |invalid| io::Error::new(io::ErrorKind::InvalidInput, invalid);
        let core = Core::new(self.script, self.listener).map_err(invalid)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(accept(listener, Arc::clone(&core), stopped));
        Ok(MockProvider { core, address, stop: Some(stop), task })
    }
}

async fn accept(listener: TcpListener, core: Arc<Core>, mut stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            _ = &mut stopped => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < MOST_CONNECTIONS => match accepted {
                Ok((stream, _)) => _ = connections.spawn(connection::serve(stream, Arc::clone(&core))),
                // Out of descriptors, most likely: those in use have to end first.
                Err(_) => time::sleep(Duration::from_millis(10)).await,
            },
        }
    }
    connections.shutdown().await;
}

impl fmt::Debug for MockProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockProvider").field("address", &self.address).field("core", &self.core).finish_non_exhaustive()
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("script", &self.script).field("port", &self.port).finish_non_exhaustive()
    }
}
