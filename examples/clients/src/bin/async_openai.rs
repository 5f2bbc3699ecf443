//! A stack below async-openai, against a provider that misbehaves.
use async_openai::{
    Client,
    config::OpenAIConfig,
    error::OpenAIError,
    middleware::HttpRequestFactory,
    types::chat::{ChatCompletionRequestUserMessageArgs, CreateChatCompletionRequest, CreateChatCompletionRequestArgs},
};
use futures::StreamExt;
use seawall::{
    Error, Kind, Stack,
    classify::ClassifyLayer,
    provider::Reqwest,
    sim::{Fault, MockProvider, Phase, Script, When},
};
use std::time::Duration;
use tower::{BoxError, Layer, service_fn};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = Script::seeded(1)
        .fault(When::nth(1), Fault::status(429).header("retry-after", "1"))
        .fault(When::nth(2), Fault::status(503))
        .fault(When::nth(4), Fault::status(401))
        .fault(When::nth(5), Fault::status(500))
        .fault(When::nth(6), Fault::cut(Phase::AfterTokens(2)));
    let provider = MockProvider::start(script).await?;

    // reqwest with its own second sends and redirects off, as the stack counts each send. Only the body of a request says that it
    // asks for a stream, so the head of one is given as long as a whole reply: the deadline limits both.
    let http = ClassifyLayer::reqwest().layer(Reqwest::client_builder().build()?);
    let stack = Stack::http(http).deadline(Duration::from_secs(120)).build()?;
    let service = service_fn(move |factory: HttpRequestFactory| {
        let stack = stack.clone();
        async move { stack.ask(factory.build().await?).await.map_err(BoxError::from) }
    });
    // A service takes the place of async-openai's own three retries as well, which `with_http_client` would keep: each of them
    // would be a whole call of the stack, with retries of its own.
    let config = OpenAIConfig::new().with_api_base(provider.base_url()).with_api_key("key");
    let client = Client::with_config(config).with_http_service(service);

    let answer = client.chat().create(question()?).await?;
    println!("{:?}, {} requests", answer.choices[0].message.content, provider.seen());
    assert_eq!(provider.seen(), 3);
    let log = provider.log();
    assert!(log.records[1].at - log.records[0].at >= Duration::from_secs(1), "the 429 named a second");

    // Our error comes out in a box, whole.
    let OpenAIError::Boxed(error) = client.chat().create(question()?).await.err().ok_or("a 401 was to come")? else {
        return Err("an error of the stack's was to come".into());
    };
    let error = error.downcast_ref::<Error>().ok_or("an error of the stack's was to come")?;
    println!("{error}");
    assert_eq!((error.kind(), provider.seen()), (Kind::Auth, 4));

    // A stream is retried up to its head, and what breaks behind that is told to its reader.
    let mut stream = client.chat().create_stream(question()?).await?;
    let (mut pieces, mut broken) = (0, None);
    while let Some(piece) = stream.next().await {
        match piece {
            Ok(_) => pieces += 1,
            Err(error) => broken = Some(error),
        }
    }
    println!("{pieces} pieces, then {broken:?}");
    assert!(pieces > 0 && broken.is_some());
    assert_eq!(provider.seen(), 6);
    Ok(())
}

fn question() -> Result<CreateChatCompletionRequest, OpenAIError> {
    let message = ChatCompletionRequestUserMessageArgs::default().content("What is a seawall?").build()?;
    CreateChatCompletionRequestArgs::default().model("gpt-4o-mini").messages([message.into()]).build()
}
