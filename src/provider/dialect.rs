use super::{Assemble, Fit};
use crate::{Error, chat, classify::Classifier};
use bytes::Bytes;
use http::response::Parts;
use std::borrow::Cow;

/// How a provider is spoken to: what a request and an answer look like on its wire.
///
/// It decides nothing about failures but how to read them; a [`Client`](super::Client) does the sending. Clones should
/// be cheap, since each call takes one along, and a streamed reply keeps it: hence `Send` and `'static`.
///
/// One of your own, for a server that takes a prompt and gives a text:
/// ```
/// use bytes::Bytes;
/// use seawall::{Error, Invalid, Kind, chat, classify::Classifier, provider::{Assemble, Client, Dialect, Fit, Stage}};
/// use std::borrow::Cow;
///
/// #[derive(Clone, Default)]
/// struct Plain(Classifier);
///
/// impl Dialect for Plain {
///     type Assembler = Words;
///
///     fn name(&self) -> Cow<'static, str> {
///         "plain".into()
///     }
///
///     fn classifier(&self) -> &Classifier {
///         &self.0
///     }
///
///     fn encode(&self, request: &chat::Request, fit: &mut Fit) -> Result<http::Request<Bytes>, Error> {
///         let request = fit.settings(request, "plain"); // without what the model refuses
///         let Some(last) = request.messages().last() else {
///             return Err(Invalid::new("messages", "there are none: add one with `user`").into());
///         };
///         let body = serde_json::json!({ "prompt": last.text(), "stream": request.is_stream() });
///         let encoded = http::Request::post("http://127.0.0.1:8080/ask").body(body.to_string().into());
///         encoded.map_err(|_| Error::provider(Kind::InvalidRequest))
///     }
///
///     fn decode(&self, _: &http::response::Parts, body: &[u8]) -> Result<chat::Reply, Error> {
///         let body: serde_json::Value = serde_json::from_slice(body).map_err(|_| Error::provider(Kind::Transport))?;
///         let text = body["text"].as_str().ok_or_else(|| Error::provider(Kind::Server))?;
///         Ok(chat::Reply::whole(chat::Answer::new(chat::Message::assistant(text))))
///     }
///
///     fn assembler(&self) -> Words {
///         Words
///     }
/// }
///
/// /// Each event is a word, and an empty object the end.
/// struct Words;
///
/// impl Assemble for Words {
///     fn event(&mut self, _: Option<&str>, data: &[u8], items: &mut Vec<chat::Item>) -> Stage {
///         match serde_json::from_slice::<serde_json::Value>(data) {
///             Ok(event) if event["error"].is_object() => return Stage::Failed, // the classifier reads it
///             Ok(event) => match event["text"].as_str() {
///                 Some(word) => items.push(chat::Item::Text(word.into())),
///                 None => return Stage::Over,
///             },
///             Err(_) => return Stage::Malformed,
///         }
///         Stage::More
///     }
/// }
///
/// # use http_body_util::Full;
/// # use tower::ServiceExt as _;
/// # async fn canned(request: http::Request<Full<Bytes>>) -> std::io::Result<http::Response<String>> {
/// #     let accepts = request.headers().get("accept").map_or("", |kinds| kinds.to_str().unwrap_or_default()).to_owned();
/// #     let events = "data: {\"text\":\"Bl\"}\n\ndata: {\"text\":\"ue.\"}\n\ndata: {}\n\n";
/// #     Ok(http::Response::new(if accepts.contains("event-stream") { events } else { r#"{"text":"Blue."}"# }.to_owned()))
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Error> {
/// # let transport = tower::service_fn(canned);
/// let client = Client::new(Plain::default(), transport);
/// let question = chat::Request::new("m").user("What colour is the sea?");
/// # assert_eq!(client.clone().oneshot(question.clone()).await.err().map(|e| e.to_string()), None);
/// let reply = client.oneshot(question.stream()).await?;
/// assert_eq!(reply.collect().await?.message().text(), "Blue.");
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no dialect that a client can speak",
    note = "`provider::Anthropic` is one, and `provider::OpenAi`, with `base_url` for the many servers that speak like OpenAI"
)]
pub trait Dialect: Clone + Send + 'static {
    /// The provider's name, for people and for the fields of [`extra`](chat::Request::extra).
    fn name(&self) -> Cow<'static, str>;

    /// The form of the wire, which several providers have in common, such as `openai`: what was
    /// [received](chat::Request::received) is handed on as it came only to callers who speak the same. Default: nobody else does.
    fn protocol(&self) -> &'static str {
        ""
    }

    /// Puts streamed answers together.
    type Assembler: Assemble;

    /// Judges failures, under the provider's name.
    fn classifier(&self) -> &Classifier;

    /// The request as it goes over the wire. `fit` knows what the model takes, and is told what had to be changed.
    ///
    /// # Errors
    /// [`InvalidRequest`](crate::Kind::InvalidRequest) with a word on what to change; nothing is sent.
    fn encode(&self, request: &chat::Request, fit: &mut Fit) -> Result<http::Request<Bytes>, Error>;

    /// The reply in a whole answer with a status of success, in which the classifier has found no error.
    ///
    /// # Errors
    /// What the answer means where it holds no reply. No text of the answer may go into `Display`.
    fn decode(&self, head: &Parts, body: &[u8]) -> Result<chat::Reply, Error>;

    /// For one streamed answer.
    fn assembler(&self) -> Self::Assembler;
}
