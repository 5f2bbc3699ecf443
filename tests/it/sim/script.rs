//! Scripts as text.
use super::*;
use seawall::sim::{Answer, BadEvent, Fault, Framing, Garble, Limits, LineEnds, ReportUsage, Script, Stream, When};
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
        nth = 9
        answer.echo = true
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
        .fault(When::nth(9), Fault::answer(Answer::default().echo()))
        .fault(When::always(), Fault::huge_body(10))
        .fault(When::always(), Fault::huge_header(10));
    assert_eq!(Script::parse(text).unwrap(), built);
    let refusing = Script::seeded(0).answer(Answer::default().refusal("No."));
    assert_eq!(Script::parse("[answer]\nrefusal = \"No.\"").unwrap(), refusing);
}

#[test]
fn streams_in_toml_are_those_that_are_built() {
    let text = r#"
        [answer]
        filtered = true
        [answer.stream]
        first-token = "1s..2s"
        per-token = "20ms"
        keep-alive = "500ms"
        line-ends = "crlf"
        chunks = 7
        usage = "always"
        terminator = false
        [[fault]]
        nth = 1
        cut = { after-tokens = 40 }
        [[fault]]
        nth = 2
        truncate = "in-body"
        [[fault]]
        nth = 3
        event = "error"
        status = 529
        [[fault]]
        nth = 4
        event = "not-json"
        at = { after-tokens = 3 }
        body = "<html>"
        [[fault]]
        nth = 5
        event = { huge = 1_000_000 }
        at = "at-end"
        [[fault]]
        model = "m"
        prompt-over = 100
        prefilled = true
        event = "not-utf8"
        [[fault]]
        answer = { text = "hi", stream = { line-ends = "cr" } }
    "#;
    let second = Duration::from_secs(1);
    let stream = Stream::default()
        .first_token(second..2 * second)
        .per_token(ms(20))
        .keep_alive(ms(500))
        .line_ends(LineEnds::CrLf)
        .chunks(7.try_into().unwrap())
        .usage(ReportUsage::Always)
        .without_terminator();
    let built = Script::seeded(0)
        .answer(Answer::default().filtered().stream(stream))
        .fault(When::nth(1), Fault::cut(Phase::AfterTokens(40)))
        .fault(When::nth(2), Fault::truncate(Phase::InBody))
        .fault(When::nth(3), Fault::event(Phase::BeforeBody, BadEvent::Error).with_status(529))
        .fault(When::nth(4), Fault::event(Phase::AfterTokens(3), BadEvent::NotJson).body("<html>"))
        .fault(When::nth(5), Fault::event(Phase::AtEnd, BadEvent::Huge(1_000_000)))
        .fault(
            When::always().model("m").prompt_over(100).prefilled(),
            Fault::event(Phase::BeforeBody, BadEvent::NotUtf8),
        )
        .fault(
            When::always(),
            Fault::answer(Answer::default().text("hi").stream(Stream::default().line_ends(LineEnds::Cr))),
        );
    assert_eq!(Script::parse(text).unwrap(), built);
}

#[test]
fn what_makes_no_sense_in_a_stream_is_refused() {
    let cases = [
        ("[answer.stream]\nper-tokens = \"1s\"", "line 2 (per-tokens = \"1s\"): unknown field `per-tokens`"),
        ("answer.stream.chunks = 0", "line 1 (answer.stream.chunks = 0): invalid value: integer `0`"),
        ("answer.stream.keep-alive = \"0s\"", "keep-alive: a sign of life takes time"),
        ("answer = { refusal = \"No.\", filtered = true }", "refusal: stands alone"),
        ("[[fault]]\ntruncate = \"in-head\"", "truncate: ends a body before its end"),
        ("[[fault]]\ntruncate = \"at-end\"", "truncate: ends a body before its end"),
        ("[[fault]]\nevent = \"error\"\nat = \"before-head\"", "event: stands in a body"),
        ("[[fault]]\nevent = \"not-utf8\"\nbody = \"\"", "body: is the data of an error"),
        ("[[fault]]\nevent = \"not-json\"\nstatus = 500", "status: words an error; this event is none"),
        ("[[fault]]\ncut = { after-tokens = 1 }\nstatus = 500", "after-tokens: is a place in a stream"),
        ("[[fault]]\ncut = { after-words = 1 }", "unknown variant `after-words`"),
        ("[[fault]]\nstatus = 500\nanswer = { text = \"hi\" }", "answer: is replaced by `status`"),
        ("[[fault]]\nanswer = { stream = { keep-alive = \"0s\" } }", "keep-alive: a sign of life takes time"),
        (
            "[[outage]]\nfrom = \"0s\"\nto = \"1s\"\ncut = { after-tokens = 1 }",
            "outage: answers every request with an error",
        ),
        ("[[outage]]\nfrom = \"0s\"\nto = \"1s\"\nstatus = 500\nmodel = \"m\"", "outage: takes every request"),
    ];
    for (text, expected) in cases {
        let message = Script::parse(text).unwrap_err().to_string();
        assert!(message.contains(expected), "{text}\n  says: {message}\n  not:  {expected}");
    }
}

#[test]
fn chances_that_one_request_can_meet_are_summed_up_whatever_each_is_for() {
    let half = |when: When| (when, Fault::status(500));
    let sum = |whens: [When; 2]| {
        let script =
            whens.into_iter().map(half).fold(Script::seeded(1), |script, (when, fault)| script.fault(when, fault));
        script.check().is_ok()
    };
    let chance = || When::chance(0.6);
    assert!(!sum([chance().path("/v1"), chance().model("m")]));
    assert!(!sum([chance().path("/v1/chat"), chance().from(ms(1000))]));
    assert!(!sum([chance().prompt_over(10), chance().prefilled()]));
    assert!(sum([chance().model("m"), chance().model("n")]), "no request is for both");
    assert!(sum([chance().path("/v1"), chance().path("/v2")]));
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
        ("[[fault]]\nreset = \"in-body\"\nat = \"in-head\"", "at: is the phase of a `delay` or an `event`"),
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
