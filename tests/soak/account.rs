//! Each call against what the providers saw of it.
use crate::{
    call::{Call, Deed, Protocol},
    caller::Outcome,
};
use seawall::sim::{End, Log, Record};
use std::collections::{BTreeMap, HashMap};

/// The sends of one call that a stack makes at most.
const SENDS: usize = 6;

/// What came of a call.
pub struct Told {
    pub id: u64,
    pub protocol: Protocol,
    pub is_stream: bool,
    pub deed: Deed,
    pub outcome: Outcome,
}

impl Told {
    pub fn new(call: &Call, outcome: Outcome) -> Self {
        Self { id: call.id, protocol: call.protocol, is_stream: call.is_stream, deed: call.deed, outcome }
    }
}

/// The call that a send is for; bodies were kept.
fn call_of(record: &Record) -> Option<u64> {
    let body = record.body.as_deref()?;
    let text = std::str::from_utf8(body).ok()?;
    // Behind its history.
    let (_, behind) = text.rsplit_once("call ").filter(|(_, behind)| behind.contains(" says"))?;
    behind.split_once(' ')?.0.parse().ok()
}

/// What is wrong.
pub fn settle(told: &[Told], logs: &[Log; 2]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut sends: HashMap<u64, Vec<(usize, &Record)>> = HashMap::new();
    for (route, log) in logs.iter().enumerate() {
        let mut ends = BTreeMap::<_, usize>::new();
        for record in &log.records {
            *ends.entry(format!("{:?}", record.end)).or_default() += 1;
            match call_of(record) {
                Some(call) => sends.entry(call).or_default().push((route, record)),
                None => wrong.push(format!("a send of no call: {record:?}")),
            }
            if matches!(record.end, End::Open | End::Shutdown | End::Unreadable) {
                wrong.push(format!("a send that did not end well: {record:?}"));
            }
        }
        println!("{} sends at the {} route: {ends:?}", log.records.len(), ["OpenAI", "Anthropic"][route]);
    }
    let (mut again, mut most) = (0, 0);
    for told in told {
        let of = sends.get(&told.id).map(Vec::as_slice).unwrap_or_default();
        most = most.max(of.len());
        let may_send = !matches!(told.deed, Deed::LeavesInHead | Deed::LeavesInBody | Deed::Errs(_));
        if of.len() > if may_send { SENDS } else { 0 } {
            wrong.push(format!("call {}, {:?}: {} sends", told.id, told.deed, of.len()));
        }
        match &told.outcome {
            Outcome::Wrong(what) => wrong.push(what.clone()),
            Outcome::Answered(id) => {
                let is_own = |(route, record): &&(usize, &Record)| {
                    *id == format!("{}{}", ["chatcmpl-mock-", "msg_mock_"][*route], record.number)
                };
                let own: Vec<_> = of.iter().filter(is_own).collect();
                if own.len() != 1 {
                    wrong.push(format!("call {} is answered by {id}, which is of another", told.id));
                }
                let whole = of.iter().filter(|(_, record)| record.fault.is_none() && record.end == End::Answered);
                again += usize::from(whole.count() > 1);
            }
            Outcome::Refused(_) | Outcome::Event | Outcome::Left => {}
        }
    }
    println!(
        "{} calls; {most} sends for one call at most; {again} asked again behind an answer that was sent whole",
        told.len()
    );
    wrong
}
