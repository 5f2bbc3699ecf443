//! A stack around genai, at the level of chats, against a provider that misbehaves. `calls.rs` is the part to copy.
//!
//! genai sends through reqwest and lets nothing in between, so its client itself is the service. It retries nothing.
use futures::StreamExt;
use genai::{
    Client, ServiceTarget,
    chat::{ChatRequest, ChatStreamEvent},
    resolver::{AuthData, Endpoint, ServiceTargetResolver},
};
use seawall::{
    Kind, Stack,
    classify::ClassifyLayer,
    failover::On,
    provider::Reqwest,
    sim::{BadEvent, Fault, MockProvider, Phase, Script, When},
};
use std::time::Duration;
use tower::{Layer, service_fn};

mod calls;
use calls::{Ask, begun, judge};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = Script::seeded(1)
        .fault(When::nth(1), Fault::status(429).header("retry-after", "1"))
        .fault(When::always().model("gpt-4o"), Fault::status(503))
        .fault(When::nth(6), Fault::event(Phase::BeforeBody, BadEvent::Error).with_status(503))
        .fault(When::nth(7), Fault::cut(Phase::AfterTokens(2)));
    let provider = MockProvider::start(script).await?;

    // reqwest with its own second sends and redirects off, as the stack counts each send.
    let http = Reqwest::client_builder().build()?;
    let endpoint = format!("{}/", provider.base_url());
    let there = ServiceTargetResolver::from_resolver_fn(move |target: ServiceTarget| {
        Ok(ServiceTarget { endpoint: Endpoint::from_owned(&*endpoint), auth: AuthData::from_single("key"), ..target })
    });
    let client = Client::builder().with_reqwest(http).with_service_target_resolver(there).build()?;

    let asking = client.clone();
    let model = ClassifyLayer::with(judge).layer(service_fn(move |(model, chat): Ask| {
        let client = asking.clone();
        async move { client.exec_chat(model, chat, None).await }
    }));
    // Another route is the same client: genai knows by a model's name whom to ask, and circuits are told apart by it.
    let stack = Stack::bare(model.clone())
        .then(model)
        .map(|(_, chat): Ask| ("claude-sonnet-4-5", chat))
        .on([On::Overloaded])
        .key_by(|(model, _): &Ask| Some(model))
        .build()?;
    let question = || ChatRequest::from_user("What is a seawall?");

    let answer = stack.ask(("gpt-4o-mini", question())).await?;
    println!("{:?} of {}, {} requests", answer.first_text(), answer.model_iden.model_name, provider.seen());
    assert_eq!((&*answer.model_iden.model_name, provider.seen()), ("gpt-4o-mini", 2));
    let log = provider.log();
    assert!(log.records[1].at - log.records[0].at >= Duration::from_secs(1), "the 429 named a second");

    let answer = stack.ask(("gpt-4o", question())).await?;
    println!("{:?} of {}, {} requests", answer.first_text(), answer.model_iden.model_name, provider.seen());
    assert_eq!((&*answer.model_iden.model_name, provider.seen()), ("claude-sonnet-4-5", 5)); // after one retry

    let streams = ClassifyLayer::with(judge).layer(service_fn(move |ask: Ask| begun(client.clone(), ask)));
    let stack = Stack::bare(streams).build()?;
    let mut events = stack.ask(("gpt-4o-mini", question())).await?;
    let mut text = String::new();
    let broken = loop {
        match events.next().await.ok_or("the stream was to break")? {
            Ok(ChatStreamEvent::Chunk(chunk)) => text += &chunk.content,
            Ok(_) => {}
            Err(error) => break judge(error).delivered(),
        }
    };
    println!("{text:?}, then {broken}");
    assert_eq!((broken.kind(), provider.seen()), (Kind::Transport, 7));
    Ok(())
}
