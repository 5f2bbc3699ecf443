use super::InCall;
use crate::Call;
use std::sync::Arc;

/// How a request is changed on its way to one route, whatever it was before.
///
/// Any `Fn(Req) -> Req` is one. [`Model`] asks another model, and a type of yours may say more.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not map requests of type `{Req}`",
    note = "a closure `|request: MyRequest| …` maps `MyRequest`; around requests in a `Call` it is `InCall(closure)`; `Model` maps a `chat::Request`"
)]
pub trait Map<Req> {
    /// The request that the route gets.
    fn map(&self, request: Req) -> Req;
}

impl<Req, F: Fn(Req) -> Req> Map<Req> for F {
    fn map(&self, request: Req) -> Req {
        self(request)
    }
}

/// Leaves a request as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsIs;

impl<Req> Map<Req> for AsIs {
    fn map(&self, request: Req) -> Req {
        request
    }
}

/// One map after another.
#[derive(Clone, Copy, Debug)]
pub struct Both<M, N>(pub M, pub N);

impl<Req, M: Map<Req>, N: Map<Req>> Map<Req> for Both<M, N> {
    fn map(&self, request: Req) -> Req {
        self.1.map(self.0.map(request))
    }
}

/// A map where there is one, for routes of a configuration.
impl<Req, M: Map<Req>> Map<Req> for Option<M> {
    fn map(&self, request: Req) -> Req {
        match self {
            Some(map) => map.map(request),
            None => request,
        }
    }
}

/// Asks the model of this name, whichever the request named: a [`chat::Request`](crate::chat::Request), or one of yours
/// that implements [`Map`] for it.
///
/// ```
/// use seawall::{Map, Model, chat};
///
/// let request = Model::named("gpt-4.1").map(chat::Request::new("gpt-4o-mini"));
/// assert_eq!(request.model_name(), "gpt-4.1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Model(Arc<str>);

impl Model {
    /// The model of this name.
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl<Req> Map<Call<Req>> for Model
where
    Self: Map<Req>,
{
    fn map(&self, call: Call<Req>) -> Call<Req> {
        InCall(|request| self.map(request)).map(call)
    }
}

/// What the call still may do stays as it is.
impl<Req, M: Map<Req>> Map<Call<Req>> for InCall<M> {
    fn map(&self, call: Call<Req>) -> Call<Req> {
        Call { context: call.context, request: self.0.map(call.request) }
    }
}
