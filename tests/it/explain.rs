//! The `explain` command, run as a person or a script runs it.
use std::{
    io::Write,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

fn explain(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seawall"));
    command.arg("explain").args(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    output
}

fn said(arguments: &[&str], input: &str) -> String {
    let output = explain(arguments, input.as_bytes());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn lines(input: &str) -> Vec<Value> {
    said(&["--jsonl"], input).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The shared corpus where it is at hand; checks that run with it may not pass over it in silence.
pub fn shared_corpus() -> Option<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let shared = std::env::var_os("SEAWALL_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    let text = std::fs::read_to_string(shared.join("corpus/provider_errors.jsonl")).ok();
    assert!(text.is_some() || std::env::var_os("SEAWALL_SHARED_REQUIRED").is_none(), "no corpus in {shared:?}");
    if text.is_none() {
        println!("no shared corpus at {shared:?}: only the project's own fixtures are checked");
    }
    text
}

fn assert_line(line: &Value, verdict: &Value) {
    let (id, expect) = (&line["id"], &line["expect"]);
    assert_eq!(&verdict["id"], id);
    for field in ["kind", "retryable", "failover_on_429", "scope"] {
        assert_eq!(&verdict[field], &expect[field], "{field} of {id}");
    }
    match (verdict["retry_after_ms"].as_u64(), expect["retry_after_ms"].as_u64()) {
        (Some(said), Some(expected)) => assert!(said.abs_diff(expected) <= 1, "{said} for {expected} ms of {id}"),
        (said, expected) => assert_eq!(said, expected, "retry_after_ms of {id}"),
    }
}

#[test]
fn every_line_of_the_corpus_comes_out_as_expected_and_in_order() {
    let Some(text) = shared_corpus() else { return };
    let input: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let verdicts = lines(&text);
    assert_eq!(verdicts.len(), input.len());
    for (line, verdict) in input.iter().zip(&verdicts) {
        assert_line(line, verdict);
    }
}

#[test]
fn a_verdict_has_the_six_fields_and_null_where_there_is_nothing() {
    let line = r#"{"id":"x","provider":"openai","surface":"http","status":500,"headers":{},"body":""}"#;
    assert_eq!(
        said(&["--jsonl"], line),
        "{\"id\":\"x\",\"kind\":\"server\",\"retryable\":true,\"failover_on_429\":false,\
         \"retry_after_ms\":null,\"scope\":null}\n"
    );
}

#[test]
fn a_line_that_cannot_be_read_says_why_and_the_rest_goes_on() {
    let good = r#"{"id":"y","surface":"http","status":401,"headers":{},"body":""}"#;
    let bad = [
        "not json",
        r#"{"id":"x","surface":"carrier pigeon","status":500}"#,
        r#"{"id":"x","surface":"http"}"#,
        r#"{"id":"x","surface":"http","status":7}"#,
        r#"{"id":"x","surface":"http","status":500,"body_b64":"%"}"#,
    ];
    let verdicts = lines(&format!("{}\n\n{good}\n", bad.join("\n")));
    assert_eq!(verdicts.len(), 6);
    for (number, verdict) in verdicts[..5].iter().enumerate() {
        let error = verdict["error"].as_str().unwrap();
        assert!(error.starts_with(&format!("line {}: ", number + 1)) && verdict["kind"].is_null(), "{error}");
    }
    assert_eq!(verdicts[5]["kind"], "auth");
}

#[test]
fn what_curl_printed_is_explained() {
    let text = said(
        &[],
        "HTTP/2 429 \r\nretry-after-ms: 1574\r\ncontent-type: application/json\r\n\r\n\
         {\"error\":{\"message\":\"Rate limit reached on tokens per min (TPM)\",\"code\":\"rate_limit_exceeded\"}}",
    );
    assert!(text.starts_with("rate_limited: the stack waits 1.574s and retries\n"), "{text}");
    for part in ["429", "rate_limit_exceeded", "tpm", "failover on 429"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a_wait_over_the_cap_ends_and_an_empty_account_is_not_retried() {
    let text = said(&[], "HTTP/1.1 429 Too Many Requests\nRetry-After: 3600\n\n");
    assert!(text.starts_with("rate_limited: the stack gives up: 3600s"), "{text}");
    let text = said(&[], "HTTP/1.1 429 Too Many Requests\n\n{\"error\":{\"code\":\"insufficient_quota\"}}");
    assert!(text.starts_with("quota_exhausted: the stack gives up at once"), "{text}");
}

#[test]
fn of_several_heads_the_last_one_counts() {
    let text = said(
        &[],
        "HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Busy\r\n\r\nbusy",
    );
    assert!(text.starts_with("overloaded: "), "{text}");
    let text = said(&[], "HTTP/2 200\ncontent-type: text/event-stream\n\ndata: {\"choices\":[]}\n\n");
    assert!(text.starts_with("transport: "), "a cut stream: {text}");
}

#[test]
fn input_without_a_status_line_is_told_what_to_do() {
    for input in [&b""[..], b"{\"error\":{}}", b"\xff\xfe\x00", b"HTTP/2 twelve\n\n"] {
        let output = explain(&[], input);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains("curl -i"), "{text}");
    }
}

#[test]
fn what_a_terminal_obeys_is_not_printed() {
    let text = said(
        &[],
        "HTTP/1.1 429 Busy\r\n\r\n{\"error\":{\"message\":\"a\\u001b[2Jb\\u202ec\\u009bd\",\"code\":\"e\\u0007f\"}}",
    );
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']) && text.contains("[2Jb"), "{text:?}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = env!("CARGO_TARGET_TMPDIR");
    for path in [folder, "no-such-answer"] {
        for arguments in [&[path][..], &["--jsonl", path]] {
            let output = explain(arguments, b"");
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success() && text.starts_with(&format!("seawall: {path}: ")), "{text}");
        }
    }
}

#[test]
fn a_failure_that_nobody_reads_is_a_failure_all_the_same() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status =
        Command::new(env!("CARGO_BIN_EXE_seawall")).args(["explain", "no-such-answer"]).stderr(writer).status();
    assert_eq!(status.unwrap().code(), Some(1));
}
