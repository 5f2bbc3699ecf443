use super::{
    answer::{Answer, Call},
    asked::{Asked, BYTES_A_TOKEN, tokens},
};
use crate::Rng;
use std::time::Duration;

/// What an answer says, in whosever form.
pub(super) struct Said<'a> {
    pub(super) number: u64,
    pub(super) created: u64,
    pub(super) model: &'a str,
    pub(super) reasoning: Option<String>,
    pub(super) words: Words<'a>,
    pub(super) stopped: Stopped,
    pub(super) counts: Counts,
    rng: Rng,
}

pub(super) enum Words<'a> {
    Text(String),
    Refusal(&'a str),
    Calls(&'a [Call]),
}

/// Why the model stopped.
pub(super) enum Stopped {
    Done,
    /// It wrote this stop text.
    At(String),
    /// The cap on tokens ended it.
    Cut,
    /// A content filter did.
    Filtered,
}

/// Tokens of the prompt and of the answer.
pub(super) struct Counts {
    pub(super) prompt: u32,
    /// Of the prompt, and no part of each other.
    pub(super) cached: u32,
    pub(super) cache_written: u32,
    pub(super) completion: u32,
    /// Of the completion.
    pub(super) reasoning: u32,
}

impl<'a> Said<'a> {
    pub(super) fn new(asked: &'a Asked<'_>, how: &'a Answer, number: u64, elapsed: Duration, rng: Rng) -> Self {
        let mut cap = Cap { left: asked.most().unwrap_or(u32::MAX), used: 0, reached: false };
        let reasoning = how.reasoning.as_deref().filter(|text| !text.is_empty()).map(|text| cap.text(text));
        let thoughts = cap.used;
        let mut stopped = Stopped::Done;
        let calls = &how.tool_calls[..how.tool_calls.len().min(asked.calls())];
        let words = match (&how.refusal, calls) {
            (Some(words), _) => {
                cap.take(words.len());
                Words::Refusal(words)
            }
            (None, []) => {
                let own = || format!("This is answer {number} of the mock provider.");
                let echoed = || if how.echo { asked.question() } else { None };
                let mut text = how.text.clone().or_else(echoed).unwrap_or_else(own);
                if let Some((at, stop)) = first_stop(&text, asked) {
                    stopped = Stopped::At(stop.to_owned());
                    text.truncate(at);
                }
                Words::Text(cap.text(&text))
            }
            (None, calls) => Words::Calls(&calls[..cap.calls(calls)]),
        };
        if cap.reached && !matches!(words, Words::Refusal(_)) {
            stopped = Stopped::Cut;
        }
        if how.filtered {
            stopped = Stopped::Filtered;
        }
        let prompt = asked.prompt_tokens();
        let cached = how.cached.min(prompt);
        let counts = Counts {
            prompt,
            cached,
            cache_written: how.cache_written.min(prompt - cached),
            completion: cap.used,
            reasoning: thoughts,
        };
        // Seconds of the script and not of a clock, so that a seed gives the same bytes again.
        let created = 1_700_000_000 + elapsed.as_secs();
        Self { number, created, model: &asked.model, reasoning, words, stopped, counts, rng }
    }

    pub(super) fn completion_id(&self) -> String {
        format!("chatcmpl-mock-{}", self.number)
    }

    /// The next id or signature, which the seed and the number of the request decide.
    pub(super) fn word(&self, front: &str, length: usize) -> String {
        const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let letter = |_| char::from(LETTERS[(self.rng.bits() % LETTERS.len() as u64) as usize]);
        front.chars().chain((0..length).map(letter)).collect()
    }
}

/// Where the first stop text begins.
fn first_stop<'a>(text: &str, asked: &'a Asked<'_>) -> Option<(usize, &'a str)> {
    asked.stops().filter_map(|stop| Some((text.find(stop)?, stop))).min_by_key(|(at, _)| *at)
}

/// The cap on the tokens of an answer, as it is used up.
struct Cap {
    left: u32,
    used: u32,
    reached: bool,
}

impl Cap {
    /// So many bytes, or as many tokens of them as are left.
    fn take(&mut self, bytes: usize) -> u32 {
        let needed = tokens(bytes);
        let given = needed.min(self.left);
        self.reached |= given < needed;
        self.left -= given;
        self.used += given;
        given
    }

    fn text(&mut self, text: &str) -> String {
        let given = self.take(text.len());
        text.chars().take(given as usize * BYTES_A_TOKEN).collect()
    }

    /// How many calls are whole.
    fn calls(&mut self, calls: &[Call]) -> usize {
        let mut whole = 0;
        for call in calls {
            self.take(call.name.len() + call.arguments.len());
            whole += usize::from(!self.reached);
        }
        whole
    }
}
