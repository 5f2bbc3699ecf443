//! OpenAI's and Anthropic's own SDKs, or any other client of theirs, over one stack: point their base URL here.
//!
//! ```sh
//! OPENAI_API_KEY=… ANTHROPIC_API_KEY=… cargo run --example axum_service --features axum,cli -- \
//!     --route name=openai,dialect=openai,key-env=OPENAI_API_KEY \
//!     --route name=anthropic,dialect=anthropic,key-env=ANTHROPIC_API_KEY,model=claude-sonnet-4-5 --on 429,overloaded
//! curl http://127.0.0.1:8080/v1/chat/completions -d '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Hello"}]}'
//! ```
//!
//! The keys of the providers are the service's own: what a client sends as its key goes nowhere. Put a check of it in front, as any
//! middleware. `--help` lists what can be set. With the feature `prometheus` there is a page at `/metrics`, for a route that strangers
//! cannot reach; with `otlp`, `--otlp http://127.0.0.1:4318` sends spans to a collector.
mod settings;

#[cfg(feature = "prometheus")]
use axum::http::header::CONTENT_TYPE;
use axum::{Router, routing::get};
use clap::Parser;
#[cfg(feature = "otlp")]
use seawall::adapters::otlp;
#[cfg(feature = "prometheus")]
use seawall::adapters::prometheus::{self, Page};
use seawall::{
    Stack,
    adapters::axum::serve,
    chat::Chat,
    circuit_breaker::Window,
    failover::Route,
    provider::Reqwest,
    retry::Backoff,
    serve::{Anthropic, Drain, Endpoint, OpenAi},
    stack::Boxed,
};
use settings::{RouteSettings, Settings};
use std::{error::Error, process::ExitCode};
use tokio::{net::TcpListener, runtime::Builder, signal};

fn main() -> ExitCode {
    let settings = Settings::parse();
    let runtime = match settings.threads.get() {
        1 => Builder::new_current_thread().enable_all().build(),
        threads => Builder::new_multi_thread().worker_threads(threads).enable_all().build(),
    };
    match runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(run(settings))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("axum_service: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(settings: Settings) -> Result<(), Box<dyn Error>> {
    #[cfg(feature = "otlp")]
    let _sent_at_the_end = settings.otlp.as_deref().map(|url| otlp::install(url, "axum_service")).transpose()?;
    #[cfg(feature = "prometheus")]
    let page = prometheus::install()?;

    let stack = Boxed::new(stack(&settings)?);
    let limits = settings.limits()?;
    let drain = Drain::new();
    let router = Router::new()
        .route_service("/v1/chat/completions", Endpoint::new(OpenAi::new(), stack.clone()).limits(limits).drain(&drain))
        .route_service("/v1/messages", Endpoint::new(Anthropic::new(), stack).limits(limits).drain(&drain))
        .route("/healthz", get(|| async { "ok" }));
    #[cfg(feature = "prometheus")]
    let router = router.route("/metrics", get(|| async move { ([(CONTENT_TYPE, Page::CONTENT_TYPE)], page.render()) }));

    let listener =
        TcpListener::bind(settings.listen).await.map_err(|error| format!("--listen {}: {error}", settings.listen))?;
    println!("listening on http://{}", listener.local_addr()?);
    serve(listener, router).drain(&drain).grace(settings.grace).until(stopped()).await?;
    Ok(())
}

/// The routes in their order, with what was set of all of them.
fn stack(
    settings: &Settings,
) -> Result<
    impl tower::Service<seawall::chat::Request, Response = seawall::chat::Reply, Error = seawall::Error, Future: Send>
    + Clone
    + Send
    + Sync
    + use<>,
    Box<dyn Error>,
> {
    let http = Reqwest::with_client(Reqwest::client_builder().connect_timeout(settings.connect_timeout).build()?);
    let routes = settings.routes.iter().map(|route| {
        let RouteSettings { name, model, is_larger, .. } = route;
        let client = route.client(http.clone()).map_err(|error| format!("--route {name}: {error}"))?;
        let route = Route::new(client).name(name.as_str());
        let route = if *is_larger { route.larger() } else { route };
        Ok::<_, String>(route.map(model.as_deref().map(seawall::Model::named)))
    });
    let mut stack = Stack::list(Chat, routes.collect::<Result<Vec<_>, _>>()?)
        .max_retries(settings.retries)
        .recovery(settings.recovery());
    if let Some(limit) = settings.deadline {
        stack = stack.deadline(limit);
    }
    if let Some(limit) = settings.first_byte {
        stack = stack.first_byte(limit);
    }
    if let Some(limit) = settings.first_token {
        stack = stack.first_token(limit);
    }
    if let Some(limit) = settings.idle {
        stack = stack.idle(limit);
    }
    if let Some(limit) = settings.whole {
        stack = stack.whole(limit);
    }
    if let Some((first, longest)) = settings.backoff {
        stack = stack.backoff(Backoff::new(first, longest).map_err(|error| format!("--backoff: {error}"))?);
    }
    if let Some(calls) = settings.circuit {
        stack = stack.circuit(Window::calls(calls).map_err(|error| format!("--circuit: {error}"))?);
    }
    if let Some((first, longest)) = settings.open_for {
        stack = stack.open_for(first, longest);
    }
    if let Some(most) = settings.concurrency {
        stack = stack.concurrency(most);
    }
    if settings.routes.len() > 1 {
        let (on_429, on) = settings.switches();
        stack = stack.on(on).wait_at_most(settings.wait_at_most);
        if on_429 {
            stack = stack.on_429();
        }
    }
    Ok(stack.build()?)
}

/// Ctrl-C, or the SIGTERM of an orchestrator.
async fn stopped() {
    let interrupted = signal::ctrl_c();
    #[cfg(unix)]
    if let Ok(mut terminated) = signal::unix::signal(signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = interrupted => {}
            _ = terminated.recv() => {}
        }
        return;
    }
    let _ = interrupted.await;
}
