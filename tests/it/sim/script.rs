//! Scripts as text.
use super::*;
use seawall::sim::{Answer, Fault, Framing, Garble, Limits, Script, When};
use std::{fs, num::NonZeroU32, path::Path};

#[test]
fn a_script_in_toml_is_the_one_that_is_built() {
    let text = r#"
        seed = 9
        keep-bodies = 1000
        [answer]
        delay = "20ms..1.5s"
        text = "hi"
        framing = "chunked"
        reasoning = "hm"
        cached = 5
        cache-written = 6
        [[answer.tool-call]]
        name = "add"
        arguments = '{"a": 4}'
        [[answer.tool-call]]
        name = "now"
        arguments = ""
        [limits]
        requests-per-minute = 60
        tokens-per-minute = 1000
        burst = 5
        concurrency = 4
        [[outage]]
        from = "1s"
        to = "2m"
        reset = "before-head"
        [[fault]]
        nth = 3
        status = 429
        headers = { retry-after = "1" }
        body = "{}"
        [[fault]]
        chance = 0.25
        from = "1s"
        to = "2s"
        path = "/v1"
        delay = "5ms"
        at = "in-body"
        framing = "length"
        [[fault]]
        every = 5
        silence = "in-head"
        lasting = "1s"
        [[fault]]
        first = 2
        garble = "content-type"
        [[fault]]
        cut = "at-end"
        status = 500
        [[fault]]
        huge-body = 10
        [[fault]]
        huge-header = 10
    "#;
    let limit = |n| NonZeroU32::new(n).unwrap();
    let limits = Limits::default().requests_per_minute(limit(60)).tokens_per_minute(limit(1000));
    let second = Duration::from_secs(1);
    let answer = Answer::default().delay(ms(20)..ms(1500)).text("hi").framing(Framing::Chunked).reasoning("hm");
    let built = Script::seeded(9)
        .keep_bodies(1000)
        .answer(answer.cached(5).cache_written(6).tool_call("add", r#"{"a": 4}"#).tool_call("now", ""))
        .limits(limits.burst(limit(5)).concurrency(limit(4)))
        .outage(second..120 * second, Fault::reset(Phase::BeforeHead))
        .fault(When::nth(3), Fault::status(429).header("retry-after", "1").body("{}"))
        .fault(
            When::chance(0.25).from(second).to(2 * second).path("/v1"),
            Fault::delay(Phase::InBody, ms(5)).framing(Framing::Length),
        )
        .fault(When::every(5), Fault::silence_for(Phase::InHead, second))
        .fault(When::first(2), Fault::garbled(Garble::ContentType))
        .fault(When::always(), Fault::cut(Phase::AtEnd).with_status(500))
        .fault(When::always(), Fault::huge_body(10))
        .fault(When::always(), Fault::huge_header(10));
    assert_eq!(Script::parse(text).unwrap(), built);
    let refusing = Script::seeded(0).answer(Answer::default().refusal("No."));
    assert_eq!(Script::parse("[answer]\nrefusal = \"No.\"").unwrap(), refusing);
}

#[test]
fn a_bad_script_says_where_and_why() {
    let cases = [
        ("seed = 1\nsede = 2", "line 2 (sede = 2): unknown field `sede`"),
        ("[[fault]]\nstatus = 500\nchanse = 0.5", "line 3 (chanse = 0.5): unknown field `chanse`"),
        ("[limits]\nrequests = 5", "line 2 (requests = 5): unknown field `requests`"),
        ("[limits]\nrequests-per-minute = 0", "line 2 (requests-per-minute = 0): invalid value: integer `0`"),
        ("seed = -1", "line 1 (seed = -1): invalid value: integer `-1`"),
        ("seed = ", "line 1 (seed =): "),
        (
            "\n[[fault]]\nreset = \"in-tail\"",
            "line 3 (reset = \"in-tail\"): unknown variant `in-tail`, expected one of `before-head`",
        ),
        ("[[fault]]\ndelay = \"5 days\"", "line 2 (delay = \"5 days\"): expected a wait such as \"250ms\""),
        ("[answer]\n\ndelay = \"2s..1s\"", "line 3 (delay = \"2s..1s\"): expected a wait"),
        ("[[fault]]\nnth = 1", "line 1 ([[fault]]): fault: says nothing and does nothing"),
        ("[[fault]]\ncut = \"in-body\"\nreset = \"in-body\"", "line 1 ([[fault]]): fault: one of delay, silence, cut"),
        ("[[fault]]\nreset = \"in-body\"\nat = \"in-head\"", "at: is the phase of a `delay`"),
        ("[[fault]]\nreset = \"in-body\"\nlasting = \"1s\"", "lasting: is for a `silence`"),
        ("seed = 1\n[[fault]]\nstatus = 204", "line 2 ([[fault]]): status: 204 is no final status"),
        ("[[fault]]\nstatus = 99", "status: 99 is no final status"),
        ("[[fault]]\nstatus = 500\nchance = 1.5", "chance: a share of the requests"),
        ("[[fault]]\nstatus = 500\nchance = nan", "chance: a share of the requests"),
        ("[[fault]]\nstatus = 500\nnth = 0", "nth, first, every: requests are counted from 1"),
        ("[[fault]]\nstatus = 500\nfrom = \"2s\"\nto = \"1s\"", "to: must come after `from`"),
        ("[[fault]]\nstatus = 500\nheaders = { \"a b\" = \"1\" }", "headers: \"a b\" is no header name"),
        ("[[fault]]\nstatus = 500\nheaders = { a = \"1\\n\" }", "headers: the value of \"a\" holds characters"),
        ("[[fault]]\nstatus = 500\nheaders = { Content-Length = \"1\" }", "is written by the framing"),
        ("[[fault]]\nhuge-header = 999_999_999", "huge-header: at most 16777216 bytes"),
        ("[[outage]]\nstatus = 500\nfrom = \"1s\"", "line 1 ([[outage]]): outage: needs `from` and `to`"),
        ("[[outage]]\nstatus = 500\nfrom = \"1s\"\nto = \"2s\"\nnth = 1", "outage: takes every request"),
        ("[answer]\nrefusal = \"No.\"\ntext = \"Yes.\"", "refusal: stands alone"),
        ("[answer]\nrefusal = \"No.\"\n[[answer.tool-call]]\nname = \"f\"\narguments = \"\"", "refusal: stands alone"),
        ("[[answer.tool-call]]\nname = \"a b\"\narguments = \"\"", "tool-call: \"a b\" is no name of a tool"),
        ("[[answer.tool-call]]\nname = \"f\"", "line 1 ([[answer.tool-call]]): missing field `arguments`"),
        ("[limits]\nburst = 5", "burst: has no effect without `requests-per-minute`"),
        (
            "[[fault]]\nstatus = 500\nchance = 0.6\n[[fault]]\nstatus = 502\nchance = 0.6",
            "chance: the chances for one request sum up to 1.200",
        ),
    ];
    for (text, expected) in cases {
        let message = Script::parse(text).unwrap_err().to_string();
        assert!(message.contains(expected), "{text}\n  says: {message}\n  not:  {expected}");
    }
}

#[test]
fn chances_that_no_request_can_meet_together_may_sum_up_to_more_than_one() {
    let (one, two, three) = (ms(1000), ms(2000), ms(3000));
    let script = Script::seeded(1)
        .fault(When::chance(0.8).to(one), Fault::status(500))
        .fault(When::chance(0.8).from(one).to(three), Fault::status(500));
    assert!(script.check().is_ok());
    assert!(script.clone().fault(When::chance(0.3).from(two), Fault::status(500)).check().is_err());
    assert!(script.fault(When::chance(0.2).from(two), Fault::status(500)).check().is_ok());
}

#[test]
fn the_example_scripts_and_the_presets_make_sense() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/scripts");
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 3);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with('#'), "{file:?} says what it is for");
        Script::parse(&text).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    }
    Script::storm(1).check().unwrap();
    Script::chaos(1).check().unwrap();
}
