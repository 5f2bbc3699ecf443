//! genai's failures as errors of ours, and its streams as answers that have begun.
use futures::{StreamExt, TryStreamExt, stream::BoxStream};
use genai::{
    Client,
    chat::{ChatRequest, ChatStreamEvent},
};
use http::{HeaderMap, StatusCode};
use seawall::{Error, Kind, classify::Classifier};

/// A model's name, and what it is asked.
pub type Ask = (&'static str, ChatRequest);

/// The one place that looks at a status: genai keeps it, with the headers and the body.
pub fn judge(error: genai::Error) -> Error {
    use genai::{Error::*, webc::Error::*};
    let rules = Classifier::new();
    match error {
        WebModelCall { webc_error: ResponseFailedStatus { status, headers, body }, .. }
        | HttpError { status, headers, body, .. } => rules.answer(status, &headers, body.as_bytes()),
        WebModelCall { webc_error: ResponseFailedInvalidJson { body, .. }, .. } => {
            rules.answer(StatusCode::OK, &HeaderMap::new(), body.as_bytes())
        }
        WebModelCall { webc_error: Reqwest(error), .. } => rules.transport(error.into()),
        // A stream's failures are boxed, one of genai's own among them.
        WebStream { error, .. } => error.downcast().map_or_else(|error| rules.transport(error), |error| judge(*error)),
        // An event that is an error: OpenAI's without its name, Anthropic's with it.
        ChatResponse { body, .. } => {
            let told = rules.frame(Some("error"), body.to_string().as_bytes());
            told.unwrap_or_else(|| Error::provider(Kind::Unknown))
        }
        // No key, a setting that the model does not have: nothing that a second attempt would mend.
        other => Error::provider(Kind::Unknown).with_source(other),
    }
}

pub type Events = BoxStream<'static, genai::Result<ChatStreamEvent>>;

/// A stream of genai's sends when it is read. So it is read up to its first content, as until then it may be asked for again; to
/// the stack the call is over with that, as it does not see into genai's streams.
pub async fn begun(client: Client, (model, chat): Ask) -> genai::Result<Events> {
    let mut events = client.exec_chat_stream(model, chat, None).await?.stream;
    let mut first = events.try_next().await?;
    while let Some(ChatStreamEvent::Start | ChatStreamEvent::Heartbeat) = first {
        first = events.try_next().await?;
    }
    Ok(futures::stream::iter(first.map(Ok)).chain(events).boxed())
}
