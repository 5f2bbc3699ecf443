//! What handlers ask for.
use crate::{
    serve::{Asked, Body, Drain, Limits, Protocol},
    stack::Boxed,
};
use ::axum::{
    extract::{FromRef, FromRequest, FromRequestParts, Request},
    http::{Response, request::Parts},
};
use std::convert::Infallible;

/// Reads the body within the [`Limits`] of an `Extension`, where there is one, and lets the [`Drain`] of another end the answer.
///
/// # Errors
/// A response in the client's words.
impl<P: Protocol + Default, S: Send + Sync> FromRequest<S> for Asked<P> {
    type Rejection = Response<Body>;

    async fn from_request(request: Request, _: &S) -> Result<Self, Self::Rejection> {
        let (head, body) = request.into_parts();
        let limits = head.extensions.get::<Limits>().copied().unwrap_or_default();
        let drain = head.extensions.get::<Drain>();
        Self::read_under(drain, P::default(), body, limits).await.map_err(|response| *response)
    }
}

/// Out of the router's state.
impl<S: Send + Sync> FromRequestParts<S> for Boxed
where
    Self: FromRef<S>,
{
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, state: &S) -> Result<Self, Infallible> {
        Ok(Self::from_ref(state))
    }
}
