use super::Error;
use std::{error::Error as StdError, io, iter};

/// A chain that never ends is a mistake, and no reason to hang.
const LINKS: usize = 32;

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0.root {
            Some(root) => Some(&**root as _),
            None => self.0.source.as_ref().map(|source| &**source as _),
        }
    }
}

impl Error {
    /// The seawall error in a chain of sources: in a body's error over reqwest, or in one that was wrapped on its way.
    ///
    /// ```
    /// use seawall::{Error, Kind};
    ///
    /// let wrapped = std::io::Error::other(Error::provider(Kind::Timeout));
    /// assert_eq!(Error::find(&wrapped).map(Error::kind), Some(Kind::Timeout));
    /// ```
    #[must_use]
    pub fn find<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Self> {
        chain(error).find_map(|error| error.downcast_ref())
    }
}

impl Error {
    /// What this very error was made of, where [`root`](Self::root) stands before it among the sources.
    #[cfg_attr(not(feature = "tonic"), allow(dead_code))]
    pub(crate) fn cause(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_ref().map(|source| &**source as _)
    }
}

/// An error and what is below it, outermost first.
pub(crate) fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> + Clone {
    iter::successors(Some(error), |error: &&'a (dyn StdError + 'static)| below(*error)).take(LINKS)
}

/// An I/O error passes over what it holds, and names the source of that.
fn below<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(held) => Some(held),
        None => error.source(),
    }
}
