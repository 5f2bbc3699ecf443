use super::{Answer, Fault, Garble, Limits, Phase, Script, When};
use crate::Rng;
use std::{num::NonZeroU32, time::Duration};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Script {
    /// A believable provider on a bad day, with waits short enough for a demonstration.
    ///
    /// About one answer in five goes wrong: 503 with a wait, 500, 502, 529, resets, cut bodies, slow answers, a few silences
    /// of three seconds, malformed bodies; one in two hundred is refused for its content, which no retry mends. For a
    /// second in the first half nothing works at all, and for another half second in the second half everybody is rate
    /// limited; the seed says when. It lets 100 requests through at once and 100 a second.
    #[must_use]
    pub fn storm(seed: u64) -> Self {
        let (rpm, burst) = (NonZeroU32::MIN.saturating_add(5999), NonZeroU32::MIN.saturating_add(99));
        let rng = Rng::seeded(seed);
        let (down, limited) = (ms(500) + rng.up_to(ms(1000)), ms(2500) + rng.up_to(ms(1500)));
        Self::seeded(seed)
            .answer(Answer::default().delay(ms(20)..ms(120)))
            .limits(Limits::default().requests_per_minute(rpm).burst(burst))
            .outage(down..down + ms(1000), Fault::status(503).header("retry-after", "1"))
            .outage(
                limited..limited + ms(500),
                Fault::status(429).header("retry-after-ms", "500").header("retry-after", "1"),
            )
            .fault(When::chance(0.03), Fault::status(500))
            .fault(When::chance(0.01), Fault::status(502).header("content-type", "text/html").body(BAD_GATEWAY))
            .fault(When::chance(0.04), Fault::status(503).header("retry-after-ms", "500"))
            .fault(When::chance(0.02), Fault::status(529).body(OVERLOADED))
            .fault(When::chance(0.02), Fault::reset(Phase::BeforeHead))
            .fault(When::chance(0.01), Fault::reset(Phase::InHead))
            .fault(When::chance(0.01), Fault::cut(Phase::InBody))
            .fault(When::chance(0.01), Fault::reset(Phase::InBody))
            .fault(When::chance(0.04), Fault::delay(Phase::BeforeHead, ms(400)..ms(1500)))
            .fault(When::chance(0.01), Fault::delay(Phase::InBody, ms(100)..ms(300)))
            .fault(When::chance(0.01), Fault::silence_for(Phase::BeforeHead, ms(3000)))
            .fault(When::chance(0.005), Fault::garbled(Garble::Json))
            .fault(When::chance(0.005), Fault::status(400).body(FILTERED))
    }

    /// Half of all requests go wrong, each fault at each phase equally often, for property tests.
    ///
    /// Silences last for ever, so callers need a timeout of their own. Bodies and headers are not huge but large, so
    /// that a hundred thousand calls are done in seconds.
    #[must_use]
    pub fn chaos(seed: u64) -> Self {
        let mut faults: Vec<Fault> = [400, 401, 404, 409, 429, 500, 503, 529].map(Fault::status).to_vec();
        faults.push(Fault::status(429).header("retry-after", "2"));
        faults.push(Fault::status(503).header("retry-after-ms", "1500"));
        for phase in Phase::ALL {
            faults.push(Fault::delay(phase, ms(1)..ms(30_000)));
            faults.push(Fault::silence(phase));
            faults.push(Fault::cut(phase));
            faults.push(Fault::reset(phase));
        }
        faults.extend(Garble::ALL.map(Fault::garbled));
        faults.extend([Fault::huge_body(256 << 10), Fault::huge_header(16 << 10)]);
        let share = 0.5 / faults.len() as f64;
        faults.into_iter().fold(Self::seeded(seed), |script, fault| script.fault(When::chance(share), fault))
    }
}

const BAD_GATEWAY: &str = "<html><head><title>502 Bad Gateway</title></head><body>502 Bad Gateway</body></html>";
const OVERLOADED: &str = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
const FILTERED: &str = concat!(
    r#"{"error":{"message":"The response was filtered due to the prompt triggering the content policy.","#,
    r#""type":"invalid_request_error","param":"prompt","code":"content_filter"}}"#,
);
