//! What handlers give.
use crate::{
    Error,
    serve::{Failure, OpenAi, refuse},
};
use ::axum::response::{IntoResponse, Response};

/// What it means for the client, by [`Failure`], as OpenAI writes it: most clients read that. For another form:
/// [`refuse`](crate::serve::refuse).
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        refuse(&OpenAi::new(), &Failure::of(&self)).into_response()
    }
}
