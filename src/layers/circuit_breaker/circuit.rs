use super::{
    Policy, Ticket,
    layer::Settings,
    machine::Machine,
    pass::{Change, Door, Ended, Pass, Refused},
};
use crate::{
    CircuitState, Context, Error, Gate, Kind, Sink, What,
    gate::{Hand, Mark},
    keyed::Keyed,
    time,
};
use std::{fmt, sync::Arc, time::Duration};

/// The circuits that the services of one layer share.
pub(super) struct Circuits<P> {
    pub(super) settings: Settings<P>,
    keyed: Keyed<Circuit<P>>,
}

impl<P: Policy> Circuits<P> {
    pub(super) fn new(settings: Settings<P>) -> Self {
        let keyed = Keyed::new(settings.keys, Circuit::new(&settings, None, true));
        Self { settings, keyed }
    }

    pub(super) fn of(&self, key: Option<&str>) -> Arc<Circuit<P>> {
        // The keys that find no room share one, which the gate has no place for.
        let make = |key: Option<&str>| Circuit::new(&self.settings, key, key.is_some());
        self.keyed.get(key, make, |circuit| circuit.machine.is_idle(time::now()))
    }
}

/// The machine of one key, at its gate.
pub(super) struct Circuit<P> {
    machine: Machine<P>,
    gate: Gate,
    sink: Option<Sink>,
    key: Option<Box<str>>,
    /// Whether the gate has a place for it.
    is_shown: bool,
}

impl<P: Policy> Circuit<P> {
    fn new(settings: &Settings<P>, key: Option<&str>, is_shown: bool) -> Self {
        let Settings { gate, policy, opening, probes, sink, .. } = settings;
        let machine = Machine::new(policy.clone(), opening.clone(), *probes, gate.hand().moves());
        Self { machine, gate: gate.clone(), sink: sink.clone(), key: key.map(Box::from), is_shown }
    }

    pub(super) fn admit(self: Arc<Self>, context: Option<Context>) -> Result<Ticket<P>, Error> {
        let hand = self.gate.hand();
        let forced = hand.forced();
        if forced == Some(CircuitState::Open) {
            return Err(Error::refusal(Kind::CircuitOpen));
        }
        let mark = self.gate.admit().map_err(|left| self.cooling(left, hand))?;
        let (pass, change) = match forced {
            Some(_) => (None, None),
            None => self.pass(hand).map(|(pass, change)| (Some(pass), change))?,
        };
        let started = self.machine.slow().map(|_| time::now());
        let ticket = Ticket::new(self, pass, mark, context.and_then(|context| context.deadline), started);
        // Now that the ticket would give a probe back, should a listener panic.
        ticket.circuit.tell(change);
        Ok(ticket)
    }

    fn pass(&self, hand: Hand) -> Result<(Pass, Option<Change>), Error> {
        match self.machine.enter(hand.moves()) {
            Some(pass) => Ok((pass, None)),
            None => self.machine.knock(hand.moves(), time::now(), &self.door(hand)).map_err(refusal),
        }
    }

    /// The account cools down; if the circuit is open for longer, that is the wait that is needed.
    fn cooling(&self, left: Duration, hand: Hand) -> Error {
        let open = self.machine.left(hand.moves(), time::now());
        match open.filter(|open| open.wait >= left) {
            Some(open) => refusal(open),
            None => Error::refusal(Kind::CoolingDown).with_retry_after(left),
        }
    }

    pub(super) fn succeeded(&self, pass: Pass, took: Option<Duration>) {
        let hand = self.gate.hand();
        if hand.moves() == pass.hand {
            let ended = Ended { now: time::now(), took, told: None };
            self.tell(self.machine.succeeded(pass, ended, &self.door(hand)));
        }
    }

    pub(super) fn failed(
        &self,
        pass: Pass,
        took: Option<Duration>,
        told: Option<Duration>,
        cause: impl FnOnce() -> Error,
    ) {
        let hand = self.gate.hand();
        if hand.moves() == pass.hand {
            let ended = Ended { now: time::now(), took, told };
            self.tell(self.machine.failed(pass, ended, cause, &self.door(hand)));
        }
    }

    pub(super) fn released(&self, pass: Pass) {
        let hand = self.gate.hand();
        if hand.moves() == pass.hand {
            self.machine.released(pass, &self.door(hand));
        }
    }

    /// A call succeeded: the rate limits in a row of its account are over.
    pub(super) fn passed(&self, mark: Mark) {
        self.gate.passed(mark);
    }

    /// Closes the account for as long as a rate limit asks for, or a step.
    pub(super) fn cool(&self, mark: Mark, error: &Error, told: Option<Duration>) {
        let wait = self.gate.limited(mark, told);
        if let Some(sink) = &self.sink {
            sink.emit(What::CoolingDown { error, wait });
        }
    }

    /// Holds no lock: who listens may ask the gate, or move it.
    fn tell(&self, change: Option<Change>) {
        let Some(change) = change else { return };
        self.gate.tell();
        let Some(sink) = &self.sink else { return };
        let key = self.key.as_deref();
        match &change {
            Change::Opened { wait, root } => sink.emit(What::CircuitOpened { key, error: root, wait: *wait }),
            Change::HalfOpened => sink.emit(What::CircuitHalfOpened { key }),
            Change::Closed => sink.emit(What::CircuitClosed { key }),
        }
    }

    fn door(&self, hand: Hand) -> AtGate<'_> {
        AtGate { gate: self.is_shown.then_some(&self.gate), key: self.key.as_deref(), hand }
    }
}

/// A gate does not stay closed by a circuit that is gone.
impl<P> Drop for Circuit<P> {
    fn drop(&mut self) {
        if self.is_shown && self.machine.is_shut() {
            self.gate.set_closed(self.key.as_deref());
        }
    }
}

fn refusal(refused: Refused) -> Error {
    let error = Error::refusal(Kind::CircuitOpen).with_retry_after(refused.wait);
    match refused.root {
        Some(root) => error.with_root(root),
        None => error,
    }
}

/// A circuit's place in the gate.
struct AtGate<'a> {
    gate: Option<&'a Gate>,
    key: Option<&'a str>,
    hand: Hand,
}

impl AtGate<'_> {
    /// What is written while a hand moves is not left behind: the circuit starts anew, closed.
    fn write(&self, write: impl FnOnce(&Gate)) {
        let Some(gate) = self.gate else { return };
        write(gate);
        if gate.hand() != self.hand {
            gate.set_closed(self.key);
        }
    }
}

impl Door for AtGate<'_> {
    fn open(&self, wait: Duration) {
        self.write(|gate| gate.set_open(self.key, wait));
    }

    fn probe(&self, wait: Duration) {
        self.write(|gate| gate.set_probing(self.key, wait));
    }

    fn close(&self) {
        self.write(|gate| gate.set_closed(self.key));
    }
}

impl<P> fmt::Debug for Circuits<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Circuits").field(&self.keyed).finish()
    }
}

impl<P> fmt::Debug for Circuit<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Circuit").field("key", &self.key).finish_non_exhaustive()
    }
}
