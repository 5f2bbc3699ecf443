use crate::{Error, chat};
use std::{
    fmt,
    task::{Context as Cx, Poll},
};
use tower::{
    Service, ServiceExt,
    util::{BoxCloneSyncService, Oneshot},
};

/// A stack in a box: one type, whatever its routes are, for a field, or the state of a server. Costs a box a call.
///
/// ```
/// use seawall::{Error, Stack, chat, stack::Boxed};
///
/// #[derive(Clone)]
/// struct App {
///     model: Boxed,
/// }
/// # async fn example(openai: impl Model, deepseek: impl Model) -> Result<(), Box<dyn std::error::Error>> {
///
/// let stack = Stack::chat(openai).then(deepseek).model("deepseek-chat").on_429().build()?;
/// let app = App { model: Boxed::new(stack) };
/// let reply = app.model.ask(chat::Request::new("gpt-4o-mini").user("hello")).await?;
/// # Ok(()) }
/// # trait Model: tower::Service<chat::Request, Response = chat::Reply, Error = Error, Future: Send> + Clone + Send + Sync + 'static {}
/// ```
pub struct Boxed<Req = chat::Request, Res = chat::Reply>(BoxCloneSyncService<Req, Res, Error>);

impl<Req, Res> Boxed<Req, Res> {
    /// Puts a stack, or any service like one, into a box.
    pub fn new<S>(service: S) -> Self
    where
        S: Service<Req, Response = Res, Error = Error, Future: Send> + Clone + Send + Sync + 'static,
        Req: 'static,
    {
        Self(BoxCloneSyncService::new(service))
    }

    /// Makes a clone ready and calls it.
    ///
    /// # Errors
    /// Those of the service.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call, wherever it is.
    pub fn ask(&self, request: Req) -> Oneshot<BoxCloneSyncService<Req, Res, Error>, Req> {
        self.0.clone().oneshot(request)
    }
}

impl<Req, Res> Clone for Boxed<Req, Res> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<Req, Res> Service<Req> for Boxed<Req, Res> {
    type Response = Res;
    type Error = Error;
    type Future = <BoxCloneSyncService<Req, Res, Error> as Service<Req>>::Future;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        self.0.call(request)
    }
}

impl<Req, Res> fmt::Debug for Boxed<Req, Res> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Boxed").finish_non_exhaustive()
    }
}
