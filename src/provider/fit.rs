use crate::{
    Capabilities, Change,
    chat::{self, SETTINGS},
};
use serde_json::Value;
use std::borrow::Cow;

/// What the model takes, and what was changed in a request to fit it.
///
/// A [`Client`](super::Client) hands one to its dialect with each request and tells the changes to its listener.
/// `Fit::default()` is that of an unknown model, which is allowed everything.
#[derive(Clone, Debug, Default)]
pub struct Fit {
    model: Capabilities,
    /// What this provider refuses for every model.
    also: &'static [&'static str],
    changes: Vec<Change>,
}

impl Fit {
    /// For a model that takes this.
    #[must_use]
    pub fn new(model: Capabilities) -> Self {
        Self { model, also: &[], changes: Vec::new() }
    }

    /// What the model takes.
    #[must_use]
    pub fn model(&self) -> &Capabilities {
        &self.model
    }

    /// Has it leave out what a provider refuses for every model.
    pub(super) fn refuse(&mut self, fields: &'static [&'static str]) {
        self.also = fields;
    }

    fn refuses(&self, field: &str) -> bool {
        self.also.contains(&field) || self.model.refuses(field)
    }

    /// What the cap on tokens is called: `usual`, or its other name where model or provider refuses that.
    pub(super) fn token_cap_field<'a>(&self, usual: &'a str) -> &'a str {
        let other = if usual == "max_tokens" { "max_completion_tokens" } else { "max_tokens" };
        if self.refuses(usual) && !self.refuses(other) { other } else { usual }
    }

    /// Notes a change.
    pub fn note(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// What was changed so far.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The request as the model takes it, with each change noted: what [`Dialect::encode`](super::Dialect::encode) does first.
    ///
    /// Settings that the model refuses are left out, and so are fields of `extra` for this provider; `max_tokens` is brought
    /// down to the longest answer that the model gives. Where nothing is refused, the request is the one that was given. Tools,
    /// their choice and the form of the answer are never left out: without them an answer would mean something else.
    ///
    /// ```
    /// use seawall::{Change, Models, chat, provider::Fit};
    ///
    /// let request = chat::Request::new("claude-opus-4-8").user("Hello").temperature(0.2);
    /// let mut fit = Fit::new(Models::default().get(request.model_name()));
    /// assert_eq!(fit.settings(&request, "anthropic").sampling(), (None, None));
    /// assert_eq!(fit.changes(), [Change::LeftOut { field: "temperature".into() }]);
    /// ```
    pub fn settings<'a>(&mut self, request: &'a chat::Request, provider: &str) -> Cow<'a, chat::Request> {
        let mut fitted = Cow::Borrowed(request);
        if self.model.refuses_nothing() && self.also.is_empty() {
            return fitted;
        }
        for field in self.refused(request, provider) {
            fitted.to_mut().remove(provider, &field);
            self.changes.push(Change::LeftOut { field });
        }
        if let (Some(cap), Some(most)) = (fitted.token_cap(), self.model.max_output())
            && cap > most
        {
            fitted.to_mut().set_token_cap(most);
            self.changes.push(Change::Bounded { field: Cow::Borrowed("max_tokens") });
        }
        fitted
    }

    /// What was set and is refused.
    fn refused(&self, request: &chat::Request, provider: &str) -> Vec<Cow<'static, str>> {
        let reasons = self.reasons(request, provider);
        let model = &self.model;
        let is_refused = |field: &str| match field {
            // It has two names, and a dialect takes the other one.
            "max_tokens" => self.refuses(field) && self.refuses("max_completion_tokens"),
            field => self.refuses(field) || reasons && model.refuses_while_reasoning(field),
        };
        let is_set = |field: &&str| request.has(provider, field);
        let settings = SETTINGS.into_iter().filter(is_set).filter(|field| is_refused(field)).map(Cow::Borrowed);
        let own = request.extras(provider).map(|(field, _)| field).filter(|field| !SETTINGS.contains(field));
        let extras = own.filter(|field| is_refused(field)).map(|field| Cow::Owned(field.to_owned()));
        let mut refused: Vec<_> = settings.chain(extras).collect();
        for (first, second) in model.not_both() {
            let is_sent = |field| request.has(provider, field) && !refused.iter().any(|refused| refused == field);
            if is_sent(first) && is_sent(second) {
                let setting = SETTINGS.into_iter().find(|setting| *setting == second);
                refused.push(setting.map_or_else(|| Cow::Owned(second.to_owned()), Cow::Borrowed));
            }
        }
        refused
    }

    /// Whether the model will reason: as the request says, in the words of OpenAI or OpenRouter, else as it does by itself.
    fn reasons(&self, request: &chat::Request, provider: &str) -> bool {
        let effort = |(field, value): (&str, &Value)| match field {
            "reasoning_effort" => value.as_str().map(|effort| effort != "none"),
            "reasoning" => value.get("effort")?.as_str().map(|effort| effort != "none"),
            _ => None,
        };
        let asked = request.extras(provider).find_map(effort);
        asked.unwrap_or_else(|| self.model.reasons())
    }
}
