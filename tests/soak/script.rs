//! What the providers do, fault upon fault.
use seawall::sim::{Answer, BadEvent, Fault, Garble, Phase, Script, Stream, When};
use std::time::Duration;

pub const TOOL: &str = "look";

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// An answer that belongs to its question, or a call of each tool where tools are offered.
fn echo(stream: Stream) -> Answer {
    let calls = Answer::default().tool_call(TOOL, r#"{"at":"sea"}"#).tool_call(TOOL, r#"{"at":"land"}"#);
    calls.echo().stream(stream)
}

/// Every third part of the time one of the two is down for a while, and in the last one both are.
pub fn script(seed: u64, route: u32, time: Duration) -> Script {
    let words = Stream::default().first_token(ms(50)..ms(500)).per_token(ms(10)..ms(50)).keep_alive(ms(400));
    let model = |name: &str| When::always().model(name);
    let down = |third: u32, share: f64| {
        let from = time * third / 3 + time / 12;
        from..from + time.mul_f64(share)
    };
    let slow = Stream::default().first_token(ms(200)).per_token(ms(60));
    let endless = Stream::default().first_token(ms(200)).per_token(ms(900));
    let script = Script::seeded(seed + u64::from(route))
        .keep_bodies(1 << 30)
        .answer(echo(words).delay(ms(0)..ms(300)))
        .fault(model("slow"), Fault::answer(echo(slow).delay(ms(1500))))
        .fault(model("endless"), Fault::answer(echo(endless).delay(ms(1500))))
        .fault(model("failing"), Fault::status(503))
        .outage(down(route, 0.03), Fault::status(503))
        .outage(down(2, 0.03), Fault::status(503));
    let after = Phase::AfterTokens;
    let faults = [
        (0.004, Fault::status(429).header("retry-after", "1")),
        (0.02, Fault::status(503)),
        (0.01, Fault::status(503).header("retry-after", "1")),
        (0.02, Fault::status(529)),
        (0.02, Fault::status(500)),
        (0.01, Fault::status(400)),
        (0.02, Fault::reset(Phase::BeforeHead)),
        (0.01, Fault::reset(Phase::InHead)),
        (0.01, Fault::cut(Phase::BeforeBody)),
        (0.01, Fault::cut(Phase::InBody)),
        (0.01, Fault::cut(Phase::AtEnd)),
        (0.01, Fault::silence(Phase::BeforeHead)),
        (0.01, Fault::silence(Phase::InBody)),
        (0.01, Fault::silence(Phase::AtEnd)),
        (0.005, Fault::garbled(Garble::Head)),
        (0.005, Fault::garbled(Garble::ContentType)),
        (0.005, Fault::garbled(Garble::Json)),
        (0.005, Fault::garbled(Garble::Chunk)),
        (0.01, Fault::reset(after(3))),
        (0.02, Fault::cut(after(5))),
        (0.02, Fault::truncate(after(4))),
        (0.01, Fault::silence(after(6))),
        (0.01, Fault::event(after(3), BadEvent::Error).with_status(529)),
        (0.005, Fault::event(after(2), BadEvent::NotJson)),
        (0.01, Fault::event(Phase::BeforeBody, BadEvent::Error)),
        (0.02, Fault::delay(after(0), ms(1000)..ms(3000))),
        (0.01, Fault::delay(after(7), ms(1000)..ms(2500))),
    ];
    // At a cold start failures come before answers, and ten in a row open a circuit: the first moments are good ones.
    let from = (time / 20).max(ms(1500));
    let when = |share: f64| When::chance(share / 2.0).from(from);
    let script = faults.into_iter().fold(script, |script, (share, fault)| script.fault(when(share), fault));
    script.fault(model("gush"), Fault::answer(echo(Stream::default())))
}
