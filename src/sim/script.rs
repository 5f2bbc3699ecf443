use super::{Answer, Fault, Limits, When, when::Facts};
use crate::{Invalid, Rng};
use std::{collections::BTreeSet, ops::Range, time::Duration};

/// What a provider does: plain data, made here or read from TOML.
///
/// A request meets, in this order: an outage, the limits, the first fault that is for it, and else gets its answer.
/// What it meets depends on what it asks for, on its number, on the time since the start, and on the seed, and on nothing
/// else (limits count what came before). The same script therefore gives the same faults again.
///
/// ```
/// use seawall::sim::{Fault, Phase, Script, When};
/// use std::time::Duration;
///
/// let second = Duration::from_secs(1);
/// let script = Script::seeded(7)
///     .fault(When::nth(1), Fault::status(429).header("retry-after", "1"))
///     .fault(When::chance(0.05), Fault::reset(Phase::InHead))
///     .outage(2 * second..4 * second, Fault::status(503));
/// script.check()?;
/// # Ok::<(), seawall::Invalid>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    pub(super) seed: u64,
    pub(super) faults: Vec<(When, Fault)>,
    pub(super) outages: Vec<(Range<Duration>, Fault)>,
    pub(super) limits: Limits,
    pub(super) answer: Answer,
    pub(super) kept_bodies: usize,
}

impl Script {
    /// A script that only answers; `seed` decides every chance and every drawn wait.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Adds a fault. Of those that are for a request, the first added happens.
    #[must_use]
    pub fn fault(mut self, when: When, fault: Fault) -> Self {
        self.faults.push((when, fault));
        self
    }

    /// Fails every request in a time since the start.
    #[must_use]
    pub fn outage(mut self, during: Range<Duration>, fault: Fault) -> Self {
        self.outages.push((during, fault));
        self
    }

    /// Enforces limits.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets how it answers where nothing goes wrong.
    #[must_use]
    pub fn answer(self, answer: Answer) -> Self {
        Self { answer, ..self }
    }

    /// Keeps the bodies of requests in the [log](super::Record::body), up to so many bytes in all. Default 0: they hold prompts,
    /// and nobody else keeps those.
    ///
    /// A body is kept whole or not at all.
    #[must_use]
    pub fn keep_bodies(self, bytes: usize) -> Self {
        Self { kept_bodies: bytes, ..self }
    }

    /// Whether the script makes sense; a provider checks it before it starts.
    ///
    /// # Errors
    /// If a value is out of its range, an outage ends before it begins or is more than an error, the chances sum up to more
    /// than one, a fault has no place where it says, or an answer refuses and goes on.
    pub fn check(&self) -> Result<(), Invalid> {
        for (when, fault) in &self.faults {
            when.check()?;
            fault.check()?;
        }
        for (during, fault) in &self.outages {
            if during.is_empty() {
                return Err(Invalid::new("to", "an outage must end after it begins"));
            }
            fault.check()?;
            if fault.needs_stream() || fault.answer.is_some() {
                return Err(Invalid::new(
                    "outage",
                    "answers every request with an error, which has no tokens, events or answer",
                ));
            }
        }
        // A ten-millionth more, so that ten times 0.1 is one.
        let chances = self.most_chances();
        if chances > 1.0 + 1e-7 {
            let reason = format!("the chances for one request sum up to {chances:.3}, and may to 1 at most");
            return Err(Invalid::new("chance", reason));
        }
        self.limits.check()?;
        self.answer.check()
    }

