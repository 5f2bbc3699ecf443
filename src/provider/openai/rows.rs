//! The providers that are known. Behind each row stands how well: *documented* by the provider, *seen* in an answer of
//! its, or taken *from clients* that many use. What is none of these is left as most take it.
use super::{CallIds, Preset};
use std::fmt;

/// By the names that a configuration uses.
const ROWS: [(&str, Preset); 12] = [
    ("openai", Preset::OPENAI),
    ("azure", Preset::AZURE),
    ("azure_v1", Preset::AZURE_V1),
    ("deepseek", Preset::DEEPSEEK),
    ("groq", Preset::GROQ),
    ("mistral", Preset::MISTRAL),
    ("openrouter", Preset::OPENROUTER),
    ("xai", Preset::XAI),
    ("together", Preset::TOGETHER),
    ("fireworks", Preset::FIREWORKS),
    ("vllm", Preset::VLLM),
    ("ollama", Preset::OLLAMA),
];

impl Preset {
    /// OpenAI, under whatever host: one of its regions, or a front that passes everything on.
    ///
    /// Key: `OPENAI_API_KEY`. Base URL: `OPENAI_BASE_URL`, where set.
    // Seen: 400 to `max_tokens` (newer models), and to an id of a call that is longer than 40 characters.
    pub const OPENAI: Self = Self::new("openai", "https://api.openai.com/v1")
        .key_variable("OPENAI_API_KEY")
        .url_variable("OPENAI_BASE_URL")
        .cap("max_completion_tokens")
        .developer()
        .refusals()
        .call_ids(CallIds::UpTo40);

    /// Azure OpenAI. The model of a request names a deployment, and the [base URL](super::OpenAi::base_url) is that of your
    /// resource, `https://my-resource.openai.azure.com`. The version of the API is 2024-10-21, the last under this path that
    /// is no preview; newer models want a later one, or [`AZURE_V1`](Self::AZURE_V1).
    ///
    /// Key: `AZURE_OPENAI_API_KEY`. Base URL: `AZURE_OPENAI_ENDPOINT`. Version: `OPENAI_API_VERSION`, where set. A token of
    /// Microsoft Entra goes by hand: `Preset::AZURE.without_key().header("authorization", "Bearer …")`.
    // Documented: the path, `api-key`, and that the specification of 2024-10-21 has `max_tokens` alone and no `developer`.
    // Seen: 400 to `max_completion_tokens` under versions before it, and to ids of more than 40 characters.
    pub const AZURE: Self = Self::new("azure", "")
        .path("/openai/deployments/{model}/chat/completions?api-version={api_version}")
        .api_version("2024-10-21")
        .key_header("api-key")
        .key_variable("AZURE_OPENAI_API_KEY")
        .url_variable("AZURE_OPENAI_ENDPOINT")
        .version_variable("OPENAI_API_VERSION")
        .refusals()
        .call_ids(CallIds::UpTo40);

    /// Azure OpenAI under its path without versions. The rest is as with [`AZURE`](Self::AZURE).
    // Documented: the path, that OpenAI's own clients work with it, and that the model in the body is the deployment.
    pub const AZURE_V1: Self = Self::new("azure", "")
        .path("/openai/v1/chat/completions")
        .key_header("api-key")
        .key_variable("AZURE_OPENAI_API_KEY")
        .url_variable("AZURE_OPENAI_ENDPOINT")
        .cap("max_completion_tokens")
        .developer()
        .refusals()
        .call_ids(CallIds::UpTo40);

    /// DeepSeek. Key: `DEEPSEEK_API_KEY`.
    // Documented: `max_tokens`; that `reasoning_content` of turns which call tools comes back in every request behind them.
    // Seen: 400 without it; 400 and 422 to the role `developer`; 400 to a `response_format` of type `json_schema`.
    pub const DEEPSEEK: Self = Self::new("deepseek", "https://api.deepseek.com")
        .key_variable("DEEPSEEK_API_KEY")
        .send_reasoning()
        .without_schemas();

