//! Whether a body is a stream of events at all: some answer with a whole reply, or a whole error, under whatever type.

/// What the first bytes tell. It holds none of them.
#[derive(Debug, Default)]
pub(super) struct Front {
    in_comment: bool,
    form: Option<Form>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Events,
    /// JSON or a page, which no line of an event begins as.
    Whole,
}

impl Front {
    pub(super) fn events() -> Self {
        Self { in_comment: false, form: Some(Form::Events) }
    }

    pub(super) fn form(&self) -> Option<Form> {
        self.form
    }

    /// The part of these bytes behind blanks and comments that may stand in front of either.
    pub(super) fn pass<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        if self.form.is_some() {
            return bytes;
        }
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'\n' | b'\r' => self.in_comment = false,
                _ if self.in_comment => {}
                // Of a byte order mark, too.
                b' ' | b'\t' | 0xef | 0xbb | 0xbf => {}
                b':' => self.in_comment = true,
                first => {
                    let is_whole = matches!(first, b'{' | b'[' | b'"' | b'<');
                    self.form = Some(if is_whole { Form::Whole } else { Form::Events });
                    return &bytes[at..];
                }
            }
        }
        &[]
    }
}
