use super::{Bare, Http, InCall, KeyBy};
use crate::Error;
use std::future::{Future, Ready, ready};

/// Reads a streamed answer to its end before anybody sees it.
///
/// A chat does; [`Bare`] and [`Http`] hand every answer on as it is.
#[diagnostic::on_unimplemented(
    message = "shape `{Self}` does not say how an answer of type `{R}` is read to its end",
    note = "`impl<R> Gather<R> for …` with `type Gathering = Ready<Result<R, Error>>` hands every answer on as it is"
)]
pub trait Gather<R> {
    /// Gives the answer again once all of it is there, or what broke it. Dropped, it lets go of the answer with all that is kept in it.
    type Gathering: Future<Output = Result<R, Error>>;

    /// Begins to read; what is whole already is there at once.
    fn gather(&self, response: R) -> Self::Gathering;
}

impl<R> Gather<R> for Bare {
    type Gathering = Ready<Result<R, Error>>;

    fn gather(&self, response: R) -> Self::Gathering {
        ready(Ok(response))
    }
}

impl<R> Gather<R> for Http {
    type Gathering = Ready<Result<R, Error>>;

    fn gather(&self, response: R) -> Self::Gathering {
        ready(Ok(response))
    }
}

impl<R, H: Gather<R>> Gather<R> for InCall<H> {
    type Gathering = H::Gathering;

    fn gather(&self, response: R) -> Self::Gathering {
        self.0.gather(response)
    }
}

impl<R, H: Gather<R>, F> Gather<R> for KeyBy<H, F> {
    type Gathering = H::Gathering;

    fn gather(&self, response: R) -> Self::Gathering {
        self.inner().gather(response)
    }
}
