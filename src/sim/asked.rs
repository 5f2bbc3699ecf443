use super::{api::Api, reply::Reply};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, value::RawValue};
use std::borrow::Cow;

/// What a chat request asks for, as far as the answer depends on it.
#[derive(Debug, Deserialize)]
pub(super) struct Asked<'a> {
    #[serde(skip)]
    api: Option<Api>,
    #[serde(skip)]
    bytes: usize,
    pub(super) model: String,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    tools: Option<Vec<IgnoredAny>>,
    tool_choice: Option<Value>,
    parallel_tool_calls: Option<bool>,
    stop: Option<Value>,
    stop_sequences: Option<Value>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

/// A turn; what is none is told by no role.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Turn<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
}

impl<'a> Asked<'a> {
    pub(super) fn read(path: &str, body: &'a [u8]) -> Result<Self, Reply> {
        let Some(api) = Api::at(path) else {
            let path = path.split('?').next().unwrap_or(path);
            let message =
                format!("Unknown request URL: {path}. The mock provider knows /v1/chat/completions and /v1/messages.");
            return Err(Api::OpenAi.says(404, "invalid_request_error", Some("unknown_url"), &message));
        };
        let invalid = |message: String| api.says(400, "invalid_request_error", None, &message);
        let asked: Self = serde_json::from_slice(body)
            .map_err(|error| invalid(format!("We could not parse the JSON body of your request: {error}")))?;
        match (api, asked.max_tokens) {
            (Api::Anthropic, None) => Err(invalid("max_tokens: Field required".to_owned())),
            _ => Ok(Self { api: Some(api), bytes: body.len(), ..asked }),
        }
    }

    pub(super) fn api(&self) -> Api {
        self.api.unwrap_or(Api::OpenAi)
    }

    /// The cap on the tokens of the answer.
    pub(super) fn most(&self) -> Option<u32> {
        self.max_completion_tokens.or(self.max_tokens)
    }

    /// A quarter of the body's bytes.
    pub(super) fn prompt_tokens(&self) -> u32 {
        tokens(self.bytes)
    }

    /// What a limit counts before the answer is known: the prompt, and what may be answered.
    pub(super) fn tokens(&self) -> u32 {
        self.prompt_tokens().saturating_add(self.most().unwrap_or(0))
    }

    pub(super) fn streams(&self) -> bool {
        self.stream == Some(true)
    }

    pub(super) fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().and_then(|options| options.include_usage) == Some(true)
    }

    /// Whether the last turn is the model's, for it to go on with.
    pub(super) fn is_prefilled(&self) -> bool {
        let last = self.messages.last().map(|json| serde_json::from_str::<Turn<'_>>(json.get()).unwrap_or_default());
        last.is_some_and(|turn| turn.role == "assistant")
    }

    /// How many tools the answer may ask for.
    pub(super) fn calls(&self) -> usize {
        let choice = self.tool_choice.as_ref();
        let never = choice.is_some_and(|choice| choice == "none" || choice["type"] == "none");
        let none = never || self.tools.as_ref().is_none_or(Vec::is_empty) || self.has_new_results();
        let one = self.parallel_tool_calls == Some(false)
            || choice.is_some_and(|choice| choice["disable_parallel_tool_use"] == true);
        match (none, one) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => usize::MAX,
        }
    }

    /// Whether results of tools stand behind the last turn of the model's.
    fn has_new_results(&self) -> bool {
        let turns = self.messages.iter().rev().map(|json| serde_json::from_str::<Turn<'_>>(json.get()));
        let mut new = turns.map(Result::unwrap_or_default).take_while(|turn| turn.role != "assistant");
        new.any(|turn| turn.role == "tool" || turn.blocks().iter().any(|block| block.kind == "tool_result"))
    }

    /// The last text of the user's.
    pub(super) fn question(&self) -> Option<String> {
        let turns = self.messages.iter().rev().map(|json| serde_json::from_str::<Turn<'_>>(json.get()));
        let users = turns.map(Result::unwrap_or_default).filter(|turn| turn.role == "user");
        users.map(|turn| turn.text()).find(|text| !text.is_empty())
    }

    /// The texts that end the answer: one, or several.
    pub(super) fn stops(&self) -> impl Iterator<Item = &str> {
        let given = [&self.stop, &self.stop_sequences].into_iter().flatten();
        let texts = given.flat_map(|value| match value {
            Value::Array(texts) => texts.as_slice(),
            text => std::slice::from_ref(text),
        });
        texts.filter_map(Value::as_str).filter(|text| !text.is_empty())
    }
}

impl Turn<'_> {
    fn text(&self) -> String {
        let whole = self.content.and_then(|content| serde_json::from_str(content.get()).ok());
        whole.unwrap_or_else(|| self.blocks().into_iter().filter_map(|block| block.text).collect())
    }

    fn blocks(&self) -> Vec<Block<'_>> {
        self.content.and_then(|content| serde_json::from_str(content.get()).ok()).unwrap_or_default()
    }
}

pub(super) const BYTES_A_TOKEN: usize = 4;

pub(super) fn tokens(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(BYTES_A_TOKEN)).unwrap_or(u32::MAX)
}
