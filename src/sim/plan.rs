//! From a reply and a fault to the steps that give it.
use super::{
    Stream,
    answer::Answer,
    api::Api,
    fault::{Deed, Fault},
    flow,
    framing::Framing,
    garble::Garble,
    phase::Phase,
    reply::Reply,
    spread::Spread,
    step::{Head, Step, Steps, Stop, rechunked},
};
use crate::Rng;
use bytes::Bytes;

/// The steps of a reply with which nothing goes wrong.
pub(super) fn whole(reply: Reply, how: &Answer, rng: &Rng) -> Steps {
    broken(reply, how, &Fault::of(Deed::Answer), rng)
}

/// The steps of a reply with a fault.
pub(super) fn broken(reply: Reply, how: &Answer, fault: &Fault, rng: &Rng) -> Steps {
    let builder = Builder::new(reply, how, fault, rng);
    let size = builder.stream.and_then(|stream| stream.chunks);
    let steps = builder.play(&fault.deed, rng);
    Steps::from(match size {
        Some(size) => rechunked(steps, size.get()),
        None => steps,
    })
}

/// A body in parts, and the head over it.
struct Builder<'a> {
    api: Api,
    stream: Option<&'a Stream>,
    head: Head,
    parts: Vec<Step>,
}

/// Into how many pieces a whole body is cut for a fault in it.
const PIECES: usize = 4;

impl<'a> Builder<'a> {
    fn new(mut reply: Reply, how: &'a Answer, fault: &Fault, rng: &Rng) -> Self {
        if fault.replaces() {
            reply = replaced(reply, fault);
        }
        adapt(&mut reply, fault);
        for (name, value) in &fault.headers {
            reply.set(name.clone(), value.clone());
        }
        let stream = Some(&how.stream).filter(|_| !reply.events.is_empty());
        let parts = match (fault.deed, stream) {
            (Deed::HugeBody(bytes), _) => huge(bytes),
            (_, Some(stream)) => {
                let parts = flow::timed(&reply.events, reply.api, stream, rng);
                flow::changed(parts, reply.api, stream, fault)
            }
            (Deed::Truncate(phase), None) => {
                let mut parts = parts(reply.body, fault);
                parts.truncate(flow::place(&parts, phase));
                parts
            }
            (_, None) => parts(reply.body, fault),
        };
        let usual = if stream.is_some() { Framing::Chunked } else { how.framing };
        let chunked = fault.framing.unwrap_or(usual) == Framing::Chunked
            || fault.phase() == Phase::AtEnd
            || matches!(fault.deed, Deed::Garble(Garble::Chunk));
        let length = (!chunked).then(|| parts.iter().map(Step::len).sum());
        let filler = if let Deed::HugeHeader(bytes) = fault.deed { bytes } else { 0 };
        let head = Head { status: reply.status, headers: reply.headers, filler, length };
        Self { api: reply.api, stream, head, parts }
    }

    fn play(self, deed: &Deed, rng: &Rng) -> Vec<Step> {
        match *deed {
            Deed::Delay(phase, wait) => self.delayed(phase, wait, rng),
            Deed::Cut(phase) => self.until(phase, [Step::Stop(Stop::Close)]),
            Deed::Reset(phase) => self.until(phase, [Step::Stop(Stop::Reset)]),
            Deed::Silence(phase, None) => self.until(phase, [Step::Stop(Stop::Silence)]),
            Deed::Silence(phase, Some(wait)) => self.until(phase, [Step::Wait(wait), Step::Stop(Stop::Close)]),
            Deed::Garble(Garble::Head) => self.until(Phase::BeforeHead, [Step::Nonsense]),
            Deed::Garble(Garble::Chunk) => self.until(Phase::InBody, [Step::Nonsense]),
            Deed::Answer
            | Deed::HugeBody(_)
            | Deed::HugeHeader(_)
            | Deed::Garble(_)
            | Deed::Truncate(_)
            | Deed::Event(..) => self.all(),
        }
    }

    fn all(self) -> Vec<Step> {
        let mut steps = vec![Step::Head(self.head)];
        steps.extend(self.parts);
        steps.push(Step::End);
        steps
    }

    /// All that comes before a phase, and then `last`.
    fn until<const N: usize>(self, phase: Phase, last: [Step; N]) -> Vec<Step> {
        let place = flow::place(&self.parts, phase);
        let mut steps = match phase {
            Phase::BeforeHead => Vec::new(),
            Phase::InHead => vec![Step::HalfHead(self.head)],
            _ => std::iter::once(Step::Head(self.head)).chain(self.parts.into_iter().take(place)).collect(),
        };
        steps.extend(last);
        steps
    }

