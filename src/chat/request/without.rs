//! A request with less in it, for models that refuse what was set.
use super::Request;

/// The settings that may be left out, by the names of their setters.
pub(crate) const SETTINGS: [&str; 6] = ["temperature", "top_p", "stop", "seed", "parallel_tool_calls", "max_tokens"];

impl Request {
    /// Whether this was set: one of the [`SETTINGS`], or a field of `extra` for this provider.
    pub(crate) fn has(&self, provider: &str, field: &str) -> bool {
        let asked = &self.asked;
        let is_set = match field {
            "temperature" => asked.temperature.is_some(),
            "top_p" => asked.top_p.is_some(),
            "stop" => !asked.stop.is_empty(),
            "seed" => asked.seed.is_some(),
            "parallel_tool_calls" => asked.parallel_tool_calls.is_some(),
            "max_tokens" => asked.max_tokens.is_some(),
            _ => false,
        };
        is_set || self.extras(provider).any(|(name, _)| name == field)
    }

    /// Takes it back.
    pub(crate) fn remove(&mut self, provider: &str, field: &str) {
        let asked = self.asked_mut();
        match field {
            "temperature" => asked.temperature = None,
            "top_p" => asked.top_p = None,
            "stop" => asked.stop.clear(),
            "seed" => asked.seed = None,
            "parallel_tool_calls" => asked.parallel_tool_calls = None,
            "max_tokens" => asked.max_tokens = None,
            _ => {}
        }
        asked.extra.retain(|(to, name, _)| **to != *provider || **name != *field);
    }

    /// Sets the cap anew.
    pub(crate) fn set_token_cap(&mut self, tokens: u32) {
        self.asked_mut().max_tokens = Some(tokens);
    }
}