    /// Groq. Key: `GROQ_API_KEY`.
    // Documented: `max_completion_tokens`; 400 to `logprobs`, `top_logprobs` and `logit_bias`.
    // Seen: 400 to thoughts that are sent back, as `reasoning_content` and as `reasoning`.
    pub const GROQ: Self = Self::new("groq", "https://api.groq.com/openai/v1")
        .key_variable("GROQ_API_KEY")
        .cap("max_completion_tokens")
        .refuses(&["logprobs", "top_logprobs", "logit_bias"]);

    /// Mistral. Key: `MISTRAL_API_KEY`.
    // Documented: `max_tokens`, `random_seed`.
    // Seen: 422 to `seed`, as to any field that it does not know, `stream_options.include_usage` among them: its streams tell
    // their usage unasked; 400 to ids of calls that are not nine letters and digits;
    // 400 (3230) to a user's turn behind a tool's, at the end of 2025. Some say that this has passed since.
    pub const MISTRAL: Self = Self::new("mistral", "https://api.mistral.ai/v1")
        .key_variable("MISTRAL_API_KEY")
        .seed("random_seed")
        .call_ids(CallIds::Nine)
        .usage_unasked()
        .without_user_after_tool();

    /// OpenRouter. Key: `OPENROUTER_API_KEY`. It knows an app by `HTTP-Referer` and `X-Title`: set them with
    /// [`OpenAi::header`](super::OpenAi::header).
    // Documented: `max_tokens`, `seed`, and that `reasoning_details` go back as they came.
    // It passes requests on to OpenAI and Azure, hence their ids.
    pub const OPENROUTER: Self = Self::new("openrouter", "https://openrouter.ai/api/v1")
        .key_variable("OPENROUTER_API_KEY")
        .call_ids(CallIds::UpTo40)
        .send_reasoning_details();

    /// xAI. Key: `XAI_API_KEY`.
    // Documented: `max_completion_tokens`. What its reasoning models alone refuse is no matter of this row.
    // From clients: no role `developer`.
    pub const XAI: Self =
        Self::new("xai", "https://api.x.ai/v1").key_variable("XAI_API_KEY").cap("max_completion_tokens");

    /// Together. Key: `TOGETHER_API_KEY`.
    // Documented: the URL, the key. From clients: `max_tokens`.
    pub const TOGETHER: Self = Self::new("together", "https://api.together.ai/v1").key_variable("TOGETHER_API_KEY");

    /// Fireworks. Key: `FIREWORKS_API_KEY`.
    // From clients: the URL, the key, `max_tokens`.
    pub const FIREWORKS: Self =
        Self::new("fireworks", "https://api.fireworks.ai/inference/v1").key_variable("FIREWORKS_API_KEY");

    /// A vLLM server on this machine, or where [`base_url`](super::OpenAi::base_url) says. `VLLM_API_KEY` is sent where set.
    // Documented: the port, the key. Older servers know `max_tokens` alone. Thoughts stay here: those before the end of 2025
    // took them as `reasoning_content`, and later ones as `reasoning`.
    pub const VLLM: Self = Self::new("vllm", "http://127.0.0.1:8000/v1").key_variable("VLLM_API_KEY").optional_key();

    /// An Ollama server on this machine, or where [`base_url`](super::OpenAi::base_url) says. `OLLAMA_API_KEY`, which its cloud
    /// (`https://ollama.com/v1`) asks for, is sent where set.
    // Documented: the port, the key, `max_tokens`, `seed`.
    pub const OLLAMA: Self =
        Self::new("ollama", "http://127.0.0.1:11434/v1").key_variable("OLLAMA_API_KEY").optional_key();

    /// The row of this name, for a configuration: `openai`, `azure`, `azure_v1`, `deepseek`, `groq`, `mistral`, `openrouter`,
    /// `xai`, `together`, `fireworks`, `vllm` or `ollama`.
    ///
    /// ```
    /// use seawall::provider::Preset;
    ///
    /// let row = Preset::named("groq").expect("a provider that is known");
    /// let groq = row.with_key("gsk_…").base_url("https://gateway.example.com/groq/v1");
    /// # let _ = groq;
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ROWS.into_iter().find(|row| row.0 == name).map(|row| row.1)
    }
}

impl fmt::Debug for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Preset").field("name", &self.name()).finish_non_exhaustive()
    }
}
