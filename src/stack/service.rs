use super::{Ask, Builder, Order, Whole};
use crate::{
    Bare, Call, Context, Error, Http, Shape,
    chat::{self, Chat},
    failover::{One, Route},
};
use std::{
    fmt,
    sync::Arc,
    task::{Context as Cx, Poll},
};
use tower::Service;

/// What a caller talks to: plain requests in, each with its context inside.
///
/// A field of yours that holds one is a `Stack<Paved<Client>>`, or over chat a `Stack<Paved<Client, Chat>, Chat>`; several
/// routes are best returned as `impl Service<…> + Clone`, or boxed once, at the top:
///
/// ```
/// use seawall::{Error, Stack, chat};
/// use tower::{ServiceExt, util::BoxCloneSyncService};
///
/// #[derive(Clone)]
/// struct App {
///     model: BoxCloneSyncService<chat::Request, chat::Reply, Error>,
/// }
/// # async fn example(openai: impl Model, deepseek: impl Model) -> Result<(), Box<dyn std::error::Error>> {
///
/// let stack = Stack::chat(openai).then(deepseek).model("deepseek-chat").on_429().build()?;
/// let app = App { model: BoxCloneSyncService::new(stack) };
/// let reply = app.model.clone().oneshot(chat::Request::new("gpt-4o-mini").user("hello")).await?;
/// # Ok(()) }
/// # trait Model: tower::Service<chat::Request, Response = chat::Reply, Error = Error, Future: Send> + Clone + Send + Sync + 'static {}
/// ```
///
/// `Debug` prints the layers in their order. See the [module](super) for more.
#[derive(Clone)]
pub struct Stack<R, H = Bare> {
    inner: Whole<R, H>,
    order: Arc<Order>,
    shape: H,
    context: Context,
    /// Of each call, whatever its context says.
    most_sends: u32,
}

impl Stack<()> {
    /// Over a service of any request and any response, whose error is [`seawall::Error`](crate::Error).
    pub fn bare<S>(service: S) -> Builder<One<S>, Bare> {
        Builder::new(One::new(Route::new(service)), Bare)
    }

    /// Over a service of `http::Request`. What a layer keeps rides in the body of the response.
    ///
    /// Put [`ClassifyLayer::http`](crate::classify::ClassifyLayer::http) around a service with an error of its own.
    pub fn http<S>(service: S) -> Builder<One<S>, Http> {
        Builder::new(One::new(Route::new(service)), Http)
    }

    /// Over a chat client, such as those of [`provider`](crate::provider). What a layer keeps rides in the reply.
    pub fn chat<S>(service: S) -> Builder<One<S>, Chat>
    where
        S: Service<chat::Request, Response = chat::Reply, Error = Error> + Clone,
    {
        Builder::new(One::new(Route::new(service)), Chat)
    }

    /// Over routes of one type, in their order, as many as a configuration has; the shape is named first.
    ///
    /// A map that only some of them have is an `Option`, so that all are of one type:
    ///
    /// ```
    /// use seawall::{Model, Stack, chat::Chat, failover::Route, provider::OpenAi};
    ///
    /// struct Config {
    ///     name: String,
    ///     url: String,
    ///     model: Option<String>,
    /// }
    /// # fn example(config: Vec<Config>, http: impl Clone + Http) -> Result<(), seawall::Invalid> {
    ///
    /// let routes = config.into_iter().map(|Config { name, url, model }| {
    ///     let client = OpenAi::new("key").base_url(url).over(http.clone());
    ///     Route::new(client).name(name).map(model.map(Model::named))
    /// });
    /// let stack = Stack::list(Chat, routes.collect()).on_429().build()?;
    /// # Ok(()) }
    /// # trait Http: tower::Service<http::Request<bytes::Bytes>, Response = http::Response<String>, Error = std::io::Error> {}
    /// ```
    pub fn list<S, M, H>(shape: H, routes: Vec<Route<S, M>>) -> Builder<Vec<Route<S, M>>, H> {
        Builder::new(routes, shape)
    }
}

impl<R, H> Stack<R, H> {
    pub(super) fn new(inner: Whole<R, H>, order: Order, shape: H, most_sends: Option<u32>) -> Self {
        let context = most_sends.map_or_else(Context::default, |sends| Context::default().with_sends_left(sends));
        Self { inner, order: Arc::new(order), shape, context, most_sends: most_sends.unwrap_or(u32::MAX) }
    }

    /// Starts from what the caller's own call still may do: the deadline of the request that it serves, its sends.
    ///
    /// The limits that the stack was built with hold as well.
    ///
    /// ```
    /// # use seawall::{Context, Error, Stack};
    /// # use std::time::Duration;
    /// # async fn model(_: u64) -> Result<u64, Error> { Ok(1) }
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let stack = Stack::bare(tower::service_fn(model)).build()?;
    /// let context = Context::default().with_timeout(Duration::from_secs(5)).with_sends_left(2);
    /// let answer = stack.clone().with(context).ask(1).await?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with(self, context: Context) -> Self {
        Self { context, ..self }
    }
}

impl<R: Clone, H: Clone> Stack<R, H> {
    /// Makes a clone ready and calls it.
    ///
    /// # Errors
    /// What the last attempt failed with, the earlier ones in its [trail](Error::trail); or a refusal of ours.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call, wherever it is.
    // An inherent method, because rustc says why a bound of it fails, and of a trait's method only that one does.
    pub fn ask<Req>(&self, request: Req) -> Ask<Self, Req, <Self as Service<Req>>::Future>
    where
        Self: Service<Req>,
    {
        Ask::new(self.clone(), request)
    }
}

impl<R, Req, H> Service<Req> for Stack<R, H>
where
    Whole<R, H>: Service<Call<Req>, Error = Error>,
    H: Shape<Req>,
{
    type Response = <Whole<R, H> as Service<Call<Req>>>::Response;
    type Error = Error;
    type Future = <Whole<R, H> as Service<Call<Req>>>::Future;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let context = self.shape.context(&request).unwrap_or(self.context);
        let context = context.with_sends_left(context.sends_left.min(self.most_sends));
        self.inner.call(Call { context, request })
    }
}

impl<R, H> fmt::Debug for Stack<R, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stack: ")?;
        fmt::Display::fmt(&self.order, f)
    }
}
