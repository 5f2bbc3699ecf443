use serde::Deserialize;

/// How the end of a body is told.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// By `content-length`. The default.
    #[default]
    Length,
    /// By the last chunk.
    Chunked,
}

/// What ends the lines of a stream.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LineEnds {
    /// A line feed, as most providers have it. The default.
    #[default]
    Lf,
    /// A carriage return and a line feed, as many proxies and .NET servers have it.
    CrLf,
    /// A carriage return alone, which the standard allows and nobody expects.
    Cr,
}

impl LineEnds {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Lf, Self::CrLf, Self::Cr];

    pub(super) fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
            Self::Cr => b"\r",
        }
    }
}
