use super::Leaf;
use crate::{
    Bare, Call, Error, InCall,
    circuit_breaker::CircuitBreaker,
    concurrency_limit::ConcurrencyLimit,
    failover::Failover,
    observe::Observe,
    recovery::Recover,
    retry::Retry,
    timeout::{AttemptTimeout, Deadline},
};
use std::task::{Context as Cx, Poll};
use tower::Service;

/// Around all routes: watched as one operation, within the deadline of the call.
pub(super) type Whole<R, H> = Observe<Deadline<R, InCall<H>>, InCall<H>>;

/// Around several routes: asked again in rounds, where that is wanted, and one after the other.
pub(super) type Switching<R, H> = Retry<Failover<InCall<R>, InCall<H>>, InCall<H>>;

/// One route, outside in.
pub(super) type Layers<S, H> = Retry<Recover<Limited<S, H>, InCall<H>>, InCall<H>>;

/// What an attempt has to pass, and what stays in its answer.
type Limited<S, H> = ConcurrencyLimit<CircuitBreaker<Attempt<S, H>, InCall<H>>, InCall<H>>;

/// One send.
type Attempt<S, H> = Observe<AttemptTimeout<Leaf<S, H>, InCall<H>>, InCall<H>>;

/// One route with all its layers; a type of its own, so that the name of a stack fits on a line.
#[derive(Clone, Debug)]
pub struct Paved<S, H = Bare>(pub(super) Layers<S, H>);

/// Several routes, each [`Paved`], with what switches between them.
#[derive(Clone, Debug)]
pub struct Several<R, H = Bare>(pub(super) Switching<R, H>);

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

impl<R, Req, H> Service<Call<Req>> for Several<R, H>
where
    Switching<R, H>: Service<Call<Req>, Error = Error>,
{
    type Response = <Switching<R, H> as Service<Call<Req>>>::Response;
    type Error = Error;
    type Future = <Switching<R, H> as Service<Call<Req>>>::Future;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, call: Call<Req>) -> Self::Future {
        self.0.call(call)
    }
}
