//! From a reply and a fault to the steps that give it: what both fronts play.
use super::{
    fault::{Deed, Fault, Framing, Garble, Phase},
    reply::Reply,
    spread::Spread,
};
use crate::Rng;
use bytes::Bytes;
use std::{borrow::Cow, collections::VecDeque, time::Duration};

/// One move of an answer. A stream will be more pieces with waits between them.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Wait(Duration),
    /// The status line and all headers.
    Head(Head),
    /// The first half of them.
    HalfHead(Head),
    Piece(Bytes),
    /// So many bytes that nobody keeps.
    Filler(u64),
    /// Bytes that are no HTTP where a head or a chunk's size belongs; nothing can follow.
    Nonsense,
    /// The body's own end.
    End,
    Stop(Stop),
}

/// How an answer stops without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Close,
    Reset,
    Silence,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) headers: Vec<(Cow<'static, str>, String)>,
    /// So many bytes more of header.
    pub(super) filler: u32,
    /// The announced length; `None`: chunked.
    pub(super) length: Option<u64>,
}

pub(super) type Steps = VecDeque<Step>;

/// The steps of a reply with which nothing goes wrong.
pub(super) fn whole(reply: Reply, framing: Framing) -> Steps {
    broken(reply, framing, &Fault::of(Deed::Answer), &Rng::seeded(0))
}

/// The steps of a reply with a fault.
pub(super) fn broken(reply: Reply, framing: Framing, fault: &Fault, rng: &Rng) -> Steps {
    Builder::new(reply, fault.framing.unwrap_or(framing), fault).play(&fault.deed, rng)
}

/// A body in parts, and the head over it.
struct Builder {
    head: Head,
    parts: Vec<Step>,
}

/// Into how many pieces a body is cut for a fault in it.
const PIECES: usize = 4;

impl Builder {
    fn new(mut reply: Reply, framing: Framing, fault: &Fault) -> Self {
        let replaced = fault.status.is_some() || fault.body.is_some();
        if replaced {
            let status = fault.status.unwrap_or(reply.status);
            let api = reply.api;
            let kept =
                |name: &str| name.starts_with("x-") || name == api.request_id() || name.starts_with(api.limits());
            let limits = reply.headers.into_iter().filter(|(name, _)| kept(name));
            let error = api.error(status);
            reply = Reply { headers: error.headers.into_iter().chain(limits).collect(), ..error };
            if let Some(body) = &fault.body {
                reply.body = Bytes::from(body.clone());
            }
        }
        adapt(&mut reply, &fault.deed, replaced);
        for (name, value) in &fault.headers {
            reply.set(name.clone(), value.clone());
        }
        let parts = parts(reply.body, &fault.deed);
        let chunked = framing == Framing::Chunked
            || fault.phase() == Phase::AtEnd
            || matches!(fault.deed, Deed::Garble(Garble::Chunk));
        let length = (!chunked).then(|| parts.iter().map(Step::len).sum());
        let filler = if let Deed::HugeHeader(bytes) = fault.deed { bytes } else { 0 };
        Self { head: Head { status: reply.status, headers: reply.headers, filler, length }, parts }
    }

    fn play(self, deed: &Deed, rng: &Rng) -> Steps {
        match *deed {
            Deed::Delay(phase, wait) => self.delayed(phase, wait, rng),
            Deed::Cut(phase) => self.until(phase, [Step::Stop(Stop::Close)]),
            Deed::Reset(phase) => self.until(phase, [Step::Stop(Stop::Reset)]),
            Deed::Silence(phase, None) => self.until(phase, [Step::Stop(Stop::Silence)]),
            Deed::Silence(phase, Some(wait)) => self.until(phase, [Step::Wait(wait), Step::Stop(Stop::Close)]),
            Deed::Garble(Garble::Head) => self.until(Phase::BeforeHead, [Step::Nonsense]),
            Deed::Garble(Garble::Chunk) => self.until(Phase::InBody, [Step::Nonsense]),
            Deed::Answer | Deed::HugeBody(_) | Deed::HugeHeader(_) | Deed::Garble(_) => self.all().into(),
        }
    }

    fn all(self) -> Vec<Step> {
        let mut steps = vec![Step::Head(self.head)];
        steps.extend(self.parts);
        steps.push(Step::End);
        steps
    }

    /// All that comes before a phase, and then `last`.
    fn until<const N: usize>(self, phase: Phase, last: [Step; N]) -> Steps {
        let half = self.parts.len() / 2;
        let mut steps = match phase {
            Phase::InHead => vec![Step::HalfHead(self.head)],
            _ => self.all(),
        };
        match phase {
            Phase::BeforeHead => steps.clear(),
            Phase::InHead => {}
            Phase::BeforeBody => steps.truncate(1),
            Phase::InBody => steps.truncate(1 + half),
            Phase::AtEnd => steps.truncate(steps.len() - 1),
        }
        steps.extend(last);
        steps.into()
    }

    fn delayed(self, phase: Phase, wait: Spread, rng: &Rng) -> Steps {
        let head = self.head.clone();
        let mut steps = Steps::from(self.all());
        let wait = || Step::Wait(wait.draw(rng));
        match phase {
            Phase::BeforeHead => steps.push_front(wait()),
            Phase::InHead => {
                // The rest of the head is told by the whole head that follows: see `Step::HalfHead`.
                steps.push_front(wait());
                steps.push_front(Step::HalfHead(head));
            }
            Phase::BeforeBody => steps.insert(1, wait()),
            Phase::AtEnd => steps.insert(steps.len() - 1, wait()),
            // From behind, so that the places before stay what they are.
            Phase::InBody => (2..steps.len() - 1).rev().for_each(|place| steps.insert(place, wait())),
        }
        steps
    }
}

