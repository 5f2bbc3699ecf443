use super::{Ask, Builder};
use crate::{
    Bare, Call, Context, Error, Http, InCall, Shape,
    chat::{self, Chat},
    timeout::Deadline,
};
use std::task::{Context as Cx, Poll};
use tower::Service;

/// What a caller talks to: plain requests in, each with its context inside.
///
/// A field of yours that holds one is a `Stack<Paved<Client>>`, or over chat a `Stack<Paved<Client, Chat>, Chat>`. See
/// the [module](super) for an example.
#[derive(Clone, Debug)]
pub struct Stack<R, H = Bare> {
    inner: Deadline<R, InCall<H>>,
    shape: H,
    context: Context,
    /// Of each call, whatever its context says.
    most_sends: u32,
}

impl Stack<()> {
    /// Over a service of any request and any response, whose error is [`seawall::Error`](crate::Error).
    pub fn bare<S>(service: S) -> Builder<S, Bare> {
        Builder::new(service, Bare)
    }

    /// Over a service of `http::Request`. What a layer keeps rides in the body of the response.
    ///
    /// Put [`ClassifyLayer::http`](crate::classify::ClassifyLayer::http) around a service with an error of its own.
    pub fn http<S>(service: S) -> Builder<S, Http> {
        Builder::new(service, Http)
    }

    /// Over a chat client, such as those of [`provider`](crate::provider). What a layer keeps rides in the reply.
    pub fn chat<S>(service: S) -> Builder<S, Chat>
    where
        S: Service<chat::Request, Response = chat::Reply, Error = Error> + Clone,
    {
        Builder::new(service, Chat)
    }
}

impl<R, H> Stack<R, H> {
    pub(super) fn new(inner: Deadline<R, InCall<H>>, shape: H, context: Context, most_sends: u32) -> Self {
        Self { inner, shape, context, most_sends }
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
    R: Service<Call<Req>, Error = Error> + Clone,
    H: Shape<Req>,
{
    type Response = R::Response;
    type Error = Error;
    type Future = <Deadline<R, InCall<H>> as Service<Call<Req>>>::Future;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        Service::<Call<Req>>::poll_ready(&mut self.inner, cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let context = self.shape.context(&request).unwrap_or(self.context);
        let context = context.with_sends_left(context.sends_left.min(self.most_sends));
        self.inner.call(Call { context, request })
    }
}
