/// What becomes of a streamed answer that breaks off after its first content.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// The reader gets each piece as it comes, and the error behind them. It is [delivered](crate::Error::is_delivered), so nothing is
    /// asked again. The default: a reader sees the first words at once.
    #[default]
    Fail,
    /// Nothing is shown before the end. Until then an answer that breaks off is an ordinary error, which is retried, or switches, like
    /// any other. The reader waits for the whole answer, which is kept in memory as long.
    BufferThenRestart,
}

impl Recovery {
    /// Whether an answer is read before it is shown.
    pub(crate) fn is_buffered(self) -> bool {
        match self {
            Self::Fail => false,
            Self::BufferThenRestart => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_asks_for_it_waits_for_the_end() {
        assert!(!Recovery::default().is_buffered());
        assert!(Recovery::BufferThenRestart.is_buffered());
    }
}
