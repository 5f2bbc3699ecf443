use super::asked::Asked;
use std::time::Duration;

/// Which requests a fault meets. All that is said must hold; nothing said is every request.
///
/// ```
/// use seawall::sim::When;
/// use std::time::Duration;
///
/// When::nth(3); // the third request
/// When::every(10).from(Duration::from_secs(5)); // each tenth, five seconds after the start
/// When::chance(0.05).path("/v1/chat"); // five in a hundred of those to this path
/// When::always().model("gpt-4o-mini").prompt_over(8_000); // those that are too long for this model
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct When {
    pub(super) nth: Option<u64>,
    pub(super) first: Option<u64>,
    pub(super) every: Option<u64>,
    pub(super) chance: Option<f64>,
    pub(super) from: Option<Duration>,
    pub(super) to: Option<Duration>,
    pub(super) path: Option<String>,
    pub(super) model: Option<String>,
    pub(super) prompt_over: Option<u32>,
    pub(super) prefilled: bool,
}

/// What is known of a request when it is judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    pub(super) number: u64,
    pub(super) elapsed: Duration,
    pub(super) path: &'a str,
    pub(super) model: &'a str,
    /// In tokens.
    pub(super) prompt: u32,
    pub(super) prefilled: bool,
    pub(super) streams: bool,
}

impl<'a> Facts<'a> {
    pub(super) fn new(number: u64, elapsed: Duration, path: &'a str, asked: Option<&'a Asked<'_>>) -> Self {
        Self {
            number,
            elapsed,
            path,
            model: asked.map_or("", |asked| &asked.model),
            prompt: asked.map_or(0, Asked::prompt_tokens),
            prefilled: asked.is_some_and(Asked::is_prefilled),
            streams: asked.is_some_and(Asked::streams),
        }
    }
}

impl When {
    /// Every request.
    #[must_use]
    pub fn always() -> Self {
        Self::default()
    }

    /// The nth request that the provider sees, from 1.
    #[must_use]
    pub fn nth(nth: u64) -> Self {
        Self { nth: Some(nth), ..Self::default() }
    }

    /// The first so many requests.
    #[must_use]
    pub fn first(count: u64) -> Self {
        Self { first: Some(count), ..Self::default() }
    }

    /// Each nth request: 10 is the tenth, the twentieth and so on.
    #[must_use]
    pub fn every(nth: u64) -> Self {
        Self { every: Some(nth), ..Self::default() }
    }

    /// This share of the requests, `0.0..=1.0`.
    ///
    /// A request is drawn for once, so 0.02 is two in a hundred however many other faults have a chance.
    #[must_use]
    pub fn chance(share: f64) -> Self {
        Self { chance: Some(share), ..Self::default() }
    }

    /// From so long after the start of the provider.
    #[must_use]
    pub fn from(self, from: Duration) -> Self {
        Self { from: Some(from), ..self }
    }

    /// Until so long after the start of the provider.
    #[must_use]
    pub fn to(self, to: Duration) -> Self {
        Self { to: Some(to), ..self }
    }

    /// To paths that begin so.
    #[must_use]
    pub fn path(self, start: impl Into<String>) -> Self {
        Self { path: Some(start.into()), ..self }
    }

    /// For this model.
    #[must_use]
    pub fn model(self, name: impl Into<String>) -> Self {
        Self { model: Some(name.into()), ..self }
    }

    /// With a prompt of more than so many tokens: a quarter of the request's bytes.
    #[must_use]
    pub fn prompt_over(self, tokens: u32) -> Self {
        Self { prompt_over: Some(tokens), ..self }
    }

    /// Whose last turn is the model's, for it to go on with.
    #[must_use]
    pub fn prefilled(self) -> Self {
        Self { prefilled: true, ..self }
    }

    /// Whether all holds but the chance.
    pub(super) fn holds(&self, facts: &Facts<'_>) -> bool {
        self.nth.is_none_or(|nth| facts.number == nth)
            && self.first.is_none_or(|first| facts.number <= first)
            && self.every.is_none_or(|every| facts.number.is_multiple_of(every))
            && self.covers(facts)
    }

    /// Whether all holds that does not depend on the number.
    pub(super) fn covers(&self, facts: &Facts<'_>) -> bool {
        self.from.is_none_or(|from| facts.elapsed >= from)
            && self.to.is_none_or(|to| facts.elapsed < to)
            && self.path.as_ref().is_none_or(|start| facts.path.starts_with(start.as_str()))
            && self.model.as_ref().is_none_or(|model| facts.model == model)
            && self.prompt_over.is_none_or(|tokens| facts.prompt > tokens)
            && (facts.prefilled || !self.prefilled)
    }

    pub(super) fn check(&self) -> Result<(), crate::Invalid> {
        let bad = |setting, reason: &str| Err(crate::Invalid::new(setting, reason));
        if self.nth == Some(0) || self.first == Some(0) || self.every == Some(0) {
            return bad("nth, first, every", "requests are counted from 1");
        }
        if self.chance.is_some_and(|chance| !(0.0..=1.0).contains(&chance)) {
            return bad("chance", "a share of the requests, from 0.0 to 1.0");
        }
        if self.to.is_some_and(|to| to <= self.from.unwrap_or_default()) {
            return bad("to", "must come after `from`");
        }
        Ok(())
    }
}
