use std::{error::Error as StdError, fmt};

/// A setting that makes no sense, or cannot take effect. Says what to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    layer: Option<&'static str>,
    setting: &'static str,
    reason: Box<str>,
}

impl Invalid {
    /// Names the setting, and says in one sentence what is wrong with it and what to change.
    pub fn new(setting: &'static str, reason: impl Into<Box<str>>) -> Self {
        Self { layer: None, setting, reason: reason.into() }
    }

    /// Names the layer whose setting it is, where several have been set in one place.
    #[must_use]
    pub fn of_layer(self, layer: &'static str) -> Self {
        Self { layer: Some(layer), ..self }
    }

    /// The layer, where several have been set in one place.
    #[must_use]
    pub fn layer(&self) -> Option<&'static str> {
        self.layer
    }

    /// The setting, as its method or field is called.
    #[must_use]
    pub fn setting(&self) -> &'static str {
        self.setting
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(layer) = self.layer {
            write!(f, "{layer}: ")?;
        }
        write!(f, "{}: {}", self.setting, self.reason)
    }
}

impl StdError for Invalid {}
