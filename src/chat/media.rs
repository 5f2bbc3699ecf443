use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An image or a document. Its clones share the bytes.
///
/// ```
/// use seawall::chat::{Media, Message, Part};
///
/// let chart = Media::url("https://example.com/chart.png");
/// let report = Media::base64("application/pdf", "JVBERi0xLjQK").name("report.pdf");
/// let question = Message::user("What do they say?").part(Part::Image(chart)).part(Part::Document(report));
/// assert_eq!(question.parts().len(), 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Media {
    source: Source,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<Arc<str>>,
}

/// Where the bytes are.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// At a URL that the provider fetches.
    Url(Arc<str>),
    /// Here, as base64 text.
    Base64 {
        /// Such as `image/png` or `application/pdf`.
        media_type: Arc<str>,
        /// The standard alphabet, with padding.
        data: Arc<str>,
    },
}

impl Media {
    /// What lies at a URL. A `data:` URL in base64 is taken apart, since not every provider takes one.
    pub fn url(url: impl Into<Arc<str>>) -> Self {
        let url = url.into();
        let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        match inline {
            Some((media_type, data)) => Self::base64(media_type, data),
            None => Self { source: Source::Url(url), name: None },
        }
    }

    /// Bytes as base64 text, and what they are.
    pub fn base64(media_type: impl Into<Arc<str>>, data: impl Into<Arc<str>>) -> Self {
        Self { source: Source::Base64 { media_type: media_type.into(), data: data.into() }, name: None }
    }

    /// Sets the name that the model reads, such as that of a file.
    #[must_use]
    pub fn name(self, name: impl Into<Arc<str>>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Where the bytes are.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The name that the model reads.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.name.as_deref()
    }
}
