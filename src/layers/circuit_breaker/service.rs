use super::{Policy, ResponseFuture, Ticket, Window, circuit::Circuits};
use crate::{Bare, Ending, Error, Shape};
use std::{
    sync::Arc,
    task::{Context as Cx, Poll},
};
use tower::Service;

/// Refuses calls while the circuit is open, or the account cools down. Made by
/// [`CircuitBreakerLayer`](super::CircuitBreakerLayer).
#[derive(Clone, Debug)]
pub struct CircuitBreaker<S, H = Bare, P = Window> {
    inner: S,
    circuits: Arc<Circuits<P>>,
    shape: H,
}

impl<S, H, P> CircuitBreaker<S, H, P> {
    pub(super) fn new(inner: S, circuits: Arc<Circuits<P>>, shape: H) -> Self {
        Self { inner, circuits, shape }
    }
}

impl<S, Req, H, P> Service<Req> for CircuitBreaker<S, H, P>
where
    S: Service<Req, Error = Error> + Clone,
    H: Shape<Req> + Ending<S::Response, Ticket<P>> + Clone,
    P: Policy,
{
    type Response = H::Response;
    type Error = Error;
    type Future = ResponseFuture<S::Future, H, P>;

    fn poll_ready(&mut self, cx: &mut Cx<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let circuit = self.circuits.of(self.shape.key(&request));
        match circuit.admit(self.shape.context(&request)) {
            Ok(ticket) => ResponseFuture::calling(self.inner.call(request), ticket, self.shape.clone()),
            Err(refusal) => {
                // Gives back what the ready instance holds; a fresh clone holds nothing.
                self.inner = self.inner.clone();
                ResponseFuture::refused(refusal, self.shape.clone())
            }
        }
    }
}
