//! The shapes, each with what must come of it.
use crate::{Days, Played, seconds};
use seawall::{Error, Kind, Phase, Usage, chat, recovery::Recovery};
use std::{future::Future, pin::Pin, time::Duration};
use tokio::time::Instant;

pub struct Day {
    pub name: &'static str,
    /// Scripts of the two providers.
    pub primary: &'static str,
    pub fallback: &'static str,
    pub is_buffered_too: bool,
    /// Whoever asks sees the same of it in every protocol.
    pub is_of_routes_alone: bool,
    pub play: fn(Played, Recovery) -> Judged,
}

type Judged = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

/// What became of a call, read to its end.
struct Got {
    reply: Option<chat::Reply>,
    end: Result<(), Error>,
    took: Duration,
}

impl Got {
    fn tokens(&self) -> usize {
        self.reply.as_ref().map_or(0, |reply| reply.text().split_whitespace().count())
    }

    fn is_whole(&self) -> bool {
        self.end.is_ok() && self.tokens() == 60
    }

    fn kind(&self) -> Option<Kind> {
        self.end.as_ref().err().map(Error::kind)
    }

    fn model(&self) -> &str {
        self.reply.as_ref().and_then(|reply| reply.model()).unwrap_or_default()
    }

    fn usage(&self) -> Option<Usage> {
        self.reply.as_ref().and_then(|reply| reply.usage())
    }
}

impl Played {
    fn question() -> chat::Request {
        chat::Request::new("m").user("Count to sixty.").stream()
    }

    async fn asks(&self, request: chat::Request) -> Got {
        let start = Instant::now();
        match (self.ask)(request).await {
            Ok(mut reply) => {
                let end = reply.read().await;
                Got { reply: Some(reply), end, took: start.elapsed() }
            }
            Err(error) => Got { reply: None, end: Err(error), took: start.elapsed() },
        }
    }

    async fn ask(&self) -> Got {
        self.asks(Self::question()).await
    }

    fn sent(&self) -> (u64, u64) {
        (self.primary.seen(), self.fallback.seen())
    }

    /// When each request reached the primary, since the first.
    fn times(&self) -> Vec<Duration> {
        let records = self.primary.log().records;
        let first = records.first().map_or(Duration::ZERO, |record| record.at);
        records.iter().map(|record| record.at - first).collect()
    }
}

impl Days {
    /// What callers of the example know of a failure: what it means for them, in the words of their protocol.
    fn told(self, kind: Kind) -> Kind {
        match (self.callers, kind) {
            ("openai" | "anthropic", Kind::Transport) => Kind::Server,
            ("anthropic", Kind::ContentFiltered) => Kind::InvalidRequest,
            _ => kind,
        }
    }
}

fn judge(holds: bool, told: String) -> Result<String, String> {
    if holds { Ok(told) } else { Err(told) }
}

fn told(got: &Got, played: &Played) -> String {
    let (primary, fallback) = played.sent();
    let end = match &got.end {
        Ok(()) => "whole".to_owned(),
        Err(error) => format!("{error}"),
    };
    let life = got.took.as_secs_f64() * f64::from(crate::SPEED);
    format!("{} tokens of `{}`, {end}; {primary} + {fallback} sends in {life:.1} s", got.tokens(), got.model())
}

macro_rules! day {
    ($name:literal, $primary:expr, $fallback:expr, $play:expr) => {
        Day {
            name: $name,
            primary: $primary,
            fallback: $fallback,
            is_buffered_too: false,
            is_of_routes_alone: false,
            play: |played, recovery| {
                Box::pin(async move {
                    let play: fn(
                        &Played,
                        Recovery,
                    ) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send + '_>> = $play;
                    play(&played, recovery).await
                })
            },
        }
    };
}

/// One call, and what must be true of it.
macro_rules! once {
    ($holds:expr) => {
        |played, _| {
            Box::pin(async move {
                let got = played.ask().await;
                let holds: fn(&Got, &Played) -> bool = $holds;
                judge(holds(&got, played), told(&got, played))
            })
        }
    };
}

const NOTHING: &str = "";
const USAGE: &str = "answer.stream = { usage = \"always\" }";

