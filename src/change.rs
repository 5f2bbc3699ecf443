//! What becomes of a request on its way out.
use std::{borrow::Cow, fmt};

/// What was changed in a request on its way out, so that the provider takes it. The caller's own stays as it is.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// A setting that this model, or this provider, refuses was left out.
    LeftOut {
        /// Its name: that of the setter, or of the `extra` field.
        field: Cow<'static, str>,
    },
    /// A number was brought into the range that is taken.
    Bounded {
        /// Its name: that of the setter.
        field: Cow<'static, str>,
    },
    /// Parts that only another provider can read were left out: thoughts that it signed, blocks of its own.
    Foreign {
        /// How many.
        parts: usize,
    },
    /// A turn that would be refused was mended, since its meaning is certain.
    Mended {
        /// The index of the message.
        message: usize,
        /// What was done to it.
        how: Mend,
    },
}

/// How a turn was mended.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mend {
    /// It said nothing, and now says so.
    Filled,
    /// The history began with the model's turn, and a user's was put in front.
    Opened,
    /// A call had several results, and now has one that holds them all.
    Joined,
    /// A call named its tool in letters that no tool's name may have.
    Renamed,
    /// The last turn is the model's and ended with blanks.
    Trimmed,
}

impl Mend {
    /// One word for meters.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Filled => "filled",
            Self::Opened => "opened",
            Self::Joined => "joined",
            Self::Renamed => "renamed",
            Self::Trimmed => "trimmed",
        }
    }
}

impl Change {
    /// One word for meters.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::LeftOut { .. } => "left_out",
            Self::Bounded { .. } => "bounded",
            Self::Foreign { .. } => "foreign",
            Self::Mended { how, .. } => how.as_str(),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeftOut { field } => write!(f, "`{field}` was left out, as it is refused"),
            Self::Bounded { field } => write!(f, "`{field}` was brought into the range that is taken"),
            Self::Foreign { parts: 1 } => f.write_str("a part that only another provider can read was left out"),
            Self::Foreign { parts } => write!(f, "{parts} parts that only another provider can read were left out"),
            Self::Mended { message, how } => write!(f, "message {message} was mended ({})", how.as_str()),
        }
    }
}