    fn delayed(self, phase: Phase, wait: Spread, rng: &Rng) -> Vec<Step> {
        let (api, stream, head) = (self.api, self.stream, self.head.clone());
        let place = 1 + flow::place(&self.parts, phase);
        let mut steps = self.all();
        let wait = || wait.draw(rng);
        match phase {
            Phase::BeforeHead => steps.insert(0, Step::Wait(wait())),
            Phase::InHead => {
                // The rest of the head is told by the whole head that follows: see `Step::HalfHead`.
                steps.insert(0, Step::Wait(wait()));
                steps.insert(0, Step::HalfHead(head));
            }
            // Before each piece but the first. From behind, so that the places before stay what they are.
            Phase::InBody => {
                let pieces = (2..steps.len()).rev().filter(|at| steps[*at].len() > 0).collect::<Vec<_>>();
                pieces.into_iter().for_each(|place| steps.insert(place, flow::idle(wait(), api, stream)));
            }
            _ => steps.insert(place, flow::idle(wait(), api, stream)),
        }
        steps
    }
}

/// The error that the fault says, with what the reply tells of the account.
fn replaced(reply: Reply, fault: &Fault) -> Reply {
    let (api, status) = (reply.api, fault.status.unwrap_or(reply.status));
    let kept = |name: &str| name.starts_with("x-") || name == api.request_id() || name.starts_with(api.limits());
    let limits = reply.headers.into_iter().filter(|(name, _)| kept(name));
    let mut error = api.error(status);
    error.headers.extend(limits);
    match &fault.body {
        Some(body) => Reply { body: Bytes::from(body.clone()), ..error },
        None => error,
    }
}

/// What the deed changes in what is said.
fn adapt(reply: &mut Reply, fault: &Fault) {
    match fault.deed {
        Deed::Garble(Garble::ContentType) => reply.set("content-type", "text/html; charset=utf-8"),
        Deed::Garble(Garble::Json) => reply.body.truncate(reply.body.len() / 2),
        Deed::HugeBody(_) => {
            reply.set("content-type", "application/json");
            if !fault.replaces() {
                reply.status = 500;
            }
        }
        _ => {}
    }
}

/// A whole body as steps: in pieces where a fault is in the body, and else as one.
fn parts(body: Bytes, fault: &Fault) -> Vec<Step> {
    let in_body = fault.phase() == Phase::InBody && !matches!(fault.deed, Deed::Garble(Garble::Json));
    // White space around JSON is JSON, so a body too short to be cut may have some.
    let body = match in_body && body.len() < PIECES {
        true => Bytes::from([&body[..], &[b' '; PIECES]].concat()),
        false => body,
    };
    let size = if in_body { body.len().div_ceil(PIECES) } else { body.len() };
    let starts = (0..body.len()).step_by(size.max(1));
    starts.map(|start| Step::Piece(body.slice(start..body.len().min(start + size)).into())).collect()
}

/// Valid JSON of exactly so many bytes, if they are enough for its brackets.
fn huge(bytes: u64) -> Vec<Step> {
    let (open, close) = (r#"{"error":{"type":"server_error","message":""#, r#""}}"#);
    let piece = |text: &'static str| Step::Piece(Bytes::from_static(text.as_bytes()).into());
    match bytes.checked_sub((open.len() + close.len()) as u64) {
        None => vec![Step::Filler(bytes)],
        Some(rest) => vec![piece(open), Step::Filler(rest), piece(close)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn steps(fault: &Fault) -> String {
        let reply = Reply {
            api: Api::OpenAi,
            status: 200,
            headers: Vec::new(),
            body: Bytes::from_static(b"abcdefgh"),
            events: Vec::new(),
        };
        let name = |step: Step| match step {
            Step::Wait(wait) => format!("wait {}", wait.as_millis()),
            Step::Idle { .. } => "idle".to_owned(),
            Step::Head(head) => head.length.map_or_else(|| "chunked".to_owned(), |length| format!("head {length}")),
            Step::HalfHead(_) => "half".to_owned(),
            Step::Piece(piece) => String::from_utf8_lossy(&piece.bytes).into_owned(),
            Step::Filler(bytes) => format!("filler {bytes}"),
            Step::Nonsense => "nonsense".to_owned(),
            Step::End => "end".to_owned(),
            Step::Stop(stop) => format!("{stop:?}").to_lowercase(),
        };
        let steps = broken(reply, &Answer::default(), fault, &Rng::seeded(0));
        steps.map(name).collect::<Vec<_>>().join(", ")
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
