use super::{
    Dialect, Fit, ResponseFuture,
    future::{Limits, named},
    learned::{Asked, Learned},
    told::Told,
};
use crate::{Capabilities, Error, Http, Invalid, Models, Shape, Sink, What, chat};
use bytes::Bytes;
use http::{HeaderValue, header::ACCEPT};
use http_body::Body;
use http_body_util::Full;
use std::{
    error::Error as StdError,
    task::{Context as Cx, Poll},
    time::Duration,
};
use tower::Service;

/// The longest answer that is read: far above any model's, far below what would hurt.
const REPLY_LIMIT: usize = 32 * 1024 * 1024;

/// As the idle timeout of a stream.
const IDLE: Duration = Duration::from_secs(60);

/// A server that streams says so soon, or hangs.
const FIRST_BYTE: Duration = Duration::from_secs(60);

/// Asks a provider over any service of `http::Request`. One call is one send.
///
/// `D` is the [`Dialect`], `T` the service: see the [module](super) for an example. What the call still may do goes on
/// to it in the request's extensions, as [`Http`] looks for it.
///
/// ```
/// use bytes::Bytes;
/// use http_body_util::Full;
/// use seawall::{chat, provider::OpenAi};
/// use tower::ServiceExt as _;
///
/// async fn canned(_: http::Request<Full<Bytes>>) -> std::io::Result<http::Response<String>> {
///     Ok(http::Response::new(r#"{"choices":[{"message":{"content":"Blue."}}]}"#.to_owned()))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), seawall::Error> {
/// let client = OpenAi::new("sk-1").over(tower::service_fn(canned));
/// let reply = client.oneshot(chat::Request::new("gpt-4o-mini").user("What colour is the sea?")).await?;
/// assert_eq!(reply.text(), "Blue.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client<D, T> {
    dialect: D,
    inner: T,
    limits: Limits,
    sink: Option<Sink>,
    told: Told,
    models: Models,
    learned: Option<Learned>,
}

impl<D, T> Client<D, T> {
    /// Speaks `dialect` over `inner`.
    pub fn new(dialect: D, inner: T) -> Self {
        let limits = Limits { reply: REPLY_LIMIT, idle: IDLE, first_byte: FIRST_BYTE, keeps_body: false };
        let (told, models) = (Told::default(), Models::default());
        Self { dialect, inner, limits, sink: None, told, models, learned: None }
    }

    /// Sets the longest answer that is read, in bytes; a longer one is an error. Default 32 MiB. A stream may bring four times as
    /// much, since most of it stands around the words.
    #[must_use]
    pub fn reply_limit(mut self, bytes: usize) -> Self {
        self.limits.reply = bytes;
        self
    }

    /// Limits the silence between two parts of an answer, once its head is there. Default 60 s: it has begun to come,
    /// and servers that let a caller wait send blank lines meanwhile. For a stream, a limit in the request's
    /// [`Context`](crate::Context) holds in its place: a stack sets it.
    ///
    /// # Errors
    /// Refuses zero.
    pub fn idle(mut self, most: Duration) -> Result<Self, Invalid> {
        if most.is_zero() {
            return Err(Invalid::new(
                "idle",
                "zero would end every answer that does not come at once; set a longer time",
            ));
        }
        self.limits.idle = most;
        Ok(self)
    }

    /// Limits the wait for the head of an answer that is to come piece by piece. Default 60 s: a server that streams says so soon,
    /// or hangs. A limit in the request's [`Context`](crate::Context) holds in its place: a stack sets it.
    ///
    /// # Errors
    /// Refuses zero.
    pub fn first_byte(mut self, most: Duration) -> Result<Self, Invalid> {
        if most.is_zero() {
            return Err(Invalid::new("first_byte", "zero would end every answer; set a longer time"));
        }
        self.limits.first_byte = most;
        Ok(self)
    }

    /// Tells `sink` what is [changed](What::Changed) in requests on their way out, besides the listener of a stack around it.
    #[must_use]
    pub fn sink(mut self, sink: Sink) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Sets what is known of models. Default: the table that comes with seawall. What a model refuses is left out of what it is
    /// sent, and told once; one that is not in the table is allowed everything.
    #[must_use]
    pub fn models(mut self, models: &Models) -> Self {
        self.models = models.clone();
        self.learned = self.learned.map(|_| Learned::default());
        self
    }

