//! The moves of an answer, which both fronts play.
use bytes::Bytes;
use std::{borrow::Cow, collections::VecDeque, time::Duration};

/// One move of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Wait(Duration),
    /// A wait with a sign of life behind each `every` of it.
    Idle {
        left: Duration,
        every: Duration,
        sign: Vec<Piece>,
    },
    /// The status line and all headers.
    Head(Head),
    /// The first half of them.
    HalfHead(Head),
    Piece(Piece),
    /// So many bytes that nobody keeps.
    Filler(u64),
    /// Bytes that are no HTTP where a head or a chunk's size belongs; nothing can follow.
    Nonsense,
    /// The body's own end.
    End,
    Stop(Stop),
}

/// Bytes of a body, and how much of a stream is over with them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Piece {
    pub(super) bytes: Bytes,
    pub(super) events: u32,
    pub(super) tokens: u32,
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

impl From<Bytes> for Piece {
    fn from(bytes: Bytes) -> Self {
        Self { bytes, events: 0, tokens: 0 }
    }
}

impl Step {
    pub(super) fn tokens(&self) -> u32 {
        match self {
            Self::Piece(piece) => piece.tokens,
            _ => 0,
        }
    }

    /// How many bytes of body it is.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Piece(piece) => piece.bytes.len() as u64,
            Self::Filler(bytes) => *bytes,
            _ => 0,
        }
    }
}

/// What is left to do, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Steps(VecDeque<Step>);

impl Steps {
    pub(super) fn front(&self) -> Option<&Step> {
        self.0.front()
    }

    pub(super) fn push_front(&mut self, step: Step) {
        self.0.push_front(step);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl From<Vec<Step>> for Steps {
    fn from(steps: Vec<Step>) -> Self {
        Self(steps.into())
    }
}

/// An `Idle` comes as the waits and pieces that it is, one after the other: a year of it takes no more room than a second.
impl Iterator for Steps {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let step = self.0.pop_front()?;
        let Step::Idle { left, every, sign } = step else { return Some(step) };
        if left <= every {
            return Some(Step::Wait(left));
        }
        self.0.push_front(Step::Idle { left: left - every, every, sign: sign.clone() });
        sign.into_iter().rev().for_each(|piece| self.0.push_front(Step::Piece(piece)));
        Some(Step::Wait(every))
    }
}

/// Cuts what comes without a wait in between into pieces of `size` bytes; the last one may be shorter.
pub(super) fn rechunked(steps: Vec<Step>, size: usize) -> Vec<Step> {
    let mut cut = Vec::with_capacity(steps.len());
    let mut run = Vec::new();
    for step in steps {
        match step {
            Step::Piece(piece) => run.push(piece),
            step => {
                cut.extend(pieces(&run, size).into_iter().map(Step::Piece));
                run.clear();
                cut.push(step);
            }
        }
    }
    cut.extend(pieces(&run, size).into_iter().map(Step::Piece));
    cut
}

/// The same bytes in pieces of `size`. An event counts where its last byte is.
pub(super) fn pieces(run: &[Piece], size: usize) -> Vec<Piece> {
    let size = size.max(1);
    let all = Bytes::from(run.iter().map(|piece| &piece.bytes[..]).collect::<Vec<_>>().concat());
    let slice = |start| Piece::from(all.slice(start..all.len().min(start + size)));
    let mut cut: Vec<_> = (0..all.len()).step_by(size).map(slice).collect();
    let mut end = 0;
    for piece in run {
        end += piece.bytes.len();
        if let Some(last) = cut.get_mut(end.saturating_sub(1) / size) {
            last.events += piece.events;
            last.tokens += piece.tokens;
        }
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &'static str) -> Piece {
        Piece { bytes: Bytes::from_static(text.as_bytes()), events: 1, tokens: 1 }
    }

    #[test]
    fn pieces_of_any_size_have_the_same_bytes_and_count_the_same() {
        let run = [piece("abc"), piece("d"), piece("efghi")];
        for size in 1..12 {
            let cut = pieces(&run, size);
            assert_eq!(cut.iter().map(|piece| &piece.bytes[..]).collect::<Vec<_>>().concat(), b"abcdefghi");
            assert_eq!(cut.iter().map(|piece| piece.events).sum::<u32>(), 3, "{size}");
        }
        let counts: Vec<_> = pieces(&run, 2).into_iter().map(|piece| piece.tokens).collect();
        assert_eq!(counts, [0, 2, 0, 0, 1]);
    }

    #[test]
    fn no_piece_goes_over_a_wait() {
        let wait = || Step::Wait(Duration::from_secs(1));
        let steps = vec![Step::Piece(piece("ab")), wait(), Step::Piece(piece("c")), Step::Piece(piece("d")), wait()];
        let lens: Vec<_> = rechunked(steps, 10).iter().map(Step::len).collect();
        assert_eq!(lens, [2, 0, 2, 0]);
    }

    #[test]
    fn an_idle_wait_gives_a_sign_of_life_behind_each_interval() {
        let second = Duration::from_secs(1);
        let idle = Step::Idle { left: second * 5 / 2, every: second, sign: vec![piece("!")] };
        let steps: Vec<_> = Steps::from(vec![idle, Step::End]).collect();
        let sign = || Step::Piece(piece("!"));
        assert_eq!(steps, [Step::Wait(second), sign(), Step::Wait(second), sign(), Step::Wait(second / 2), Step::End]);
    }
}
