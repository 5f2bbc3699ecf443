//! What models were found to refuse.
use super::Fit;
use crate::{
    Capabilities, Change, Error, Kind,
    chat::{self, ResponseFormat, SETTINGS, ToolChoice},
};
use std::{
    borrow::Cow,
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// So many models are remembered; behind that it starts over.
const MOST: usize = 256;

/// By the name that a request has, what the model takes without what it refused.
#[derive(Clone, Default)]
pub(super) struct Learned(Arc<Mutex<HashMap<Box<str>, Capabilities>>>);

impl Learned {
    pub(super) fn get(&self, model: &str) -> Option<Capabilities> {
        self.lock().get(model).cloned()
    }

    fn add(&self, model: &str, known: &Capabilities, field: &str) {
        let mut all = self.lock();
        // Another call may have learned of another field meanwhile.
        let known = all.get(model).unwrap_or(known);
        if known.refuses(field) {
            return;
        }
        let known = known.refusing(field);
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(model.into(), known);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Capabilities>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Learned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Learned({})", self.lock().len())
    }
}

/// A request on its way, for whoever learns of its answer.
pub(super) struct Asked {
    learned: Learned,
    request: chat::Request,
    provider: Cow<'static, str>,
    fit: Fit,
}

impl Asked {
    pub(super) fn new(learned: &Learned, request: chat::Request, provider: Cow<'static, str>, fit: Fit) -> Box<Self> {
        Box::new(Self { learned: learned.clone(), request, provider, fit })
    }

    /// Remembers the one setting that the answer is about.
    pub(super) fn learn(&self, error: &Error) {
        if error.kind() != Kind::UnsupportedParameter {
            return;
        }
        let Some(message) = error.message() else { return };
        if is_about_a_value(error, message) {
            return;
        }
        let sent = SETTINGS.into_iter().filter(|field| self.request.has(&self.provider, field));
        let own = self.request.extras(&self.provider).map(|(field, _)| field);
        let sent = sent.chain(own.filter(|field| !SETTINGS.contains(field))).filter(|field| !self.was_left_out(field));
        let mut blamed = sent.filter_map(|field| Some((field, Mention::of(message, field)?)));
        let (Some((field, mention)), None) = (blamed.next(), blamed.next()) else { return };
        if mention.is_clear && !self.is_about_more(message) {
            let field = if field == "max_tokens" { mention.name } else { field };
            self.learned.add(self.request.model_name(), self.fit.model(), field);
        }
    }

    fn was_left_out(&self, field: &str) -> bool {
        self.fit.changes().iter().any(|change| matches!(change, Change::LeftOut { field: left } if left == field))
    }

    /// Whether it speaks of what is never left out too, as of tools that do not go together with a setting.
    fn is_about_more(&self, message: &str) -> bool {
        let has_tools = !self.request.tools().is_empty() || *self.request.chosen_tools() != ToolChoice::Auto;
        let has_format = !matches!(self.request.format(), ResponseFormat::Text);
        let names = |names: &[&str]| names.iter().any(|name| words(message).any(|word| is_same(word.text, name)));
        has_tools && names(&["tools", "tool", "tool_choice", "function", "functions"])
            || has_format && names(&["response_format", "output_config", "output_format", "json_schema"])
    }
}

/// OpenAI says "Unsupported value" of a setting that takes others, and also of one that takes its default alone.
fn is_about_a_value(error: &Error, message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let of_value = error.code() == Some("unsupported_value") || message.contains("unsupported value");
    of_value && !message.contains("only the default")
}

/// A setting in the provider's words.
struct Mention {
    /// What it is called there, where that is one of the two names of the cap on tokens.
    name: &'static str,
    /// Whether the word can only be a setting's: `stop` and `user` may be just words.
    is_clear: bool,
}

impl Mention {
    fn of(message: &str, field: &str) -> Option<Self> {
        let names: &[&str] = match field {
            "stop" => &["stop", "stop_sequences"],
            "seed" => &["seed", "random_seed"],
            "parallel_tool_calls" => &["parallel_tool_calls", "disable_parallel_tool_use"],
            "max_tokens" => &["max_tokens", "max_completion_tokens"],
            field => &[field],
        };
        let mut mentions = words(message).filter(|word| names.iter().any(|name| is_same(word.text, name))).peekable();
        let is_other = |word: &Word<'_>| is_same(word.text, "max_completion_tokens");
        let name = if mentions.peek().is_some_and(is_other) { "max_completion_tokens" } else { "max_tokens" };
        mentions.peek()?;
        Some(Self { name, is_clear: mentions.any(|word| word.is_name()) })
    }
}

struct Word<'a> {
    text: &'a str,
    /// All that stands in front of it.
    before: &'a str,
}

impl Word<'_> {
    fn is_name(&self) -> bool {
        let is_joined = self.text.bytes().skip(1).any(|byte| byte == b'_' || byte.is_ascii_uppercase());
        let before = self.before.trim_end();
        let is_set_off = before.is_empty() || before.ends_with([':', '\'', '"', '`', '[']);
        let is_announced = ["parameter", "parameters", "argument", "field"].iter().any(|word| before.ends_with(word));
        is_joined || is_set_off || is_announced || self.text == "temperature"
    }
}

fn words(message: &str) -> impl Iterator<Item = Word<'_>> {
    let is_break = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    let mut at = 0;
    let parts = message.split_inclusive(is_break).map(move |part| {
        let before = &message[..at];
        at += part.len();
        Word { text: part.trim_end_matches(is_break), before }
    });
    parts.filter(|word| !word.text.is_empty())
}

/// Some write `presencePenalty`.
fn is_same(word: &str, name: &str) -> bool {
    letters(word).eq(letters(name))
}

fn letters(word: &str) -> impl Iterator<Item = u8> {
    word.bytes().filter(|&byte| byte != b'_').map(|byte| byte.to_ascii_lowercase())
}