    /// The largest sum of chances that one request can meet. It is reached where a window begins, on the whole path of a
    /// fault, for the model of a fault, and by a stream of a long prompt that is prefilled.
    fn most_chances(&self) -> f64 {
        let chances: Vec<_> = self.faults.iter().filter_map(|(when, _)| Some((when, when.chance?))).collect();
        let whens = || chances.iter().map(|(when, _)| *when);
        let starts: BTreeSet<_> = whens().map(|when| when.from.unwrap_or_default()).collect();
        let paths: BTreeSet<_> = whens().map(|when| when.path.as_deref().unwrap_or_default()).collect();
        let models: BTreeSet<_> = whens().map(|when| when.model.as_deref().unwrap_or_default()).collect();
        let at = |elapsed, path, model| {
            let facts = Facts { number: 0, elapsed, path, model, prompt: u32::MAX, prefilled: true, streams: true };
            chances.iter().filter(|(when, _)| when.covers(&facts)).map(|(_, chance)| chance).sum::<f64>()
        };
        let places = starts.iter().flat_map(|start| paths.iter().map(move |path| (*start, *path)));
        let sums = places.flat_map(|(start, path)| models.iter().map(move |model| at(start, path, model)));
        sums.fold(0.0, f64::max)
    }

    /// The outage that is on.
    pub(super) fn outage_at(&self, elapsed: Duration) -> Option<&Fault> {
        self.outages.iter().find(|(during, _)| during.contains(&elapsed)).map(|(_, fault)| fault)
    }

    /// The fault for a request; one draw decides between all those that have a chance.
    pub(super) fn fault_for(&self, facts: &Facts<'_>, rng: &Rng) -> Option<&Fault> {
        let draw = rng.ratio();
        let mut passed = 0.0;
        let mut hit = |chance: f64| {
            let range = passed..passed + chance;
            passed = range.end;
            range.contains(&draw)
        };
        self.faults
            .iter()
            .filter(|(when, fault)| when.holds(facts) && (facts.streams || !fault.needs_stream()))
            .find(|(when, _)| when.chance.is_none_or(&mut hit))
            .map(|(_, fault)| fault)
    }

    /// The chance of one request, whatever the order in which requests come.
    pub(super) fn rng(&self, number: u64) -> Rng {
        // Mixed once more: seeds next to each other would give parts of one sequence.
        Rng::seeded(Rng::seeded(self.seed).bits() ^ Rng::seeded(number).bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Phase;

    fn kinds(script: &Script) -> Vec<Option<u16>> {
        let fault = |n| {
            script.fault_for(&Facts::new(n, Duration::ZERO, "/", None), &script.rng(n)).and_then(|fault| fault.status)
        };
        (1..=10_000).map(fault).collect()
    }

    fn two_chances(seed: u64) -> Script {
        Script::seeded(seed).fault(When::chance(0.3), Fault::status(500)).fault(When::chance(0.3), Fault::status(503))
    }

    #[test]
    fn chances_are_shares_of_all_requests_whatever_their_order() {
        let kinds = kinds(&two_chances(1));
        for status in [500, 503] {
            let hits = kinds.iter().filter(|kind| **kind == Some(status)).count();
            // Five standard deviations of a binomial with n = 10,000 and p = 0.3 are 230.
            assert!(hits.abs_diff(3000) < 230, "{status}: {hits}");
        }
    }

    #[test]
    fn a_seed_gives_its_faults_again_and_another_seed_others() {
        assert_eq!(kinds(&two_chances(1)), kinds(&two_chances(1)));
        assert_ne!(kinds(&two_chances(1)), kinds(&two_chances(2)));
    }

    #[test]
    fn the_first_fault_that_is_for_a_request_happens() {
        let script = Script::seeded(0)
            .fault(When::nth(2), Fault::status(501))
            .fault(When::first(3), Fault::status(502))
            .fault(When::every(5).path("/v1"), Fault::status(503))
            .fault(When::always().from(Duration::from_secs(1)).to(Duration::from_secs(2)), Fault::cut(Phase::InBody));
        let at = |n, ms, path| {
            let fault = script.fault_for(&Facts::new(n, Duration::from_millis(ms), path, None), &script.rng(n))?;
            Some(fault.status.unwrap_or(0))
        };
        assert_eq!([1, 2, 3, 4, 5].map(|n| at(n, 0, "/v1/x")), [Some(502), Some(501), Some(502), None, Some(503)]);
        assert_eq!([at(5, 0, "/v2"), at(10, 0, "/v1")], [None, Some(503)]);
        assert_eq!([999, 1000, 1999, 2000].map(|ms| at(6, ms, "/")), [None, Some(0), Some(0), None]);
    }
}
