//! A stack below rig, against a provider that misbehaves. `through.rs` is the part to copy.
use futures::StreamExt;
use rig_core::{
    completion::CompletionRequest,
    error::ProviderError,
    providers::openai::OpenAIConfig,
    streaming::{Item, StreamEvent},
};
use seawall::{
    Error, Kind, Stack,
    classify::ClassifyLayer,
    provider::Reqwest,
    sim::{Fault, MockProvider, Phase, Script, When},
};
use std::time::Duration;
use tower::Layer;

mod through;
use through::Through;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = Script::seeded(1)
        .fault(When::nth(1), Fault::status(429).header("retry-after", "1"))
        .fault(When::nth(2), Fault::status(503))
        .fault(When::nth(4), Fault::status(401))
        .fault(When::nth(5), Fault::status(500))
        .fault(When::nth(6), Fault::cut(Phase::AfterTokens(2)));
    let provider = MockProvider::start(script).await?;

    // rig never sends twice; reqwest's own second sends and redirects are off, as the stack counts each send.
    let http = ClassifyLayer::http().layer(Reqwest::new()?);
    let stack = Stack::http(http).deadline(Duration::from_secs(30)).build()?;
    let openai = OpenAIConfig::new("key").with_base_url(provider.base_url()).connect(Through(stack));
    let model = openai.chat("gpt-4o-mini");
    let question = || CompletionRequest::new("What is a seawall?");

    let answer = model.call(question()).await?;
    println!("{:?}, {} requests", answer.text(), provider.seen());
    assert_eq!(provider.seen(), 3);
    let log = provider.log();
    assert!(log.records[1].at - log.records[0].at >= Duration::from_secs(1), "the 429 named a second");

    // Our error is among the sources of rig's. Ask ours whether to try again: rig holds all that have no status for worth it.
    let Err(ProviderError::Http(error)) = model.call(question()).await else { return Err("a 401 was to come".into()) };
    let error = Error::find(&*error).ok_or("an error of the stack's was to come")?;
    println!("{error}");
    assert_eq!((error.kind(), error.is_retryable(), provider.seen()), (Kind::Auth, false, 4));

    // A stream is retried up to its head, and what breaks behind that is told to its reader.
    let mut stream = model.stream(question())?;
    let mut text = String::new();
    let broken = loop {
        match stream.next().await.ok_or("the stream was to break")? {
            Ok(Item::Event(StreamEvent::Text { text: piece, .. })) => text += &piece,
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    println!("{text:?}, then {broken}");
    assert!(!text.is_empty() && matches!(&broken, ProviderError::Http(error) if Error::find(&**error).is_some()));
    assert_eq!(provider.seen(), 6);
    Ok(())
}
