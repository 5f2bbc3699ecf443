use super::Leaf;
use crate::{Bare, Call, Error, InCall, retry::Retry, timeout::AttemptTimeout};
use std::task::{Context as Cx, Poll};
use tower::Service;

type Layers<S, H> = Retry<AttemptTimeout<Leaf<S, H>, InCall<H>>, InCall<H>>;

/// One route with all its layers; a type of its own, so that the name of a stack fits on a line.
#[derive(Clone, Debug)]
pub struct Paved<S, H = Bare>(pub(super) Layers<S, H>);

impl<S, Req, H> Service<Call<Req>> for Paved<S, H>
where
    Layers<S, H>: Service<Call<Req>, Error = Error>,
{
    type Response = <Layers<S, H> as Service<Call<Req>>>::Response;
    type Error = Error;
    type Future = <Layers<S, H> as Service<Call<Req>>>::Future;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, call: Call<Req>) -> Self::Future {
        self.0.call(call)
    }
}
