use super::{FaultKind, Phase};
use bytes::Bytes;
use serde::{Serialize, Serializer};
use std::{collections::BTreeMap, time::Duration};

/// One attempt, as the provider saw it. As JSON, a line of what `seawall mock-provider` prints.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// Which request it was, from 1.
    pub number: u64,
    /// When it was read, since the start of the provider.
    #[serde(rename = "at_ms", serialize_with = "as_millis")]
    pub at: Duration,
    /// Its method.
    pub method: String,
    /// Its path without the query, which may hold a key.
    pub path: String,
    /// Its headers that tell something about an attempt; the value of a credential is `…`.
    pub headers: BTreeMap<String, String>,
    /// How long its body was.
    pub body_len: u64,
    /// Its body, where the script [keeps](super::Script::keep_bodies) bodies and there was room for it. As JSON it is text.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub body: Option<Bytes>,
    /// What went wrong with it.
    pub fault: Option<FaultKind>,
    /// And where.
    pub phase: Option<Phase>,
    /// The status of the answer, as soon as its head was to go out.
    pub status: Option<u16>,
    /// How many bytes of the answer's body went out.
    pub sent: u64,
    /// How many events of a stream went out whole, pings among them and comments not.
    pub events: u64,
    /// How many tokens did: see [`Stream`](super::Stream).
    pub tokens: u64,
    /// How it ended.
    pub end: End,
    /// How long that took: where the client hung up, until that was noticed.
    #[serde(rename = "took_ms", serialize_with = "as_millis")]
    pub took: Duration,
}

impl Record {
    pub(super) fn new(number: u64, at: Duration) -> Self {
        Self {
            number,
            at,
            method: String::new(),
            path: String::new(),
            headers: BTreeMap::new(),
            body_len: 0,
            body: None,
            fault: None,
            phase: None,
            status: None,
            sent: 0,
            events: 0,
            tokens: 0,
            end: End::Open,
            took: Duration::ZERO,
        }
    }
}

/// How an attempt ended.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// It is under way.
    Open,
    /// The answer went out to its own end.
    Answered,
    /// The provider broke it, as the script says.
    Broken,
    /// The client left first.
    HungUp,
    /// It was no request that could be read; it got a 4xx, and the connection was closed.
    Unreadable,
    /// The provider was shut down.
    Shutdown,
}

/// What a provider saw: the first 100,000 attempts, and how many more there were.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// In the order in which they came.
    pub records: Vec<Record>,
    /// How many came when the log was full.
    pub dropped: u64,
}

impl Log {
    const MOST: usize = 100_000;

    /// Gives the place of the record, if one is left.
    pub(super) fn push(&mut self, record: &Record) -> Option<usize> {
        if self.records.len() == Self::MOST {
            self.dropped += 1;
            return None;
        }
        self.records.push(record.clone());
        Some(self.records.len() - 1)
    }
}

/// Headers worth a look, all others are left out; of those in the second list only that they were there.
const SHOWN: [&str; 8] = [
    "accept",
    "content-length",
    "content-type",
    "host",
    "idempotency-key",
    "traceparent",
    "user-agent",
    "x-stainless-retry-count",
];
const HIDDEN: [&str; 4] = ["authorization", "api-key", "x-api-key", "x-goog-api-key"];

/// At most so much of a path or a header is kept.
const MOST_BYTES: usize = 256;

pub(super) fn shown<'a>(headers: impl Iterator<Item = (&'a str, &'a [u8])>) -> BTreeMap<String, String> {
    let named = headers.map(|(name, value)| (name.to_ascii_lowercase(), value));
    let value = |(name, value): (String, &[u8])| match name.as_str() {
        name if HIDDEN.contains(&name) => Some((name.to_owned(), "…".to_owned())),
        name if SHOWN.contains(&name) => Some((name.to_owned(), shortened(&String::from_utf8_lossy(value)))),
        _ => None,
    };
    named.filter_map(value).collect()
}

pub(super) fn shortened(text: &str) -> String {
    text.char_indices().take_while(|(at, _)| *at < MOST_BYTES).map(|(_, char)| char).collect()
}

fn as_millis<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_micros() as f64 / 1000.0)
}

fn as_text<S: Serializer>(body: &Option<Bytes>, serializer: S) -> Result<S::Ok, S::Error> {
    String::from_utf8_lossy(body.as_deref().unwrap_or_default()).serialize(serializer)
}