    /// Remembers a setting that a model refused, for this client and its clones, and leaves it out from then on. Default: off,
    /// as a refusal that is met each time is mended at its cause, and one mistaken answer would change every later request.
    ///
    /// The call that was refused fails all the same. What is remembered is the one setting that the answer names, if the request
    /// had it: of an answer that names several of its settings, or a value and not the setting, nothing is.
    ///
    /// ```
    /// # use bytes::Bytes;
    /// # use http_body_util::Full;
    /// use seawall::{Kind, chat, provider::OpenAi};
    /// use tower::ServiceExt as _;
    ///
    /// # async fn picky(request: http::Request<Full<Bytes>>) -> std::io::Result<http::Response<String>> {
    /// #     use http_body_util::BodyExt as _;
    /// #     let body = request.into_body().collect().await.unwrap().to_bytes();
    /// #     let refused = r#"{"error":{"message":"Unsupported parameter: 'seed' is not supported with this model."}}"#;
    /// #     let reply = r#"{"choices":[{"message":{"content":"Blue."}}]}"#;
    /// #     let is_refused = body.windows(4).any(|word| word == b"seed");
    /// #     let status = if is_refused { 400 } else { 200 };
    /// #     Ok(http::Response::builder().status(status).body(if is_refused { refused } else { reply }.to_owned()).unwrap())
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), seawall::Error> {
    /// let client = OpenAi::new("sk-1").over(tower::service_fn(picky)).remember_refusals();
    /// let question = chat::Request::new("sea-7b").user("What colour is the sea?").seed(7);
    /// let error = client.clone().oneshot(question.clone()).await.unwrap_err();
    /// assert_eq!(error.kind(), Kind::UnsupportedParameter); // "'seed' is not supported with this model"
    /// assert_eq!(client.oneshot(question).await?.text(), "Blue."); // it went without
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn remember_refusals(mut self) -> Self {
        self.learned.get_or_insert_default();
        self
    }

    /// The dialect that it speaks.
    #[must_use]
    pub fn dialect(&self) -> &D {
        &self.dialect
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        let learned = self.learned.as_ref().and_then(|learned| learned.get(model));
        learned.unwrap_or_else(|| self.models.get(model))
    }

    fn tell(&self, request: &chat::Request, fit: &Fit) {
        let model = request.model_name();
        for change in fit.changes().iter().filter(|change| self.told.is_news(model, change)) {
            for sink in self.sink.iter().chain(request.sink()) {
                sink.emit(What::Changed { key: Some(model), change });
            }
        }
    }
}

impl<D, T, B> Service<chat::Request> for Client<D, T>
where
    D: Dialect,
    T: Service<http::Request<Full<Bytes>>, Response = http::Response<B>> + Clone,
    T::Error: Into<Box<dyn StdError + Send + Sync>>,
    // A streamed reply keeps the body, wherever it is read.
    B: Body + Send + 'static,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Response = chat::Reply;
    type Error = Error;
    type Future = ResponseFuture<D, T::Future, B>;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx).map_err(|error| {
            let error = self.dialect.classifier().transport(error.into());
            named(error, &self.dialect).with_sends(0)
        })
    }

    fn call(&mut self, request: chat::Request) -> Self::Future {
        let mut fit = Fit::new(self.capabilities(request.model_name()));
        match self.dialect.encode(&request, &mut fit) {
            Ok(mut encoded) => {
                self.tell(&request, &fit);
                let mut limits = Limits { keeps_body: request.wants_received(), ..self.limits };
                if let Some(context) = request.context() {
                    Http.set_context(&mut encoded, context);
                    limits.first_byte = context.first_byte.unwrap_or(limits.first_byte);
                    limits.idle = context.idle.unwrap_or(limits.idle);
                }
                let streamed = request.is_stream().then(|| request.clone());
                if streamed.is_some() {
                    encoded
                        .headers_mut()
                        .insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
                }
                let future = self.inner.call(encoded.map(Full::new));
                let learned = self.learned.as_ref();
                let asked = learned.map(|learned| Asked::new(learned, request, self.dialect.name(), fit));
                ResponseFuture::sending(self.dialect.clone(), future, limits, streamed, asked)
            }
            Err(error) => {
                // What was reserved for a request that is never sent must not stay with an idle client.
                self.inner = self.inner.clone();
                ResponseFuture::refused(self.dialect.clone(), error, self.limits)
            }
        }
    }
}
