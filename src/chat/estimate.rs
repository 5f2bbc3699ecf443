//! How long a prompt is, about.
use super::{Message, Part, Request};

/// An image of a million pixels is about 1,500 tokens at Anthropic, and up to 1,100 at OpenAI; its bytes say nothing of it.
const CHARACTERS_OF_MEDIA: usize = 4 * 1_500;

impl Part {
    /// How many characters of a prompt it is about.
    fn characters(&self) -> usize {
        let of = |text: &str| text.chars().count();
        match self {
            Self::Text(text) => of(text.as_str()),
            Self::Refusal(text) => of(text),
            Self::Reasoning(reasoning) => of(reasoning.text()),
            Self::Image(_) | Self::Document(_) => CHARACTERS_OF_MEDIA,
            Self::ToolCall(call) => of(call.name()) + of(call.arguments()),
            Self::ToolResult(result) => {
                of(result.content()) + result.parts().iter().map(Self::characters).sum::<usize>()
            }
            Self::Native(native) => of(native.json().get()),
        }
    }
}

impl Request {
    /// Estimates the tokens of the prompt: a token for four characters, tools and arguments included,
    /// and 1,500 for an image or a document.
    ///
    /// It is good to some ten per cent for prose, which is enough to decide by; bills go by the reported
    /// [`Usage`](crate::Usage).
    #[must_use]
    pub fn estimate(&self) -> u64 {
        let tools = self.tools().iter().flat_map(|tool| [tool.name(), tool.description(), tool.schema().get()]);
        let texts = self.system_text().into_iter().chain(tools).map(|text| text.chars().count());
        let parts = self.messages().iter().flat_map(Message::parts).map(Part::characters);
        let characters: usize = texts.chain(parts).sum();
        characters.div_ceil(4) as u64
    }
}