pub const DAYS: [Day; 16] = [
    day!(
        "1. a 429 with Retry-After 2, once",
        "[[fault]]\nnth = 1\nstatus = 429\nheaders = { retry-after-ms = \"200\" }",
        NOTHING,
        once!(|got, played| { got.is_whole() && played.sent() == (2, 0) && played.times()[1] >= seconds(2.0) })
    ),
    day!(
        "2. a 429 for ever",
        "[[fault]]\nstatus = 429",
        NOTHING,
        once!(|got, played| {
            let (primary, fallback) = played.sent();
            let early = played.times().iter().filter(|at| **at <= seconds(3.0)).count();
            got.is_whole() && got.model() == "larger" && early <= 4 && primary + fallback <= 6 && fallback == 1
        })
    ),
    day!(
        "3. a 500 once",
        "[[fault]]\nnth = 1\nstatus = 500",
        NOTHING,
        once!(|got, played| got.is_whole() && played.sent() == (2, 0))
    ),
    day!(
        "4. a 503 for ever",
        "[[fault]]\nstatus = 503",
        NOTHING,
        once!(|got, played| {
            let (primary, fallback) = played.sent();
            got.is_whole() && got.model() == "larger" && primary <= 6 && fallback == 1
        })
    ),
    day!(
        "5. a reset before the headers",
        "[[fault]]\nnth = 1\nreset = \"before-head\"",
        NOTHING,
        once!(|got, _| got.is_whole())
    ),
    day!(
        "6. silence",
        "[[fault]]\nsilence = \"before-head\"",
        NOTHING,
        once!(|got, played| got.is_whole() && played.sent() == (1, 1))
    ),
    day!(
        "7. the first token after 20 s",
        "answer.stream.first-token = \"2s\"",
        NOTHING,
        once!(|got, played| got.is_whole()
            && got.model() == "larger"
            && got.took <= seconds(15.0)
            && played.sent().1 == 1)
    ),
    Day {
        is_buffered_too: true,
        ..day!(
            "8. a cut at 40 of 60 tokens: short of its end, reset, and as if it were the end",
            r#"
            [[fault]]
            nth = 1
            cut = { after-tokens = 40 }
            [[fault]]
            nth = 2
            reset = { after-tokens = 40 }
            [[fault]]
            nth = 3
            truncate = { after-tokens = 40 }
            "#,
            NOTHING,
            |played, recovery| Box::pin(async move {
                let all = [played.ask().await, played.ask().await, played.ask().await];
                let is_cut = |got: &Got| {
                    let is_told = got.end.as_ref().is_err_and(|error| error.is_delivered() && error.sends() == 1);
                    got.kind() == Some(played.days.told(Kind::Transport)) && got.tokens() <= 40 && is_told
                };
                let holds = match recovery {
                    Recovery::BufferThenRestart => all.iter().all(Got::is_whole),
                    _ => all.iter().all(is_cut) && all[0].tokens() == 40 && played.sent() == (3, 0),
                };
                judge(holds, all.iter().map(|got| told(got, played)).collect::<Vec<_>>().join("\n    "))
            })
        )
    },
    day!("9. a stall after 20 tokens", "[[fault]]\nnth = 1\nsilence = { after-tokens = 20 }", NOTHING, |played, _| {
        Box::pin(async move {
            let (got, next) = (played.ask().await, played.ask().await);
            let is_idle = got.end.as_ref().is_err_and(|error| {
                let phase = if played.days.is_served() { Phase::Body } else { Phase::Idle };
                error.kind() == Kind::Timeout && error.phase() == Some(phase) && error.is_delivered()
            });
            let holds = is_idle && got.tokens() == 20 && got.took <= seconds(45.0) && next.is_whole();
            judge(holds, told(&got, played))
        })
    }),
    day!(
        "10. one malformed event",
        "[[fault]]\nevent = \"not-json\"\nat = { after-tokens = 30 }",
        NOTHING,
        once!(|got, played| {
            // Callers of the example do not see it at all.
            let skipped = u32::from(!played.days.is_served());
            got.is_whole()
                && got.reply.as_ref().is_some_and(|reply| reply.skipped() == skipped)
                && played.sent() == (1, 0)
        })
    ),
    day!(
        "11. no [DONE], also with the connection left open",
        "answer.stream = { terminator = false, usage = \"always\" }\n[[fault]]\nnth = 2\nsilence = \"at-end\"",
        NOTHING,
        |played, _| Box::pin(async move {
            let (closed, open) = (played.ask().await, played.ask().await);
            let at_once = |got: &Got| {
                let told = got.usage().is_some_and(|usage| !usage.estimated && usage.output > 0);
                got.is_whole() && told && got.took < Duration::from_secs(1)
            };
            // OpenAI's answer is all there with its usage. Anthropic's own ending is never left out: without it an answer is cut.
            let holds = match played.days.routes {
                "anthropic" => {
                    let cut = [played.days.told(Kind::Transport), Kind::Timeout];
                    [closed.kind(), open.kind()] == cut.map(Some) && (closed.tokens(), open.tokens()) == (60, 60)
                }
                _ => at_once(&closed) && at_once(&open),
            };
            judge(holds && played.sent() == (2, 0), format!("{}\n    {}", told(&closed, played), told(&open, played)))
        })
    ),
    day!(
        "12. a prompt that is too long, but for the larger model",
        r#"
        [[fault]]
        prompt-over = 500
        status = 400
        body = '{"error": {"message": "Too long.", "type": "invalid_request_error", "code": "context_length_exceeded"}}'
        "#,
        NOTHING,
        |played, _| Box::pin(async move {
            let got = played.asks(chat::Request::new("m").user("word ".repeat(600)).stream()).await;
            let holds = got.is_whole() && got.model() == "larger" && played.sent() == (1, 1);
            judge(holds, told(&got, played))
        })
    ),
    day!(
        "13. a content filter",
        r#"
        [[fault]]
        status = 400
        body = '{"error": {"message": "No such things.", "type": "invalid_request_error", "code": "content_filter"}}'
        "#,
        NOTHING,
        once!(|got, played| {
            let reason = got.end.as_ref().err().and_then(|error| error.message().map(str::to_owned));
            got.kind() == Some(played.days.told(Kind::ContentFiltered))
                && reason.is_some_and(|reason| reason.contains("No such things."))
                && played.sent() == (1, 0)
        })
    ),
    day!(
        "14. a cut, and a fallback that refuses a prefill",
        "[[fault]]\ncut = { after-tokens = 40 }",
        r#"
        [[fault]]
        prefilled = true
        status = 400
        body = '{"error": {"message": "No prefill.", "type": "invalid_request_error", "code": "unsupported_value"}}'
        "#,
        once!(|got, played| got.kind() == Some(played.days.told(Kind::Transport)) && got.tokens() == 40)
    ),
    Day {
        is_of_routes_alone: true,
        ..day!(
            "15. the primary is down for 60 s, and 20 calls come, one in 4 s",
            "[[outage]]\nfrom = \"0s\"\nto = \"6s\"\nstatus = 503",
            NOTHING,
            |played, _| Box::pin(async move {
                let start = Instant::now();
                let (mut whole, mut back) = (0, None);
                for call in 0..24 {
                    tokio::time::sleep_until(start + seconds(4.0) * call).await;
                    let got = played.ask().await;
                    if call < 20 {
                        whole += u32::from(got.is_whole());
                    }
                    if got.model() == "m" && back.is_none() {
                        back = Some(start.elapsed());
                    }
                }
                let back = back.map(|at| at.saturating_sub(seconds(60.0)));
                let openings = played.seen.count("openings", "primary");
                // Asked at each call and twice again it would have had 45 by then. Nobody outside sees it open.
                let is_spared = if played.days.is_served() { played.sent().0 <= 30 } else { openings >= 1 };
                let holds = whole == 20 && is_spared && back.is_some_and(|late| late <= seconds(30.0));
                let late = back.map(|late| late.as_secs_f64() * f64::from(crate::SPEED));
                judge(
                    holds,
                    format!("{whole} answered, {openings} openings, back after {late:?} s, sends {:?}", played.sent()),
                )
            })
        )
    },
    day!(
        "16. a 503 for ever, and a fallback with usage",
        "[[fault]]\nstatus = 503",
        USAGE,
        once!(|got, played| {
            let records = played.fallback.log().records;
            let usage = got.usage().filter(|usage| !usage.estimated && usage.output > 0 && usage.input > 0);
            got.is_whole() && got.model() == "larger" && usage.is_some() && records.len() == 1
        })
    ),
];
