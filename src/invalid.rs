use std::{error::Error as StdError, fmt};

/// A setting that makes no sense, or cannot take effect. Says what to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    setting: &'static str,
    reason: Box<str>,
}

impl Invalid {
    /// Names the setting, and says in one sentence what is wrong with it and what to change.
    pub fn new(setting: &'static str, reason: impl Into<Box<str>>) -> Self {
        Self { setting, reason: reason.into() }
    }

    /// The setting, as its method or field is called.
    #[must_use]
    pub fn setting(&self) -> &'static str {
        self.setting
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.setting, self.reason)
    }
}

impl StdError for Invalid {}
