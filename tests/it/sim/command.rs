//! `seawall mock-provider`.
use super::*;
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Output, Stdio},
};

/// Ends the command with the test, also when that fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn seawall(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seawall"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn script(name: &str, text: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn failing(arguments: &[&str]) -> String {
    let Output { status, stderr, stdout } = seawall(arguments).output().unwrap();
    assert!(!status.success() && stdout.is_empty());
    String::from_utf8(stderr).unwrap()
}

#[test]
fn it_prints_its_base_url_and_then_each_attempt() {
    let script = script("one-fault.toml", "[[fault]]\nnth = 1\nstatus = 529\n");
    let mut child = Killed(seawall(&["mock-provider", &script]).spawn().unwrap());
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let url = lines.next().unwrap();
    let address = url.strip_prefix("http://").unwrap().strip_suffix("/v1").unwrap();
    assert!(address.starts_with("127.0.0.1:"), "{url}");
    for status in ["529", "200"] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(post("authorization: Bearer sk-abc\r\nconnection: close\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
    let records: Vec<String> = lines.by_ref().take(2).collect();
    let first: serde_json::Value = serde_json::from_str(&records[0]).unwrap();
    assert_eq!((&first["number"], &first["status"]), (&1.into(), &529.into()));
    assert_eq!((&first["fault"], &first["end"]), (&"answer".into(), &"answered".into()));
    assert!(records[1].contains(r#""authorization":"…""#) && !records[1].contains("sk-abc"), "{}", records[1]);
}

#[test]
fn it_says_what_is_wrong_with_a_script() {
    let script = script("bad.toml", "seed = 1\n[[fault]]\nstatsu = 500\n");
    let message = failing(&["mock-provider", &script]);
    assert!(
        message.starts_with("seawall: ") && message.contains("bad.toml: script: line 3 (statsu = 500)"),
        "{message}"
    );
    assert!(failing(&["mock-provider", "no-such.toml"]).starts_with("seawall: no-such.toml: "));
    assert!(failing(&["mock-provider"]).contains("<SCRIPT>"));
}

#[test]
fn it_goes_on_and_ends_although_nobody_reads_its_lines() {
    let script = script("no-fault.toml", "seed = 1\n");
    let mut child = Killed(seawall(&["mock-provider", &script]).spawn().unwrap());
    let mut stdout = BufReader::new(child.0.stdout.take().unwrap());
    let mut url = String::new();
    stdout.read_line(&mut url).unwrap();
    let address = url.trim_end().strip_prefix("http://").unwrap().strip_suffix("/v1").unwrap();
    // A pipe holds 64 KiB, which some hundred lines fill.
    for _ in 0..800 {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(post("connection: close\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    let pid = child.0.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let mut told = String::new();
    child.0.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(told.starts_with("800 attempts") && child.0.wait().unwrap().success(), "{told}");
}
