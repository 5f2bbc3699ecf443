//! What was promised of each call, against what went over the wire.
use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

use super::tap::{Send, Way};

pub struct Call {
    pub number: u64,
    pub cap: u32,
    pub deadline: Option<Instant>,
    pub ended: Instant,
    pub end: End,
}

#[derive(Debug)]
pub enum End {
    Answered { failed: u32 },
    Failed { sends: u32, text: String },
    Dropped,
}

#[derive(Default)]
pub struct Account {
    calls: Vec<Call>,
    sends: BTreeMap<u64, Vec<Send>>,
}

/// The sends of a call, those on one route together.
fn by_route(sends: &[Send]) -> Vec<&Send> {
    let mut sends: Vec<_> = sends.iter().collect();
    sends.sort_by_key(|send: &&Send| -> Way { send.way });
    sends
}

/// tokio's timer goes by the millisecond, and rounds up.
const TICK: Duration = Duration::from_millis(2);

impl Account {
    pub fn add(&mut self, call: Call) {
        self.calls.push(call);
    }

    pub fn sends(&self) -> usize {
        self.sends.values().map(Vec::len).sum()
    }

    pub fn statuses(&self) -> impl Iterator<Item = u16> {
        self.sends.values().flatten().filter_map(|send| send.status)
    }

    pub fn count(&self, is: impl Fn(&End) -> bool) -> usize {
        self.calls.iter().filter(|call| is(&call.end)).count()
    }

    /// Checks every call against its sends.
    pub fn settle(&mut self, sends: Vec<Send>) {
        for send in sends {
            self.sends.entry(send.call).or_default().push(send);
        }
        for call in &self.calls {
            let sends = self.sends.get(&call.number).map_or(&[][..], Vec::as_slice);
            call.assert_counted(sends);
            call.assert_in_time(sends);
            for pair in sends.windows(2) {
                assert!(pair[0].may_be_repeated(), "{:?} was sent again", pair[0]);
            }
            for pair in by_route(sends).windows(2).filter(|pair| pair[0].way == pair[1].way) {
                let told = pair[0].told.unwrap_or_default();
                assert!(pair[1].at >= pair[0].head.unwrap_or(pair[0].at) + told, "{pair:?} came sooner than told");
            }
        }
    }

    /// In no minute do retries that nobody told to wait add more than the budget gives.
    pub fn assert_extra_load_within(&self, ratio: f64, saved: usize, per_second: usize) {
        let (mut first, mut extra) = (Vec::new(), Vec::new());
        for sends in self.sends.values().map(|sends| by_route(sends)) {
            // A switch draws nothing: on the next route a call is a new one.
            for (nth, send) in sends.iter().enumerate() {
                match nth.checked_sub(1).map(|before| sends[before]).filter(|before| before.way == send.way) {
                    None => first.push(send.at),
                    Some(before) if before.told.is_none() => extra.push(send.at),
                    Some(_) => {}
                }
            }
        }
        first.sort_unstable();
        extra.sort_unstable();
        let minute = Duration::from_secs(60);
        let within = |times: &[Instant], end: Instant, back: Duration| {
            let start = end.checked_sub(back).unwrap_or(times[0]);
            times.partition_point(|&at| at <= end) - times.partition_point(|&at| at < start)
        };
        for &end in &extra {
            // A retry is paid for when it is decided, up to four seconds of backoff before it is seen on the wire.
            let (calls, retries) = (within(&first, end, 2 * minute), within(&extra, end, minute));
            let most = ratio * calls as f64 + (saved + 60 * per_second) as f64;
            assert!(retries as f64 <= most, "{retries} retries in a minute, {most} allowed");
        }
        assert!(extra.len() > 500, "the budget was tried: {}", extra.len());
    }
}

impl Call {
    fn assert_counted(&self, sends: &[Send]) {
        let seen = sends.len() as u32;
        assert!(seen <= self.cap, "call {} sent {seen} times, capped at {}", self.number, self.cap);
        match &self.end {
            End::Answered { failed } => assert_eq!(seen, failed + 1, "call {}", self.number),
            End::Failed { sends, text } => assert_eq!(seen, *sends, "call {}: {text}", self.number),
            End::Dropped => {}
        }
    }

    fn assert_in_time(&self, sends: &[Send]) {
        let Some(deadline) = self.deadline else { return };
        assert!(self.ended <= deadline + TICK, "call {} ended {:?} late", self.number, self.ended - deadline);
        assert!(sends.iter().all(|send| send.at < deadline), "call {} was sent past its deadline", self.number);
    }
}
