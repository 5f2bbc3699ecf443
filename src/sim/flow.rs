//! A stream in time, and what goes wrong in it.
use super::{
    BadEvent, Stream,
    api::Api,
    fault::{Deed, Fault},
    frame::Frame,
    garble::Garble,
    phase::Phase,
    step::{Piece, Step, pieces},
};
use crate::Rng;
use bytes::Bytes;
use std::time::Duration;

/// The events with the waits between them.
pub(super) fn timed(events: &[Frame], api: Api, stream: &Stream, rng: &Rng) -> Vec<Step> {
    let mut parts: Vec<_> = events.iter().map(|event| Step::Piece(event.piece(stream.line_ends))).collect();
    let mut tokens: Vec<_> = (0..parts.len()).filter(|at| parts[*at].tokens() > 0).collect();
    if tokens.is_empty() {
        tokens.push(place(&parts, Phase::AfterTokens(0)));
    }
    let spreads = std::iter::once(stream.first_token).chain(std::iter::repeat(stream.per_token));
    let waits: Vec<_> = tokens.into_iter().zip(spreads).map(|(at, spread)| (at, spread.draw(rng))).collect();
    for (at, wait) in waits.into_iter().rev().filter(|(_, wait)| !wait.is_zero()) {
        parts.insert(at, idle(wait, api, Some(stream)));
    }
    parts
}

/// A wait, with signs of life where the stream has them.
pub(super) fn idle(wait: Duration, api: Api, stream: Option<&Stream>) -> Step {
    let Some((stream, every)) = stream.and_then(|stream| Some((stream, stream.keep_alive?))) else {
        return Step::Wait(wait);
    };
    let comment = || Bytes::from([b": keep-alive", stream.line_ends.bytes(), stream.line_ends.bytes()].concat()).into();
    let sign = api.ping().map_or_else(comment, |ping| ping.piece(stream.line_ends));
    let size = stream.chunks.map_or(sign.bytes.len(), |size| size.get());
    Step::Idle { left: wait, every, sign: pieces(&[sign], size) }
}

/// Before which of the parts a phase of the body lies.
pub(super) fn place(parts: &[Step], phase: Phase) -> usize {
    let tokens: u32 = parts.iter().map(Step::tokens).sum();
    match phase {
        Phase::BeforeHead | Phase::InHead | Phase::BeforeBody => 0,
        Phase::InBody if tokens == 0 => parts.len() / 2,
        Phase::InBody => behind(parts, tokens / 2),
        // Nothing to see: behind the opening event.
        Phase::AfterTokens(_) if tokens == 0 => parts.len().min(1),
        Phase::AfterTokens(count) => behind(parts, count.min(tokens)),
        Phase::AtEnd => parts.len(),
    }
}

fn behind(parts: &[Step], count: u32) -> usize {
    let mut tokens = 0;
    let last = parts.iter().position(|part| {
        tokens += part.tokens();
        tokens >= count.max(1)
    });
    match (last, count) {
        (None, _) => parts.len(),
        // Before the first one, and before the wait for it.
        (Some(first), 0) => parts[..first].iter().rposition(|part| part.len() > 0).map_or(0, |opening| opening + 1),
        (Some(last), _) => last + 1,
    }
}

/// What the fault changes in what is sent; where it stops is another matter.
pub(super) fn changed(mut parts: Vec<Step>, api: Api, stream: &Stream, fault: &Fault) -> Vec<Step> {
    match fault.deed {
        Deed::Truncate(phase) => parts.truncate(place(&parts, phase)),
        Deed::Garble(Garble::Json) => parts = half(parts),
        Deed::Event(phase, event) => {
            let rest = parts.split_off(place(&parts, phase));
            parts.extend(bad(event, api, stream, fault));
            if event != BadEvent::Error {
                parts.extend(rest);
            }
        }
        _ => {}
    }
    parts
}

/// The first half of the bytes.
fn half(parts: Vec<Step>) -> Vec<Step> {
    let mut left = parts.iter().map(Step::len).sum::<u64>() / 2;
    let mut kept = Vec::new();
    for part in parts {
        let len = part.len();
        match part {
            Step::Piece(piece) if len > left => {
                kept.push(Step::Piece(piece.bytes.slice(..left as usize).into()));
                break;
            }
            part => kept.push(part),
        }
        left -= len;
    }
    kept
}

fn bad(event: BadEvent, api: Api, stream: &Stream, fault: &Fault) -> Vec<Step> {
    let ends = stream.line_ends;
    let whole = |frame: Frame| vec![Step::Piece(frame.piece(ends))];
    match event {
        BadEvent::Error => whole(api.error_event(fault.status.unwrap_or(500), fault.body.as_deref())),
        BadEvent::NotJson => whole(api.event(fault.body.as_deref().unwrap_or_else(|| api.broken()))),
        BadEvent::NotUtf8 => {
            let (before, after) = api.around();
            whole(api.event([before.as_bytes(), b"\xff\xc3\x28", after.as_bytes()].concat()))
        }
        BadEvent::Huge(bytes) => {
            let (before, after) = api.around();
            let close = [after.as_bytes(), ends.bytes(), ends.bytes()].concat();
            let close = Piece { bytes: Bytes::from(close), events: 1, tokens: 0 };
            let open = Bytes::from(api.event(before).front(ends)).into();
            let rest = bytes.saturating_sub((before.len() + after.len()) as u64);
            vec![Step::Piece(open), Step::Filler(rest), Step::Piece(close)]
        }
    }
}
