use serde::Serialize;
use serde_json::value::RawValue;

/// The arguments of a call where they must be an object, as Anthropic has them: those that are none are shown as they are, and no tool
/// runs on them by mistake.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Input<'a> {
    Json(&'a RawValue),
    Nothing {},
    Broken {
        #[serde(rename = "INVALID_JSON")]
        text: &'a str,
    },
}

impl<'a> Input<'a> {
    pub(crate) fn of(arguments: &'a str) -> Self {
        match serde_json::from_str::<&RawValue>(arguments) {
            Ok(json) if json.get().starts_with('{') => Self::Json(json),
            _ if arguments.trim().is_empty() => Self::Nothing {},
            _ => Self::Broken { text: arguments },
        }
    }

    /// As a stream has it, where nothing is nothing.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Json(json) => json.get().to_owned(),
            Self::Nothing {} => String::new(),
            Self::Broken { .. } => serde_json::to_string(self).unwrap_or_default(),
        }
    }
}