/// What the deed changes in what is said.
fn adapt(reply: &mut Reply, deed: &Deed, replaced: bool) {
    match deed {
        Deed::Garble(Garble::ContentType) => reply.set("content-type", "text/html; charset=utf-8"),
        Deed::Garble(Garble::Json) => reply.body.truncate(reply.body.len() / 2),
        Deed::HugeBody(_) if !replaced => reply.status = 500,
        _ => {}
    }
}

/// The body as steps: in pieces where a fault is in the body, and whole otherwise.
fn parts(body: Bytes, deed: &Deed) -> Vec<Step> {
    if let Deed::HugeBody(bytes) = deed {
        return huge(*bytes);
    }
    let in_body = matches!(
        deed,
        Deed::Delay(Phase::InBody, _)
            | Deed::Silence(Phase::InBody, _)
            | Deed::Cut(Phase::InBody)
            | Deed::Reset(Phase::InBody)
            | Deed::Garble(Garble::Chunk)
    );
    // White space around JSON is JSON, so a body too short to be cut may have some.
    let body = match in_body && body.len() < PIECES {
        true => Bytes::from([&body[..], &[b' '; PIECES]].concat()),
        false => body,
    };
    let size = if in_body { body.len().div_ceil(PIECES) } else { body.len() };
    let starts = (0..body.len()).step_by(size.max(1));
    starts.map(|start| Step::Piece(body.slice(start..body.len().min(start + size)))).collect()
}

/// Valid JSON of exactly so many bytes, if they are enough for its brackets.
fn huge(bytes: u64) -> Vec<Step> {
    let (open, close) = (r#"{"error":{"type":"server_error","message":""#, r#""}}"#);
    match bytes.checked_sub((open.len() + close.len()) as u64) {
        None => vec![Step::Filler(bytes)],
        Some(rest) => vec![
            Step::Piece(Bytes::from_static(open.as_bytes())),
            Step::Filler(rest),
            Step::Piece(Bytes::from_static(close.as_bytes())),
        ],
    }
}

impl Step {
    /// How many bytes of body it is.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Piece(piece) => piece.len() as u64,
            Self::Filler(bytes) => *bytes,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::api::Api;

    fn steps(fault: &Fault) -> String {
        let reply = Reply { api: Api::OpenAi, status: 200, headers: Vec::new(), body: Bytes::from_static(b"abcdefgh") };
        let name = |step: Step| match step {
            Step::Wait(wait) => format!("wait {}", wait.as_millis()),
            Step::Head(head) => head.length.map_or_else(|| "chunked".to_owned(), |length| format!("head {length}")),
            Step::HalfHead(_) => "half".to_owned(),
            Step::Piece(piece) => String::from_utf8_lossy(&piece).into_owned(),
            Step::Filler(bytes) => format!("filler {bytes}"),
            Step::Nonsense => "nonsense".to_owned(),
            Step::End => "end".to_owned(),
            Step::Stop(stop) => format!("{stop:?}").to_lowercase(),
        };
        let steps = broken(reply, Framing::Length, fault, &Rng::seeded(0));
        steps.into_iter().map(name).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn a_connection_stops_at_its_phase() {
        let stops = Phase::ALL.map(|phase| steps(&Fault::reset(phase)));
        let expected = ["reset", "half, reset", "head 8, reset", "head 8, ab, cd, reset", "chunked, abcdefgh, reset"];
        assert_eq!(stops, expected);
        assert_eq!(steps(&Fault::cut(Phase::InBody)), "head 8, ab, cd, close");
        assert_eq!(steps(&Fault::cut(Phase::InBody).framing(Framing::Chunked)), "chunked, ab, cd, close");
        let wait = Duration::from_millis(5);
        assert_eq!(steps(&Fault::silence_for(Phase::BeforeBody, wait)), "head 8, wait 5, close");
    }

    #[test]
    fn a_delay_is_followed_by_the_rest() {
        let delays = Phase::ALL.map(|phase| steps(&Fault::delay(phase, Duration::from_millis(9))));
        let expected = [
            "wait 9, head 8, abcdefgh, end",
            "half, wait 9, head 8, abcdefgh, end",
            "head 8, wait 9, abcdefgh, end",
            "head 8, ab, wait 9, cd, wait 9, ef, wait 9, gh, end",
            "chunked, abcdefgh, wait 9, end",
        ];
        assert_eq!(delays, expected);
    }

    #[test]
    fn what_is_malformed_is_framed_as_it_says() {
        let garbled = Garble::ALL.map(|what| steps(&Fault::garbled(what)));
        assert_eq!(garbled, ["nonsense", "head 8, abcdefgh, end", "head 4, abcd, end", "chunked, ab, cd, nonsense"]);
        assert_eq!(steps(&Fault::huge_body(10)), "head 10, filler 10, end");
        assert!(steps(&Fault::huge_body(1 << 30)).starts_with("head 1073741824, {"));
    }

    #[test]
    fn a_body_too_short_to_cut_gets_white_space() {
        assert_eq!(steps(&Fault::cut(Phase::InBody).body("")), "head 4,  ,  , close");
    }
}
